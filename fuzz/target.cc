// SPDX-License-Identifier: MIT
#include "target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rankfeed::fuzz {
namespace {

std::vector<Target>& Registry() {
  static std::vector<Target> targets;
  return targets;
}

void (*failure_hook)() = nullptr;

}  // namespace

Counters counters;

std::span<const Target> AllTargets() {
  std::vector<Target>& targets = Registry();
  std::sort(targets.begin(), targets.end(), [](const Target& a, const Target& b) {
    return std::string_view(a.name) < b.name;
  });
  return targets;
}

const Target* FindTarget(std::string_view name) {
  for (const Target& target : AllTargets()) {
    if (name == target.name) return &target;
  }
  return nullptr;
}

Register::Register(const Target& target) {
  Registry().push_back(target);
}

void SetFailureHook(void (*hook)()) {
  failure_hook = hook;
}

void Fail(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, what.c_str());
  if (failure_hook != nullptr) failure_hook();
  std::abort();
}

std::string Escape(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Bytes RandomBytes(Random& random, size_t size) {
  Bytes bytes(size);
  for (size_t at = 0; at < size; at += 8) {
    const uint64_t word = random.Next();
    std::memcpy(bytes.data() + at, &word, std::min<size_t>(8, size - at));
  }
  return bytes;
}

void Mutate(Random& random, Bytes* file) {
  for (size_t n = 1 + random.Below(3); n > 0; --n) {
    if (file->empty()) file->push_back(static_cast<uint8_t>(random.Next()));
    const size_t at = random.Below(file->size());
    const size_t room = file->size() - at;
    const size_t span = 1 + random.Below(std::min<size_t>(room, 64));
    const auto begin = file->begin() + static_cast<ptrdiff_t>(at);
    switch (random.Below(9)) {
      case 0:  // a bit
        (*file)[at] ^= static_cast<uint8_t>(1u << random.Below(8));
        break;
      case 1:
        (*file)[at] = static_cast<uint8_t>(random.Next());
        break;
      case 2: {  // numbers at the edge of their range, as bytes
        static constexpr uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 0x20, 0x0a};
        (*file)[at] = kEdges[random.Below(sizeof(kEdges))];
        break;
      }
      case 3: {  // and as 32-bit words
        static constexpr uint32_t kWords[] = {0,          1,          0xffffffff, 0x7fffffff,
                                              0x80000000, 0x7f800000, 0x7fc00000, 0xff800000};
        const uint32_t word = kWords[random.Below(8)];
        for (size_t i = 0; i < std::min<size_t>(room, 4); ++i) {
          (*file)[at + i] = static_cast<uint8_t>(word >> (8 * i));
        }
        break;
      }
      case 4:
        file->resize(at);  // cut
        break;
      case 5:
        file->erase(begin, begin + static_cast<ptrdiff_t>(span));
        break;
      case 6: {  // repeat a stretch
        const Bytes copy(begin, begin + static_cast<ptrdiff_t>(span));
        file->insert(file->begin() + static_cast<ptrdiff_t>(random.Below(file->size() + 1)),
                     copy.begin(), copy.end());
        break;
      }
      case 7: {  // move a stretch over another
        const Bytes copy(begin, begin + static_cast<ptrdiff_t>(span));
        const size_t to = random.Below(file->size() - span + 1);
        std::copy(copy.begin(), copy.end(), file->begin() + static_cast<ptrdiff_t>(to));
        break;
      }
      default:
        file->insert(begin, static_cast<uint8_t>(random.Next()));
        break;
    }
  }
}

}  // namespace rankfeed::fuzz
