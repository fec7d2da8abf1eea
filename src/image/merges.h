// SPDX-License-Identifier: MIT
// image/merges.h: the merges of a BPE model as an image has them (builder/merge_tables.h makes them,
// models/bpe/merge.h reads them).
//
// Merges are numbered from 0 in the order of their ranks. A hash table leads from a pair to the number
// of its merge: from the place that MergeHash says on, the first slot with the pair's tag is taken, and
// an empty one says that no merge has the pair. A slot holds a tag and no pair, so that the table is
// small; a pair may find the slot of another one, but not of one with a greater number than its own,
// because slots are filled in the order of numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"

namespace rankfeed::image {

inline constexpr uint32_t kMaxMergeIds = uint32_t{1} << 20;  // ids of a model with merges
inline constexpr uint32_t kMaxMerges = (uint32_t{1} << 24) - 1;

// Slots: the number in the low bits, the tag above. A number with all bits set is none.
inline constexpr uint32_t kNoMerge = ~uint32_t{0};
constexpr uint32_t MergeNumberMask(size_t merges) {
  return static_cast<uint32_t>((uint64_t{1} << std::bit_width(merges)) - 1);
}
// Slots in use that lie side by side. The table has so many beyond the last that a hash leads to, and
// the last of all is empty.
inline constexpr uint32_t kMaxMergeRun = 255;
inline constexpr int kMergeTagShift = 7;  // of a hash to a tag, which has none of the bits of a place
constexpr uint64_t MergeHash(uint32_t left, uint32_t right) {
  return (uint64_t{left} << 20 ^ right) * kHashFactor1;
}
// Of a hash to a place, in a table of so many slots.
constexpr int MergeShift(size_t slots) {
  return 64 - std::countr_zero(slots - kMaxMergeRun - 1);
}

// A merge: the ids of its pair and of its product, 20 bits each.
constexpr uint64_t PackMerge(uint32_t left, uint32_t right, uint32_t product) {
  return uint64_t{left} << 40 | uint64_t{right} << 20 | product;
}
constexpr uint32_t MergeLeft(uint64_t merge) { return static_cast<uint32_t>(merge >> 40); }
constexpr uint32_t MergeRight(uint64_t merge) { return (merge >> 20) & (kMaxMergeIds - 1); }
constexpr uint32_t MergeProduct(uint64_t merge) { return merge & (kMaxMergeIds - 1); }

struct MergeTables {
  std::span<const uint32_t> slots;   // 1 << bits, at least 2, and kMaxMergeRun + 1
  std::span<const uint64_t> merges;  // by number, see PackMerge
  // By number, where some share a rank: the least number that has the same rank. Else empty.
  std::span<const uint32_t> ranks;
};

}  // namespace rankfeed::image
