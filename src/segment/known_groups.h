// SPDX-License-Identifier: MIT
// segment/known_groups.h: what groups of characters that are read together (groups.h) become, kept
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

namespace rankfeed::segment {

class KnownGroups {
 public:
  // Bytes of a group, and codes of what it becomes, of those that are kept.
  static constexpr uint32_t kMaxGroup = 8, kMaxCodes = 27;

  struct Entry {
    char group[kMaxGroup];
    uint16_t count;
    uint16_t codes[kMaxCodes];
  };
  struct Memory {
    static constexpr int kBits = 9;
    uint8_t sizes[1 << kBits];  // of the groups; 0: none
    Entry entries[1 << kBits];
  };

  explicit KnownGroups(Memory* memory) : memory_(memory) {}

  // Null if the group is not known. Stays until the next Keep.
  const Entry* Find(std::string_view group) const {
    if (group.size() > kMaxGroup || !begun_) return nullptr;
    const uint64_t key = KeyOf(group);
    const size_t slot = SlotOf(key);
    const Entry& entry = memory_->entries[slot];
    const bool same = std::memcmp(entry.group, &key, kMaxGroup) == 0;
    return memory_->sizes[slot] == group.size() && same ? &entry : nullptr;
  }

  // codes: of characters, 0 for a space; any number.
  void Keep(std::string_view group, std::span<const uint16_t> codes) {
    if (group.size() > kMaxGroup || codes.size() > kMaxCodes) return;
    if (!begun_) std::fill(std::begin(memory_->sizes), std::end(memory_->sizes), uint8_t{0});
    begun_ = true;
    const uint64_t key = KeyOf(group);
    const size_t slot = SlotOf(key);
    Entry& entry = memory_->entries[slot];
    memory_->sizes[slot] = static_cast<uint8_t>(group.size());
    std::memcpy(entry.group, &key, kMaxGroup);
    entry.count = static_cast<uint16_t>(codes.size());
    std::copy(codes.begin(), codes.end(), entry.codes);
  }

 private:
  static uint64_t KeyOf(std::string_view group) {
    uint64_t key = 0;
    std::copy(group.begin(), group.end(), reinterpret_cast<char*>(&key));
    return key;
  }
  static size_t SlotOf(uint64_t key) {
    return static_cast<size_t>(HashEnds(kMaxGroup, key, 0) >> (64 - Memory::kBits));
  }

  Memory* const memory_;
  bool begun_ = false;  // memory holds what this object put there
};

}  // namespace rankfeed::segment
