// SPDX-License-Identifier: MIT
// words/kernels.cc: see kernels.h. Compiled once per Highway target.
#include "words/kernels.h"

#include <algorithm>
#include <cstring>

#include "trie/double_array.h"

// These loops have no use for wider vectors, and GCC 12 spills general registers to vector registers
// in AVX-512 functions: 15 % slower than the AVX2 ones on the same CPU (bench/NOTES.md).
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "words/kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rankfeed::words {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<uint64_t, 4>;  // a key is one vector of them, or two or four

// data[-1] must be readable, and kMaxKeyBytes bytes from there.
HWY_INLINE void MakeKey(const char* data, uint32_t size, uint32_t tag, WordKey* key) {
#if HWY_TARGET == HWY_SCALAR
  *key = WordKey::Make(data, size, tag);
#else
  const Words d;
  const auto* from = reinterpret_cast<const uint8_t*>(data) - 1;
  const hn::Repartition<uint8_t, Words> d8;
  for (size_t i = 0; i < 4; i += hn::Lanes(d)) {
    const auto bytes = hn::BitCast(d, hn::LoadU(d8, from + 8 * i));
    const auto mask = hn::BitCast(d, hn::Load(d8, kKeyMasks.of[size] + 8 * i));
    hn::Store(hn::And(bytes, mask), d, key->part + i);
  }
  key->part[0] |= tag;
#endif
}

// Whether the lanes of a and b whose bits are set in `lanes` are equal.
HWY_INLINE bool Same(const uint64_t* a, const uint64_t* b, const uint64_t* lanes) {
  const Words d;
  auto difference = hn::Zero(d);
  for (size_t i = 0; i < 4; i += hn::Lanes(d)) {
    difference = hn::Or(difference, hn::And(hn::Xor(hn::LoadU(d, a + i), hn::LoadU(d, b + i)),
                                            hn::LoadU(d, lanes + i)));
  }
  return hn::AllTrue(d, hn::Eq(difference, hn::Zero(d)));
}

uint32_t LookUp(const LookUpTables& tables, const char* text, size_t text_size,
                const Segment* segments, uint32_t count, WordKey* keys, uint64_t* hashes,
                Found* found, uint16_t* misses) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t begin = segments[i].begin & ~Segment::kWordStart;
    const uint32_t size = std::min(segments[i].end - begin, WordKey::kMaxBytes + 1);
    const uint32_t tag = WordKey::Tag(size, segments[i].begin != begin);
    if (begin != 0 && text_size - begin >= sizeof(WordKey)) {
      MakeKey(text + begin, std::min(size, WordKey::kMaxBytes), tag, &keys[i]);
    } else {
      keys[i] = WordKey::Make(text + begin, std::min(size, WordKey::kMaxBytes), tag);
    }
    const uint64_t hash = keys[i].Hash();
    hashes[i] = hash;
    __builtin_prefetch(tables.Bucket(hash));
  }
  // Both entries of a bucket are compared and the answer is selected with masks: which of them it
  // is follows no pattern that a branch predictor could learn. Only what the table lacks goes on to
  // the cache, so that most segments cost one cache line.
  constexpr uint64_t kTable[4] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, 0};
  constexpr uint64_t kAll[4] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  uint32_t lacking = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t* key = keys[i].part;
    const image::WordEntry* bucket = tables.Bucket(hashes[i]);
    const bool in0 = Same(bucket[0].key, key, kTable), in1 = Same(bucket[1].key, key, kTable);
    const image::WordEntry& entry = bucket[in1];
    found[i] = {reinterpret_cast<const int32_t*>(&entry.id), entry.info};
    misses[lacking] = static_cast<uint16_t>(i);
    lacking += !(in0 | in1);
  }
  for (uint32_t k = 0; k < lacking; ++k) __builtin_prefetch(tables.Slot(hashes[misses[k]]));
  uint32_t miss_count = 0;
  for (uint32_t k = 0; k < lacking; ++k) {
    const uint32_t i = misses[k];
    const CachedWord* cached = tables.Slot(hashes[i]);
    found[i] = {cached->ids, cached->info};
    misses[miss_count] = static_cast<uint16_t>(i);
    miss_count += !Same(cached->key, keys[i].part, kAll);
  }
  return miss_count;
}

// A walker: its next unit in bits 0..31; from bit 32 on its next entry in rows, row * kRow + size.
// A row's entries are in order of length, with a void one after the last.
void Walk(const Lattice& lattice, uint32_t size) {
  constexpr uint32_t kRow = Lattice::kRow;
  static_assert(kRow == 16);
  const uint64_t* const units = lattice.units;
  const uint16_t* const codes = lattice.codes;
  uint64_t* const rows = lattice.rows;
  uint64_t* const walkers = lattice.walkers;
  const Words d;
  const auto none = hn::Set(d, Lattice::kNone);
  uint64_t live = 0;
  for (uint64_t row = 0; row < size; ++row) {
    const uint64_t code = codes[row], next = codes[row + 1];
    const uint64_t unit = lattice.first_unit + code, u = units[unit];
    uint64_t* const edges = rows + row * kRow;
    for (size_t k = 0; k < kRow; k += hn::Lanes(d)) hn::Store(none, d, edges + k);
    edges[0] = (u >> 40 << 28 | unit) | uint64_t{code == 0} << 63;
    const uint64_t base = trie::Base(u), place = base + next;
    walkers[live] = place | (row * kRow + 1) << 32;
    live += (base != 0) & (next != 0);
    __builtin_prefetch(units + place);
  }
  // A real trie is at most kRow deep; the bound holds for a crafted one too.
  for (uint32_t depth = 1; live != 0 && depth < kRow; ++depth) {
    const uint16_t* const at = codes + depth;
    const uint64_t depth_bits = uint64_t{depth} << 24;
    const uint64_t* const end = walkers + live;
    uint64_t* alive = walkers;
    for (const uint64_t* w = walkers; w != end; ++w) {
      const uint64_t walker = *w;
      const uint64_t unit = static_cast<uint32_t>(walker), entry = walker >> 32;
      const uint64_t u = units[unit];
      uint32_t pair;  // the code of this depth and the next
      std::memcpy(&pair, at + entry / kRow, sizeof(pair));
      const uint64_t next = pair >> 16, base = trie::Base(u), place = base + next;
      const uint64_t found = static_cast<uint16_t>(u) == static_cast<uint16_t>(pair);
      const uint64_t piece = found & (u < uint64_t{image::kNoCost} << 40);
      rows[entry] = (u >> 40 << 28 | depth_bits | unit) + ((piece ^ 1) << 63);
      *alive = place | (entry + piece) << 32;
      alive += found & (base != 0) & (next != 0);
      __builtin_prefetch(units + place);
    }
    live = static_cast<uint64_t>(alive - walkers);
  }
}

void Search(const Lattice& lattice, uint32_t size) {
  for (uint32_t i = 0; i < size; ++i) {
    uint64_t* const best = lattice.best + i + 1;
    uint64_t* const second = lattice.second + i + 1;
    const uint64_t* const edges = lattice.rows + size_t{i} * Lattice::kRow;
    const uint64_t sum = lattice.best[i] & Lattice::kSumMask;
    const auto relax = [&](uint64_t edge) {
      const uint64_t candidate = sum + edge, node = edge >> 24 & 15, was = best[node];
      second[node] = std::min(second[node], std::max(was, candidate));
      best[node] = std::min(was, candidate);
    };
    // Most rows have up to three entries: those are relaxed without a branch.
    for (uint32_t k = 0; k < 3; ++k) relax(edges[k]);
    for (uint32_t k = 3; k < Lattice::kRow && edges[k] < Lattice::kNone; ++k) relax(edges[k]);
  }
}

void Solve(const Lattice& lattice, uint32_t size) {
  Walk(lattice, size);
  Search(lattice, size);
}

constexpr Kernels kKernels = {LookUp, Solve};
const Kernels* Get() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::words
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::words {

HWY_EXPORT(Get);

const Kernels& DispatchKernels() { return *HWY_DYNAMIC_DISPATCH(Get)(); }

}  // namespace rankfeed::words
#endif  // HWY_ONCE
