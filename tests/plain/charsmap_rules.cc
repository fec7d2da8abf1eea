// SPDX-License-Identifier: MIT
#include "plain/charsmap_rules.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rankfeed::plain {
namespace {

uint32_t LoadLe32(std::string_view bytes, size_t at) {
  if (at + 4 > bytes.size()) throw std::runtime_error("charsmap: truncated");
  uint32_t value = 0;
  for (int i = 3; i >= 0; i--) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Fields of a unit, as darts.h of sentencepiece 0.1.97 defines them.
uint32_t Offset(uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200) >> 6);
}
bool HasValue(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t Label(uint32_t unit) {
  return unit & 0x800000ff;
}

}  // namespace

CharsmapRules::CharsmapRules(std::string_view blob) {
  if (blob.empty()) return;
  const uint32_t trie_bytes = LoadLe32(blob, 0);
  if (trie_bytes % 4 != 0 || trie_bytes > blob.size() - 4) {
    throw std::runtime_error("charsmap: bad trie size");
  }
  const std::string_view pool = blob.substr(4 + trie_bytes);
  const uint32_t units = trie_bytes / 4;
  const auto unit = [&](uint32_t i) {
    if (i >= units) throw std::runtime_error("charsmap: index outside the trie");
    return LoadLe32(blob, 4 + 4 * size_t{i});
  };
  std::vector<std::pair<uint32_t, std::string>> stack = {{0, ""}};
  while (!stack.empty()) {
    const auto [position, key] = std::move(stack.back());
    stack.pop_back();
    const uint32_t node = unit(position);
    const uint32_t base = position ^ Offset(node);
    if (HasValue(node)) {
      const uint32_t start = unit(base) & 0x7fffffff;
      const size_t end = pool.find('\0', start);
      if (end == pool.npos) throw std::runtime_error("charsmap: replacement outside the pool");
      rules_[key] = pool.substr(start, end - start);
      longest_key_ = std::max(longest_key_, key.size());
    }
    for (uint32_t label = 1; label < 256; label++) {
      const uint32_t child = base ^ label;
      if (child < units && Label(unit(child)) == label) {
        stack.emplace_back(child, key + static_cast<char>(label));
      }
    }
  }
}

CharsmapRules::CharsmapRules(std::map<std::string, std::string, std::less<>> rules)
    : rules_(std::move(rules)) {
  for (const auto& [key, replacement] : rules_) longest_key_ = std::max(longest_key_, key.size());
}

const std::string* CharsmapRules::Shortest(std::string_view text, size_t* size) const {
  for (size_t n = 1; n <= std::min(longest_key_, text.size()); n++) {
    if (const auto found = rules_.find(text.substr(0, n)); found != rules_.end()) {
      *size = n;
      return &found->second;
    }
  }
  return nullptr;
}

const std::string* CharsmapRules::Longest(std::string_view text, size_t* size) const {
  for (size_t n = std::min(longest_key_, text.size()); n > 0; n--) {
    if (const auto found = rules_.find(text.substr(0, n)); found != rules_.end()) {
      *size = n;
      return &found->second;
    }
  }
  return nullptr;
}

}  // namespace rankfeed::plain
