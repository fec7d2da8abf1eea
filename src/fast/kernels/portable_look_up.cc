// SPDX-License-Identifier: MIT
// fast/kernels/portable_look_up.cc: looking segments up, merging words and writing ids. Compiled once
// per Highway target.
#include <algorithm>
#include <bit>
#include <cstring>

// GCC 12 spills general registers to vector registers in AVX-512 functions: 15 % slower than the
// AVX2 ones on the same CPU (bench/NOTES.md).
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fast/kernels/portable_look_up.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include "fast/kernels/loops.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::fast {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<uint64_t, 4>;  // a key is one vector of them, or two or four

void List(const BoundaryMasks* masks, uint32_t count, uint32_t base, const Segments& segments,
          uint32_t* begin, uint32_t* end) {
  uint32_t *begins = segments.begins + *begin, *ends = segments.ends + *end;
  for (uint32_t k = 0; k < count; ++k, base += 64) {
    uint64_t starts = masks[k].starts, stops = masks[k].stops;
    const uint64_t word_starts = masks[k].word_starts;
    const auto begin_count = std::popcount(starts), end_count = std::popcount(stops);
    // Begins and ends together and four at a time: how many there are follows no pattern.
    uint32_t *b = begins, *e = ends;
    for (int left = std::max(begin_count, end_count); left > 0; left -= 4) {
      for (int i = 0; i < 4; ++i) {
        const auto bit = static_cast<uint32_t>(std::countr_zero(starts));
        *b++ = (base + bit) | static_cast<uint32_t>(word_starts >> (bit & 63)) << 31;
        starts &= starts - 1;
        *e++ = base + static_cast<uint32_t>(std::countr_zero(stops));
        stops &= stops - 1;
      }
    }
    begins += begin_count;
    ends += end_count;
  }
  *begin = static_cast<uint32_t>(begins - segments.begins);
  *end = static_cast<uint32_t>(ends - segments.ends);
}

// data[-1] must be readable, and the 32 bytes from there. size: kMaxBytes + 1 at most.
HWY_INLINE void MakeKey(const char* data, uint32_t size, uint32_t tag, SegmentKey* key) {
#if HWY_TARGET == HWY_SCALAR
  *key = SegmentKey::Make(data, size > SegmentKey::kMaxBytes ? 0 : size, tag);
#else
  const Words d;
  const auto* from = reinterpret_cast<const uint8_t*>(data) - 1;
  const hn::Repartition<uint8_t, Words> d8;
  for (size_t i = 0; i < 4; i += hn::Lanes(d)) {
    const auto bytes = hn::BitCast(d, hn::LoadU(d8, from + 8 * i));
    const auto mask = hn::BitCast(d, hn::Load(d8, kKeyMasks.of[size] + 8 * i));
    hn::Store(hn::And(bytes, mask), d, key->part + i);
  }
  // GCC 12 takes the parts out of the vector register otherwise, at two or three instructions each.
  asm("" : "+m"(*key));
  key->part[0] |= tag;
#endif
}

// Whether the first three parts of a and b are equal.
HWY_INLINE bool Same(const uint64_t* a, const uint64_t* b) {
  alignas(32) static constexpr uint64_t kIgnored[4] = {0, 0, 0, ~uint64_t{0}};
  const Words d;
  auto same = hn::Set(d, ~uint64_t{0});
  for (size_t i = 0; i < 4; i += hn::Lanes(d)) {
    const auto equal = hn::VecFromMask(d, hn::Eq(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    same = hn::And(same, hn::Or(equal, hn::Load(d, kIgnored + i)));
  }
  return hn::AllTrue(d, hn::MaskFromVec(same));
}

void MakeKeys(const LookUpTables& in, const char* text, size_t readable, const Segments& of,
              uint32_t count, uint32_t first, const LookUpBatch& batch) {
  // Copies: for all the compiler knows the vectors stored below are what the pointers lie in.
  const LookUpTables tables = in;
  const Segments segments = of;
  SegmentKey* const keys = batch.keys + first;
  uint64_t* const hashes = batch.hashes + first;
  const auto make = [&](uint32_t i, const char* data) {
    const uint32_t size = std::min(segments.size(i), SegmentKey::kMaxBytes + 1);
    MakeKey(data, size, SegmentKey::Tag(size, segments.word_start(i)), &keys[i]);
    const uint64_t hash = keys[i].Hash();
    hashes[i] = hash;
    __builtin_prefetch(tables.Bucket(hash));
  };
  // A key is made of the 32 bytes from the one before the segment; at the begin and near the end of
  // the text they are read from a copy.
  constexpr size_t kLast = sizeof(SegmentKey) - 1;
  const size_t direct = readable > kLast ? readable - kLast : 0;
  char copy[3 * sizeof(SegmentKey)];
  uint32_t i = 0, near_end = count;
  while (near_end > 0 && segments.begin(near_end - 1) >= direct) --near_end;
  if (near_end > 0 && segments.begin(0) == 0) {
    std::memcpy(copy + 1, text, kLast);
    make(i++, copy + 1);
  }
  for (; i < near_end; ++i) make(i, text + segments.begin(i));
  if (i == count) return;
  std::memset(copy, 0, sizeof(copy));
  std::memcpy(copy + 1, text + direct, readable - direct);
  for (; i < count; ++i) make(i, copy + 1 + (segments.begin(i) - direct));
}

uint32_t MatchTable(const LookUpTables& in, uint32_t begin, uint32_t end, const LookUpBatch& of,
                    uint32_t miss_count) {
  const LookUpTables tables = in;
  const LookUpBatch batch = of;
  // The entry of a bucket follows no pattern that a branch predictor could learn, so one is
  // selected by the first part of its key, and then compared. Only what the table lacks goes on to
  // the cache, so that most segments cost one cache line.
  uint16_t* const misses = batch.misses;
  const uint32_t first = miss_count;
  for (uint32_t i = begin; i < end; ++i) {
    const uint64_t* key = batch.keys[i].part;
    const image::SegmentEntry* bucket = tables.Bucket(batch.hashes[i]);
    const image::SegmentEntry& entry = bucket[bucket[1].key[0] == key[0]];
    batch.found[i].ids = reinterpret_cast<const int32_t*>(&entry.id);
    batch.found[i].info = entry.info;
    misses[miss_count] = static_cast<uint16_t>(i);
    miss_count += !Same(entry.key, key);
  }
  for (uint32_t k = first; k < miss_count; ++k) {
    __builtin_prefetch(tables.Line(batch.hashes[misses[k]]));
  }
  return miss_count;
}

// This takes those out of the misses that are found, as found_in says, and returns how many are left.
template <class FoundIn>
HWY_INLINE uint32_t Lacking(const LookUpBatch& of, uint32_t miss_count, const FoundIn& found_in) {
  const LookUpBatch batch = of;
  uint32_t left = 0;
  for (uint32_t k = 0; k < miss_count; ++k) {
    const uint16_t i = batch.misses[k];
    batch.misses[left] = i;
    left += !found_in(batch.keys[i], batch.hashes[i], &batch.found[i]);
  }
  return left;
}

// This tells whether the line has the key among its short entries; found is the one that may be of it.
HWY_INLINE bool IsShort(const CacheLine& line, const SegmentKey& key, Found* found) {
  uint64_t second = line.shorts[1].key[0] == key.part[0];
  asm("" : "+r"(second));  // GCC 12 makes it twice otherwise
  const CacheLine::Short& entry = line.shorts[second];
  found->ids = entry.ids;
  found->info = entry.info;
  return ((entry.key[0] ^ key.part[0]) | (entry.key[1] ^ key.part[1])) == 0;
}

HWY_INLINE uint32_t MatchOthers(const LookUpTables& tables, const LookUpBatch& batch, uint32_t miss_count) {
  miss_count = Lacking(batch, miss_count, [&](const SegmentKey& key, uint64_t hash, Found* found) HWY_ATTR {
    const CacheLine::Long& entry = tables.Line(hash)->whole;
    found->ids = entry.ids;
    found->info = entry.info;
    if (tables.two_lines) __builtin_prefetch(tables.OtherLine(hash));
    return entry.Has(key);
  });
  if (!tables.two_lines) return miss_count;
  return Lacking(batch, miss_count, [&](const SegmentKey& key, uint64_t hash, Found* found) HWY_ATTR {
    const CacheLine& line = *tables.OtherLine(hash);
    const bool is_short = IsShort(line, key, found), is_long = line.whole.Has(key);
    found->ids = is_long ? line.whole.ids : found->ids;
    found->info = is_long ? line.whole.info : found->info;
    return is_short | is_long;
  });
}

uint32_t MatchCache(const LookUpTables& in, const LookUpBatch& batch, uint32_t miss_count) {
  const LookUpTables tables = in;
  miss_count = Lacking(batch, miss_count, [&](const SegmentKey& key, uint64_t hash, Found* found) HWY_ATTR {
    return IsShort(*tables.Line(hash), key, found);
  });
  return MatchOthers(tables, batch, miss_count);
}

uint32_t MatchLongs(const LookUpTables& tables, const LookUpBatch& batch, uint32_t miss_count) {
  return MatchOthers(LookUpTables(tables), batch, miss_count);
}

uint32_t FindRepeats(const LookUpBatch& batch, uint32_t none, uint32_t count, uint16_t* slots,
                     Repeat* repeats, uint32_t* repeat_count) {
  std::fill(slots, slots + kRepeatSlots, static_cast<uint16_t>(none));
  uint32_t left = 0, found = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint16_t i = batch.misses[k];
    uint16_t* const slot = slots + batch.hashes[i] % kRepeatSlots;
    const uint16_t other = *slot;
    *slot = i;
    const uint64_t *a = batch.keys[i].part, *b = batch.keys[other].part;
    // Segments too long for a key all have the same.
    const uint32_t same =
        uint32_t{((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0} &
        uint32_t{batch.keys[i].size() <= SegmentKey::kMaxBytes};
    repeats[found] = {i, other};
    found += same;
    batch.misses[left] = i;
    left += same ^ 1;
  }
  *repeat_count = found;
  return left;
}

uint32_t Emit(const Found* found, uint32_t begin, uint32_t end, int32_t** out, uint64_t* sum) {
  int32_t* to = *out;
  uint64_t total = *sum;
  uint32_t i = begin;
  for (; i < end; ++i) {
    const image::PathInfo info = found[i].info;
    total += info.score_bound;
    if (total >> info.exact_below != 0) {
      total -= info.score_bound;
      break;
    }
    std::memcpy(to, found[i].ids, CacheLine::kMaxIds * sizeof(int32_t));
    to += info.count;
  }
  *out = to;
  *sum = total;
  return i;
}

// The least key of an open word.
template <uint32_t kPlaces>
HWY_INLINE uint32_t Least(const uint32_t* keys) {
  const hn::CappedTag<uint32_t, 8> d;
  auto least = hn::Load(d, keys);
  for (size_t i = hn::Lanes(d); i < kPlaces; i += hn::Lanes(d)) least = hn::Min(least, hn::Load(d, keys + i));
  return hn::GetLane(hn::MinOfLanes(d, least));
}

// Merges the words of fewer symbols than kPlaces and of kLeast at least, kTogether in turn.
template <uint32_t kPlaces, uint32_t kLeast>
HWY_INLINE void MergeOf(const bpe::Merger& of, uint32_t* ids, MergeWord* words, uint32_t count) {
  constexpr uint32_t kTogether = 6;
  const bpe::Merger merger = of;
  bpe::OpenWord<kPlaces> open[kTogether];
  MergeWord* word_of[kTogether];
  const MergeWord* const end = words + count;
  const auto next = [&](uint32_t k) HWY_ATTR {
    while (words != end && (words->count < kLeast || words->count >= kPlaces)) ++words;
    if (words == end) return false;
    open[k].Open(merger, ids + words->begin, words->count);
    word_of[k] = words++;
    return true;
  };
  uint32_t active = 0;
  while (active < kTogether && next(active)) ++active;
  while (active != 0) {
    for (uint32_t k = 0; k < active; ++k) {
      if (open[k].MergeLeast(merger, Least<kPlaces>(open[k].keys))) continue;
      MergeWord* const word = word_of[k];
      word->count = static_cast<uint16_t>(open[k].Close(ids + word->begin));
      if (next(k)) continue;
      open[k] = open[--active];
      word_of[k] = word_of[active];
    }
  }
}

void Merge(const bpe::Merger& merger, uint32_t* ids, MergeWord* words, uint32_t count) {
  MergeOf<16, 2>(merger, ids, words, count);
  MergeOf<kMergeSymbols + 1, 16>(merger, ids, words, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::fast
HWY_AFTER_NAMESPACE();
