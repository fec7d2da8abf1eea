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
    uint8_t count;
    bool apart;  // CharacterGroups::Extent
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
  void Keep(std::string_view group, std::span<const uint16_t> codes, bool apart) {
    if (group.size() > kMaxGroup || codes.size() > kMaxCodes) return;
    if (!begun_) std::fill(std::begin(memory_->sizes), std::end(memory_->sizes), uint8_t{0});
    begun_ = true;
    const uint64_t front = FrontOf(group);
    const size_t slot = SlotOf(group, front);
    Entry& entry = memory_->entries[slot];
    memory_->sizes[slot] = static_cast<uint8_t>(group.size());
    std::memcpy(entry.group, &front, sizeof(front));
    if (group.size() > sizeof(front)) std::copy(group.begin(), group.end(), entry.group);
    entry.count = static_cast<uint8_t>(codes.size());
    entry.apart = apart;
    std::copy(codes.begin(), codes.end(), entry.codes);
  }

 private:
  static_assert(kMaxGroup <= 0xff && kMaxCodes <= 0xff && kMaxGroup >= sizeof(uint64_t));
  // The first eight bytes, zeros behind fewer.
  static uint64_t FrontOf(std::string_view group) {
    const char* const text = group.data();
    const size_t size = group.size();
    if (size >= sizeof(uint64_t)) return Load<uint64_t>(text);
    // The halves overlap.
    if (size >= 4) {
      return Load<uint32_t>(text) | uint64_t{Load<uint32_t>(text + size - 4)} << 8 * (size - 4);
    }
    if (size >= 2) {
      return Load<uint16_t>(text) | uint64_t{Load<uint16_t>(text + size - 2)} << 8 * (size - 2);
    }
    return size == 0 ? 0 : Load<uint8_t>(text);
  }
  template <class T>
  static T Load(const char* text) {
    T value;
    std::memcpy(&value, text, sizeof(value));
    return value;
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

// How long the last known group was that began so: with two characters, as far as four bytes tell.
class GroupSizes {
 public:
  // 0: none did.
  uint32_t At(std::string_view segment, size_t at) const {
    const uint32_t place = PlaceOf(segment, at);
    return place == kNone ? 0 : sizes_[place];
  }
  void Note(std::string_view group) {
    const uint32_t place = PlaceOf(group, 0);
    if (place != kNone && group.size() <= 0xff) sizes_[place] = static_cast<uint8_t>(group.size());
  }
  void Forget(std::string_view segment, size_t at) {
    const uint32_t place = PlaceOf(segment, at);
    if (place != kNone) sizes_[place] = 0;
  }

 private:
  static constexpr int kBits = 10;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static uint32_t PlaceOf(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const size_t left = text.size() - at, first = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : 3;
    if (left <= first) return kNone;
    const size_t size = std::min<size_t>(first + (byte(first) < 0x80 ? 1 : 2), sizeof(uint32_t));
    if (left < size) return kNone;
    uint32_t bytes = 0;
    if (left >= sizeof(bytes)) {
      std::memcpy(&bytes, text.data() + at, sizeof(bytes));
    } else {
      std::memcpy(&bytes, text.data() + at, size);
    }
    bytes &= ~uint32_t{0} >> (32 - 8 * size);
    return static_cast<uint32_t>(HashEnds(0, bytes, 0) >> (64 - kBits));
  }

  uint8_t sizes_[1 << kBits] = {};
};

// Those of texts, and those that nobody writes: marks in a row.
using KnownGroups = GroupTable<8, 27, 9>;
using KnownLongGroups = GroupTable<72, 75, 6>;

}  // namespace rankfeed::segment
