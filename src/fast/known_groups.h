// SPDX-License-Identifier: MIT
// fast/known_groups.h: what groups of characters that are read together (groups.h) become, kept
// for when they come again: a text of a language that is written with marks has few different ones,
// and each costs the normalizer as much as a hundred plain characters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace rankfeed::fast {

class KnownGroups {
 public:
  // Bytes of the longest group that is kept, and codes of what it becomes.
  static constexpr uint32_t kMaxGroup = sizeof(uint64_t), kMaxCodes = 27;
  static constexpr int kBits = 9;  // of the number of places

  struct Entry {
    uint64_t bytes;  // of the group
    uint8_t count;
    uint16_t codes[kMaxCodes];
  };
  struct Memory {
    uint8_t sizes[1 << kBits];  // of the groups; 0: none
    Entry entries[1 << kBits];
  };

  explicit KnownGroups(Memory* memory) : memory_(memory) {}

  // Null if the group is not known. Stays until the next Keep.
  const Entry* Find(std::string_view group) const {
    if (group.size() > kMaxGroup || !begun_) return nullptr;
    const uint64_t bytes = BytesOf(group);
    const size_t slot = SlotOf(group, bytes);
    const Entry& entry = memory_->entries[slot];
    return memory_->sizes[slot] == group.size() && entry.bytes == bytes ? &entry : nullptr;
  }

  // codes: of characters, 0 for a space; any number.
  void Keep(std::string_view group, std::span<const uint16_t> codes) {
    if (group.size() > kMaxGroup || codes.size() > kMaxCodes) return;
    if (!begun_) std::fill(std::begin(memory_->sizes), std::end(memory_->sizes), uint8_t{0});
    begun_ = true;
    const uint64_t bytes = BytesOf(group);
    const size_t slot = SlotOf(group, bytes);
    Entry& entry = memory_->entries[slot];
    memory_->sizes[slot] = static_cast<uint8_t>(group.size());
    entry.bytes = bytes;
    entry.count = static_cast<uint8_t>(codes.size());
    std::copy(codes.begin(), codes.end(), entry.codes);
  }

 private:
  // The bytes of a group, and zeros after them.
  static uint64_t BytesOf(std::string_view group) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, group.data(), group.size());
    return bytes;
  }
  static size_t SlotOf(std::string_view group, uint64_t bytes) {
    return static_cast<size_t>(HashEnds(static_cast<uint32_t>(group.size()), bytes, 0) >>
                               (64 - kBits));
  }

  Memory* const memory_;
  bool begun_ = false;  // memory holds what this object put there
};

}  // namespace rankfeed::fast
