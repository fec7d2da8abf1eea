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

// group_bytes, code_count: of those that are kept, of a group and of what it becomes. bits: of the
// number of places for them.
template <uint32_t group_bytes, uint32_t code_count, int bits>
class GroupTable {
 public:
  static constexpr uint32_t kMaxGroup = group_bytes, kMaxCodes = code_count;

  struct Entry {
    char group[kMaxGroup];
    uint16_t count;
    uint16_t codes[kMaxCodes];
  };
  struct Memory {
    uint8_t sizes[1 << bits];  // of the groups; 0: none
    Entry entries[1 << bits];
  };

  explicit GroupTable(Memory* memory) : memory_(memory) {}

  // Null if the group is not known. Stays until the next Keep.
  const Entry* Find(std::string_view group) const {
    if (group.size() > kMaxGroup || !begun_) return nullptr;
    const uint64_t front = FrontOf(group);
    const size_t slot = SlotOf(group, front);
    const Entry& entry = memory_->entries[slot];
    if (memory_->sizes[slot] != group.size()) return nullptr;
    if (std::memcmp(entry.group, &front, sizeof(front)) != 0) return nullptr;
    if (group.size() <= sizeof(front)) return &entry;
    return std::memcmp(entry.group, group.data(), group.size()) == 0 ? &entry : nullptr;
  }

  // codes: of characters, 0 for a space; any number.
  void Keep(std::string_view group, std::span<const uint16_t> codes) {
    if (group.size() > kMaxGroup || codes.size() > kMaxCodes) return;
    if (!begun_) std::fill(std::begin(memory_->sizes), std::end(memory_->sizes), uint8_t{0});
    begun_ = true;
    const uint64_t front = FrontOf(group);
    const size_t slot = SlotOf(group, front);
    Entry& entry = memory_->entries[slot];
    memory_->sizes[slot] = static_cast<uint8_t>(group.size());
    std::memcpy(entry.group, &front, sizeof(front));
    if (group.size() > sizeof(front)) std::copy(group.begin(), group.end(), entry.group);
    entry.count = static_cast<uint16_t>(codes.size());
    std::copy(codes.begin(), codes.end(), entry.codes);
  }

 private:
  static_assert(kMaxGroup <= 0xff && kMaxGroup >= sizeof(uint64_t));
  // The first eight bytes, zeros behind fewer.
  static uint64_t FrontOf(std::string_view group) {
    uint64_t front = 0;
    std::copy_n(group.begin(), std::min(group.size(), sizeof(front)),
                reinterpret_cast<char*>(&front));
    return front;
  }
  static size_t SlotOf(std::string_view group, uint64_t front) {
    uint64_t back = 0;
    if (group.size() > sizeof(front)) {
      std::memcpy(&back, group.data() + group.size() - sizeof(back), sizeof(back));
    }
    return static_cast<size_t>(HashEnds(static_cast<uint32_t>(group.size()), front, back) >>
                               (64 - bits));
  }

  Memory* const memory_;
  bool begun_ = false;  // memory holds what this object put there
};

// Those of texts, and those that nobody writes: marks in a row.
using KnownGroups = GroupTable<8, 27, 9>;
using KnownLongGroups = GroupTable<72, 75, 6>;

}  // namespace rankfeed::segment
