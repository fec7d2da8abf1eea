// SPDX-License-Identifier: MIT
// fast/key.h: the raw bytes of a segment as a fixed-size key with a hash. The same code makes
// the keys of the image's table of segments (builder) and looks them up.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "image/format.h"

namespace rankfeed::fast {

struct alignas(32) SegmentKey {
  // Longest segment that has a key. 31 bytes hold 99.9 % of the words of the twelve XQuAD languages
  // that are written with spaces, and two keys with their ids fill two cache lines.
  static constexpr uint32_t kMaxBytes = 31;

  // In memory order: the tag, the bytes of the segment, zeros.
  uint64_t part[4];

  // Size of the segment and whether a U+2581 stands before it; a longer segment than kMaxBytes has
  // a tag that no entry has.
  static constexpr uint32_t Tag(uint32_t size, bool word_start) {
    return size | (word_start ? uint32_t{image::kKeyWordStart} : 0);
  }

  // Returns the bytes of the segment, kMaxBytes + 1 for all that are longer.
  uint32_t size() const { return part[0] & 0x7f; }

  // Makes the key of the first size <= kMaxBytes bytes at data.
  static SegmentKey Make(const char* data, uint32_t size, uint32_t tag) {
    char bytes[sizeof(SegmentKey)] = {};
    bytes[0] = static_cast<char>(tag);
    std::memcpy(bytes + 1, data, size);
    SegmentKey key;
    std::memcpy(key.part, bytes, sizeof(bytes));
    return key;
  }

  // The low bits index the tables, so the 17 highest bits of the sum, in which all bytes of a key
  // have a part, are folded onto them.
  static constexpr uint64_t kFactor0 = kHashFactor0, kFactor1 = kHashFactor1;
  static constexpr int kTurn2 = 23, kTurn3 = 13;  // most segments have nothing in parts 2 and 3
  static constexpr int kFold = 47;
  uint64_t Hash() const {
    return Fold(part[0] ^ std::rotl(part[2], kTurn2), part[1] ^ std::rotl(part[3], kTurn3));
  }
  static constexpr uint64_t Fold(uint64_t even, uint64_t odd) {
    const uint64_t sum = even * kFactor0 + odd * kFactor1;
    return sum ^ sum >> kFold;
  }
};

// Rows of masks and tags that make keys of bytes, by what RowOf returns: ones over the bytes of the segment that a key
// has, zeros over the tag and what follows. Longer segments have keys of their tag only, so that looking for them touches
// no more than two lines of either table.
struct KeyRows {
  static constexpr uint32_t kTagBytes = 16;
  static constexpr uint32_t kRows = 2 * (SegmentKey::kMaxBytes + 2);
  // Rows of keys whose second half is zero, and bytes of a text in which RowOf tells them by a comparison.
  static constexpr uint32_t kShortRows = 2 * kTagBytes;
  static constexpr size_t kMostText = size_t{1} << 27;

  alignas(64) uint8_t masks[kRows * sizeof(SegmentKey)];
  alignas(64) uint8_t tags[kRows * kTagBytes];

  // Returns kTagBytes times the row of a segment by what Segments has of it, which is
  // 2 * kTagBytes * size and kTagBytes for the mark of a word start, the highest bit of `begin`.
  static constexpr uint32_t RowOf(uint32_t begin, uint32_t end) { return std::rotl(end - begin, 5); }

  constexpr KeyRows() : masks(), tags() {
    for (uint32_t row = 0; row < kRows; ++row) {
      const uint32_t size = row / 2;
      for (uint32_t i = 1; size <= SegmentKey::kMaxBytes && i <= size; ++i) masks[row * sizeof(SegmentKey) + i] = 0xff;
      tags[row * kTagBytes] = static_cast<uint8_t>(SegmentKey::Tag(size, row % 2 != 0));
    }
  }
};
inline constexpr KeyRows kKeyRows;

}  // namespace rankfeed::fast
