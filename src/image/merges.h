// SPDX-License-Identifier: MIT
// image/merges.h: the merges of a BPE model as an image has them (builder/models/bpe/merge_tables.h makes them,
// models/bpe/merge.h reads them).
//
// Merges are numbered from 0 in the order of their ranks. A perfect hash leads from a pair to a slot,
// each pair with a merge to one of its own: the pairs of a bucket have one factor, which the builder
// has found. A slot holds the number of its merge and a tag of the pair, but not the pair, so that the
// table is small: a pair without a merge may find a number too, of a merge that has another pair.
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
constexpr uint64_t MergeHash(uint32_t left, uint32_t right) {
  return (left + uint64_t{1}) * kHashFactor0 + right * kHashFactor1;  // of two zeros too
}
// The parts of a hash: a bucket, of 1 << bits; what its factor is for, of which the high bits are the
// slot; and a tag, of the bits above a mask.
constexpr uint32_t MergeBucket(uint64_t hash, int bits) {
  return static_cast<uint32_t>(hash >> (64 - bits));
}
constexpr uint32_t MergeSlot(uint64_t hash, uint32_t factor, int bits) {
  const uint64_t product = (hash >> 16 & 0xffffffff) * factor;
  return static_cast<uint32_t>(product) >> (32 - bits);
}
constexpr uint32_t MergeTag(uint64_t hash, uint32_t mask) {
  return static_cast<uint32_t>(hash >> 8) & ~mask;
}

// A merge: the ids of its pair and of its product, 20 bits each.
constexpr uint64_t PackMerge(uint32_t left, uint32_t right, uint32_t product) {
  return uint64_t{left} << 40 | uint64_t{right} << 20 | product;
}
constexpr uint32_t MergeLeft(uint64_t merge) { return static_cast<uint32_t>(merge >> 40); }
constexpr uint32_t MergeRight(uint64_t merge) { return (merge >> 20) & (kMaxMergeIds - 1); }
constexpr uint32_t MergeProduct(uint64_t merge) { return merge & (kMaxMergeIds - 1); }

struct MergeTables {
  std::span<const uint16_t> factors;  // by bucket, 1 << bits for some bits from 1 on
  std::span<const uint32_t> slots;    // the same
  std::span<const uint64_t> merges;   // by number, see PackMerge
  // Ranks by number, for files in which some merges share one: the least number that has the same
  // rank. Else empty.
  std::span<const uint32_t> ranks;
};

// Token that the bytes of a character are merged to before anything else happens to them, in a word of a
// byte-level model (models/bpe/byte_symbols.h); spaced: the same for the character after the one space
// that begins the word, with that space. The rank is the greatest of the merges, kLoud if there is no
// such id.
struct QuietCharacter {
  uint32_t id, rank, spaced_id, spaced_rank;
};
inline constexpr uint32_t kLoud = ~uint32_t{0};

// The least rank of a merge across two characters, one of which it does not have whole, by the last byte
// of the one and the first of the other. The merges of a quiet character come before those around it.
inline constexpr uint32_t kCrossingLasts = 0xc0, kCrossingFirsts = 0x40;
constexpr uint32_t CrossingAt(uint8_t last, uint8_t first) {
  return last * kCrossingFirsts + (first < 0xc0 ? 0u : first - 0xc0u);
}

}  // namespace rankfeed::image
