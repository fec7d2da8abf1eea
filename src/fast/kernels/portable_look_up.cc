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

// Writes what `put` makes of each bit to places; returns the end of them. Sixteen bits at a time, more than most words
// of 64 bytes have: how many there are follows no pattern.
template <class Put>
HWY_INLINE uint32_t* PutBits(uint64_t bits, uint32_t* places, const Put& put) {
  uint32_t* const end = places + std::popcount(bits);
  for (; places < end; places += 16) {
    HWY_UNROLL(16)
    for (int i = 0; i < 16; ++i, bits &= bits - 1) places[i] = put(static_cast<uint32_t>(std::countr_zero(bits)));
  }
  return end;
}

void List(const BoundaryMasks* masks, uint32_t count, uint32_t base, const Segments& segments,
          uint32_t* begin, uint32_t* end) {
  uint32_t *begins = segments.begins + *begin, *ends = segments.ends + *end;
  for (uint32_t k = 0; k < count; ++k, base += 64) {
    const uint64_t word_starts = masks[k].word_starts;
    begins = PutBits(masks[k].starts, begins, [base, word_starts](uint32_t bit) HWY_ATTR {
      return (base + bit) | static_cast<uint32_t>(word_starts >> (bit & 63)) << 31;
    });
    ends = PutBits(masks[k].stops, ends, [base](uint32_t bit) HWY_ATTR { return base + bit; });
  }
  *begin = static_cast<uint32_t>(begins - segments.begins);
  *end = static_cast<uint32_t>(ends - segments.ends);
}

uint32_t ListStarts(const BoundaryMasks* masks, uint32_t count, uint32_t base, uint32_t* places) {
  uint32_t* to = places;
  for (uint32_t k = 0; k < count; ++k, base += 64) {
    to = PutBits(masks[k].starts, to, [base](uint32_t bit) HWY_ATTR { return base + bit; });
  }
  return static_cast<uint32_t>(to - places);
}

// Makes a key of the 32 bytes at `before`, which end a segment's tag and begin its bytes, by a row of KeyRows; returns its
// hash. kShort: of one of the short rows.
template <bool kShort>
HWY_INLINE uint64_t MakeKey(const char* before, size_t row, SegmentKey* key) {
#if HWY_TARGET == HWY_SCALAR
  *key = SegmentKey::Make(before + 1, row / (2 * KeyRows::kTagBytes) % (SegmentKey::kMaxBytes + 1), kKeyRows.tags[row]);
  return key->Hash();
#else
  const hn::Full128<uint8_t> d8;
  const hn::Full128<uint64_t> d;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(before);
  const uint8_t *const masks = kKeyRows.masks + 2 * row, *const tag = kKeyRows.tags + row;
  const auto low = hn::BitCast(d, hn::Or(hn::And(hn::LoadU(d8, bytes), hn::Load(d8, masks)), hn::Load(d8, tag)));
  uint64_t part0 = hn::ExtractLane(low, 0), part1 = hn::ExtractLane(low, 1);
  hn::Store(low, d, key->part);
  if constexpr (kShort) {
    hn::Store(hn::Zero(d), d, key->part + 2);
  } else {
    const auto high = hn::BitCast(d, hn::And(hn::LoadU(d8, bytes + 16), hn::Load(d8, masks + 16)));
    hn::Store(high, d, key->part + 2);
    part0 ^= std::rotl(hn::ExtractLane(high, 0), SegmentKey::kTurn2);
    part1 ^= std::rotl(hn::ExtractLane(high, 1), SegmentKey::kTurn3);
  }
  return SegmentKey::Fold(part0, part1);
#endif
}

// Returns 1 if a key and an entry of the image's table differ, else 0.
HWY_INLINE size_t Differ(const uint64_t* key, const uint64_t* entry) {
#if HWY_MAX_BYTES >= 32
  const hn::Full256<uint64_t> d;
  uint8_t bits[8];
  hn::StoreMaskBits(d, hn::Eq(hn::Load(d, key), hn::LoadU(d, entry)), bits);
  const size_t equal = bits[0] & 7;  // not the fourth, where an entry has no key
  return equal < 7;
#else
  return ((key[0] ^ entry[0]) | (key[1] ^ entry[1]) | (key[2] ^ entry[2])) != 0;
#endif
}

// Makes the keys of the first segments, as long as they are short; returns how many. before: the byte before their text.
// A function of its own keeps all that the loop needs in registers.
HWY_NOINLINE uint32_t MakeShortKeys(const char* before, const Segments& segments, uint32_t count,
                                    const LookUpTables& tables, SegmentKey* keys, uint64_t* hashes) {
  const uint32_t *const begins = segments.begins, *const ends = segments.ends;
  const char* const table = reinterpret_cast<const char*>(tables.table);
  const uint64_t mask = tables.table_mask;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t begin = begins[i], row = KeyRows::RowOf(begin, ends[i]);
    if (row >= KeyRows::kShortRows * KeyRows::kTagBytes) [[unlikely]] return static_cast<uint32_t>(i);
    const uint64_t hash = MakeKey<true>(before + (begin & ~Segments::kWordStart), row, &keys[i]);
    hashes[i] = hash;
    __builtin_prefetch(table + ((hash & mask) << 6));
  }
  return count;
}

void MakeKeys(const LookUpTables& in, const char* text, size_t readable, const Segments& of,
              uint32_t count, uint32_t first, const LookUpBatch& batch) {
  // Copies: for all the compiler knows the vectors stored below are what the pointers lie in.
  const LookUpTables tables = in;
  const Segments segments = of;
  SegmentKey* const keys = batch.keys + first;
  uint64_t* const hashes = batch.hashes + first;
  const auto make = [&](uint32_t i, const char* before) HWY_ATTR {
    const uint32_t size = std::min(segments.size(i), SegmentKey::kMaxBytes + 1);
    const uint32_t row = (2 * size + segments.word_start(i)) * KeyRows::kTagBytes;
    const uint64_t hash = MakeKey<false>(before, row, &keys[i]);
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
    make(i++, copy);
  }
  if (i < near_end && readable < KeyRows::kMostText) {
    i += MakeShortKeys(text - 1, segments.From(i), near_end - i, tables, keys + i, hashes + i);
  }
  for (; i < near_end; ++i) make(i, text + segments.begin(i) - 1);
  if (i == count) return;
  std::memset(copy, 0, sizeof(copy));
  std::memcpy(copy + 1, text + direct, readable - direct);
  for (; i < count; ++i) make(i, copy + (segments.begin(i) - direct));
}

// Looks keys up as MatchTable and MatchWords say. keep(i, entry): keeps what segment i may be.
template <class Keep>
HWY_INLINE uint32_t MatchEntries(const LookUpTables& in, uint32_t begin, uint32_t end, const LookUpBatch& of,
                                 uint32_t lacking_count, const Keep& keep) {
  const LookUpTables tables = in;
  const LookUpBatch batch = of;
  // The entry of a bucket follows no pattern that a branch predictor could learn, so one is
  // selected by the first part of its key, and then compared. Only what the table lacks goes on to
  // the cache, so that most segments cost one cache line.
  uint16_t* const lacking = batch.lacking;
  size_t count = lacking_count;
  HWY_UNROLL(2)
  for (size_t i = begin; i < end; ++i) {
    const uint64_t* key = batch.keys[i].part;
    const image::SegmentEntry* bucket = tables.Bucket(batch.hashes[i]);
    const image::SegmentEntry& entry = bucket[bucket[1].key[0] == key[0]];
    keep(i, entry);
    lacking[count] = static_cast<uint16_t>(i);
    count += Differ(key, entry.key);
  }
  for (size_t k = lacking_count; k < count; ++k) {
    __builtin_prefetch(tables.Line(batch.hashes[lacking[k]]));
  }
  return static_cast<uint32_t>(count);
}

uint32_t MatchTable(const LookUpTables& tables, uint32_t begin, uint32_t end, const LookUpBatch& batch,
                    uint32_t lacking_count) {
  Found* const found = batch.found;
  return MatchEntries(tables, begin, end, batch, lacking_count, [found](size_t i, const image::SegmentEntry& entry) HWY_ATTR {
    found[i].ids = &found[i].id;
    std::memcpy(&found[i].id, &entry.id, sizeof(entry.id) + sizeof(entry.info));  // as they lie in the entry
  });
}

uint32_t MatchWords(const LookUpTables& tables, uint32_t begin, uint32_t end, const LookUpBatch& batch,
                    uint32_t lacking_count) {
  int32_t* const hits = batch.hits;
  return MatchEntries(tables, begin, end, batch, lacking_count, [hits](size_t i, const image::SegmentEntry& entry) HWY_ATTR {
    hits[i] = static_cast<int32_t>(entry.id);
  });
}

// Lists as misses those of segments[0, count) that are not found, as found_in says; returns how many.
template <class FoundIn>
HWY_INLINE uint32_t Lacking(const uint16_t* segments, uint32_t count, const LookUpBatch& of, const FoundIn& found_in) {
  const LookUpBatch batch = of;
  uint32_t left = 0;
  for (uint32_t k = 0; k < count; ++k) {
    const uint16_t i = segments[k];
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
  miss_count = Lacking(batch.misses, miss_count, batch, [&](const SegmentKey& key, uint64_t hash, Found* found) HWY_ATTR {
    const CacheLine::Long& entry = tables.Line(hash)->whole;
    found->ids = entry.ids;
    found->info = entry.info;
    if (tables.two_lines) __builtin_prefetch(tables.OtherLine(hash));
    return entry.Has(key);
  });
  if (!tables.two_lines) return miss_count;
  return Lacking(batch.misses, miss_count, batch, [&](const SegmentKey& key, uint64_t hash, Found* found) HWY_ATTR {
    const CacheLine& line = *tables.OtherLine(hash);
    const bool is_short = IsShort(line, key, found), is_long = line.whole.Has(key);
    found->ids = is_long ? line.whole.ids : found->ids;
    found->info = is_long ? line.whole.info : found->info;
    return is_short | is_long;
  });
}

uint32_t MatchCache(const LookUpTables& in, const LookUpBatch& batch, uint32_t lacking_count) {
  const LookUpTables tables = in;
  const uint32_t miss_count = Lacking(batch.lacking, lacking_count, batch, [&](const SegmentKey& key, uint64_t hash, Found* found) HWY_ATTR {
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
template <uint32_t kPlaces, uint32_t kLeast, bool kShared>
HWY_INLINE void MergeOf(const bpe::Merger& of, uint32_t* ids, MergeWord* words, uint32_t count) {
  constexpr uint32_t kTogether = 6;
  const bpe::Merger merger = of;
  bpe::OpenWord<kPlaces, kShared> open[kTogether];
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

template <bool kShared>
HWY_INLINE void MergeAll(const bpe::Merger& merger, uint32_t* ids, MergeWord* words, uint32_t count) {
  MergeOf<16, 2, kShared>(merger, ids, words, count);
  MergeOf<kMergeSymbols + 1, 16, kShared>(merger, ids, words, count);
}

void Merge(const bpe::Merger& merger, uint32_t* ids, MergeWord* words, uint32_t count) {
  merger.shares_ranks() ? MergeAll<true>(merger, ids, words, count) : MergeAll<false>(merger, ids, words, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::fast
HWY_AFTER_NAMESPACE();
