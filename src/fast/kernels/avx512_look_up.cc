// SPDX-License-Identifier: MIT
// fast/kernels/avx512_look_up.cc: the loops of look_up.h eight segments at a time, with AVX-512:
// eight keys are read from the text, and eight entries from a table, together. A hit takes a fifth
// less time.
#include "fast/kernels/loops.h"

#if HWY_ARCH_X86

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace rankfeed::fast::avx512 {
namespace {

constexpr uint32_t kLanes = kGatherLanes;
static_assert(kVectorSlack >= kLanes && kVectorSlack >= 16);

RANKFEED_GATHER inline __m512i Widen(const uint32_t* from) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
// In halves: products of 512-bit vectors lower the clock of the whole core, by a tenth on Sapphire
// Rapids (bench/NOTES.md).
RANKFEED_GATHER inline __m512i Multiply(__m512i a, uint64_t b) {
  const __m256i factor = _mm256_set1_epi64x(static_cast<int64_t>(b));
  const __m256i low = _mm256_mullo_epi64(_mm512_castsi512_si256(a), factor);
  const __m256i high = _mm256_mullo_epi64(_mm512_extracti64x4_epi64(a, 1), factor);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Keeps of the eight bytes from bit `first` of a segment on those that it has.
RANKFEED_GATHER inline __m512i Part(__m512i bytes, __m512i bits, uint64_t first) {
  const __m512i none = _mm512_sllv_epi64(Set(~uint64_t{0}), _mm512_subs_epu16(bits, Set(first)));
  return _mm512_andnot_si512(none, bytes);
}

// These are the entries that may be those of eight keys, by the first part: where they begin, and which of them
// have the second part too. A bucket holds two entries of 32 bytes.
struct Entries {
  __m512i at;  // by words
  __mmask8 equal;
};
RANKFEED_GATHER inline Entries EntriesOf(const uint64_t* table, __m512i bucket, __m512i part0, __m512i part1) {
  constexpr uint32_t kEntry = sizeof(CacheLine::Short) / sizeof(uint64_t);
  static_assert(kEntry == 4);
  __m512i at = _mm512_slli_epi64(bucket, 3);
  const __mmask8 second = _mm512_cmpeq_epi64_mask(Gather(table + kEntry, at), part0);
  at = _mm512_mask_add_epi64(at, second, at, Set(kEntry));
  const __mmask8 equal = _mm512_cmpeq_epi64_mask(Gather(table, at), part0);
  return {at, _mm512_mask_cmpeq_epi64_mask(equal, Gather(table + 1, at), part1)};
}

// Makes the keys of segments[0, count). data: the text from byte low on, where 32 bytes can be read
// at all places from low to high, in which segments begin.
RANKFEED_GATHER void MakeKeysOf(const LookUpTables& tables, const char* data, uint64_t low,
                                uint64_t high, const Segments& segments, uint32_t count,
                                uint32_t first, const LookUpBatch& batch) {
  for (uint32_t i = 0; i < count; i += kLanes) {
    const __m512i begins = Widen(segments.begins + i);
    const __m512i begin = _mm512_and_si512(begins, Set(~Segments::kWordStart));
    __m512i size = _mm512_sub_epi64(Widen(segments.ends + i), begin);
    const __m512i mark = _mm512_and_si512(_mm512_srli_epi64(begins, 24), Set(image::kKeyWordStart));
    size = _mm512_min_epu64(size, Set(SegmentKey::kMaxBytes + 1));
    const __m512i tag = _mm512_or_si512(mark, size);
    // Longer ones have nothing but a tag.
    size = _mm512_maskz_mov_epi64(_mm512_cmple_epu64_mask(size, Set(SegmentKey::kMaxBytes)), size);
    // Beyond count lies what is no segment of this text.
    const __m512i at =
        _mm512_sub_epi64(_mm512_max_epu64(_mm512_min_epu64(begin, Set(high)), Set(low)), Set(low));
    const auto bytes = [at, data](int from)
                           RANKFEED_GATHER { return _mm512_i64gather_epi64(at, data + from, 1); };
    const __m512i bits = _mm512_slli_epi64(size, 3);
    const __m512i part0 = _mm512_or_si512(tag, _mm512_slli_epi64(Part(bytes(0), bits, 0), 8));
    const __m512i part1 = Part(bytes(7), bits, 56);
    __m512i part2 = _mm512_setzero_si512(), part3 = part2;
    if (_mm512_cmpgt_epu64_mask(size, Set(15)) != 0) {
      part2 = Part(bytes(15), bits, 120);
      part3 = Part(bytes(23), bits, 184);
    }
    const __m512i a = _mm512_xor_si512(part0, _mm512_rol_epi64(part2, SegmentKey::kTurn2));
    const __m512i b = _mm512_xor_si512(part1, _mm512_rol_epi64(part3, SegmentKey::kTurn3));
    __m512i hash = _mm512_add_epi64(Multiply(a, SegmentKey::kFactor0), Multiply(b, SegmentKey::kFactor1));
    hash = _mm512_xor_si512(hash, _mm512_srli_epi64(hash, SegmentKey::kFold));
    _mm512_storeu_si512(batch.hashes + first + i, hash);
    _mm512_storeu_si512(batch.parts[0] + first + i, part0);
    _mm512_storeu_si512(batch.parts[1] + first + i, part1);
    _mm512_storeu_si512(batch.parts[2] + first + i, part2);
    _mm512_storeu_si512(batch.parts[3] + first + i, part3);
    alignas(64) uint64_t buckets[kLanes];
    const __m512i bucket_at = _mm512_and_si512(hash, Set(tables.table_mask));
    _mm512_store_si512(buckets, _mm512_slli_epi64(bucket_at, 6));
    const auto* const table = reinterpret_cast<const char*>(tables.table);
    for (const uint64_t bucket : buckets) __builtin_prefetch(table + bucket);
  }
}

}  // namespace

RANKFEED_GATHER void MakeKeys(const LookUpTables& tables, const char* text, size_t readable,
                              const Segments& segments, uint32_t count, uint32_t first,
                              const LookUpBatch& batch) {
  // Near the end of the text from a copy.
  constexpr size_t kReach = sizeof(SegmentKey);
  const size_t direct = readable >= kReach ? readable - kReach + 1 : 0;
  uint32_t near_end = count;
  while (near_end > 0 && segments.begin(near_end - 1) >= direct) --near_end;
  if (near_end > 0) {
    MakeKeysOf(tables, text, 0, direct - 1, segments, near_end, first, batch);
  }
  if (near_end == count) return;
  char copy[2 * kReach] = {};
  std::memcpy(copy, text + direct, readable - direct);
  MakeKeysOf(tables, copy, direct, readable, segments.From(near_end), count - near_end,
             first + near_end, batch);
}

namespace {

// Looks keys up as MatchTable and MatchWords say. keep(i, id_and_info): keeps what eight segments from the i-th on may be,
// as id and info lie in the table.
template <class Keep>
RANKFEED_GATHER inline uint32_t MatchEntries(const LookUpTables& tables, uint32_t begin, uint32_t end,
                                             const LookUpBatch& batch, uint32_t lacking_count, const Keep& keep) {
  static_assert(sizeof(image::SegmentEntry) == sizeof(CacheLine::Short));
  const auto* const table = reinterpret_cast<const uint64_t*>(tables.table);
  uint16_t* const lacking = batch.lacking;
  const uint32_t before = lacking_count;
  for (uint32_t i = begin; i < end; i += kLanes) {
    const __m512i part0 = Load(batch.parts[0] + i);
    const __m512i bucket = _mm512_and_si512(Load(batch.hashes + i), Set(tables.table_mask));
    Entries entries = EntriesOf(table, bucket, part0, Load(batch.parts[1] + i));
    // The third part is zero in the key of a segment of fewer than sixteen bytes.
    if (_mm512_test_epi64_mask(part0, Set(0x70)) != 0) {
      entries.equal &= _mm512_cmpeq_epi64_mask(Gather(table + 2, entries.at), Load(batch.parts[2] + i));
    }
    keep(i, Gather(table + 3, entries.at));
    const auto lacks = static_cast<__mmask8>(~uint32_t{entries.equal} & Lanes(end - i));
    Append(lacks, i, lacking + lacking_count);
    lacking_count += static_cast<uint32_t>(std::popcount(lacks));
  }
  for (uint32_t k = before; k < lacking_count; ++k) {
    __builtin_prefetch(tables.Line(batch.hashes[lacking[k]]));
  }
  return lacking_count;
}

}  // namespace

RANKFEED_GATHER uint32_t MatchTable(const LookUpTables& tables, uint32_t begin, uint32_t end,
                                    const LookUpBatch& batch, uint32_t lacking_count) {
  return MatchEntries(tables, begin, end, batch, lacking_count, [&batch](uint32_t i, __m512i id_and_info) RANKFEED_GATHER {
    // Ids and infos lie as they do in the table, and ids point there.
    Found* const found = batch.found + i;
    const __m512i ids = _mm512_add_epi64(Set(reinterpret_cast<uintptr_t>(&found->id)),
                                         _mm512_setr_epi64(0, 16, 32, 48, 64, 80, 96, 112));
    StorePairs(ids, id_and_info, found);
  });
}

RANKFEED_GATHER uint32_t MatchWords(const LookUpTables& tables, uint32_t begin, uint32_t end,
                                    const LookUpBatch& batch, uint32_t lacking_count) {
  return MatchEntries(tables, begin, end, batch, lacking_count, [&batch](uint32_t i, __m512i id_and_info) RANKFEED_GATHER {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(batch.hits + i), _mm512_cvtepi64_epi32(id_and_info));
  });
}

RANKFEED_GATHER uint32_t MatchShorts(const LookUpTables& tables, const LookUpBatch& batch, uint32_t lacking_count) {
  using Short = CacheLine::Short;
  static_assert(offsetof(Short, info) == 28 && offsetof(Found, info) == 12);
  const auto* const cache = reinterpret_cast<const uint64_t*>(tables.cache);
  auto* const found = reinterpret_cast<uint64_t*>(batch.found);
  uint32_t left = 0;
  for (uint32_t k = 0; k < lacking_count; k += kLanes) {
    const __m128i numbers = _mm_loadu_si128(reinterpret_cast<const __m128i*>(batch.lacking + k));
    const __m512i i = _mm512_cvtepu16_epi64(numbers), place = _mm512_slli_epi64(i, 1);
    const __mmask8 lanes = Lanes(lacking_count - k);
    const auto gather = [i, lanes](const uint64_t* column) RANKFEED_GATHER {
      return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), lanes, i, column, sizeof(uint64_t));
    };
    const __m512i line = _mm512_and_si512(gather(batch.hashes), Set(tables.cache_mask));
    const Entries entries = EntriesOf(cache, line, gather(batch.parts[0]), gather(batch.parts[1]));
    const uintptr_t first = reinterpret_cast<uintptr_t>(tables.cache) + offsetof(Short, ids);
    const __m512i ids = _mm512_add_epi64(Set(first), _mm512_slli_epi64(entries.at, 3));
    _mm512_mask_i64scatter_epi64(found, lanes, place, ids, sizeof(uint64_t));
    _mm512_mask_i64scatter_epi64(found + 1, lanes, place, Gather(cache + 3, entries.at), sizeof(uint64_t));
    const auto lacks = static_cast<__mmask8>(~uint32_t{entries.equal} & lanes);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(batch.misses + left), _mm_maskz_compress_epi16(lacks, numbers));
    left += static_cast<uint32_t>(std::popcount(lacks));
  }
  for (uint32_t k = 0; k < left; ++k) {
    const uint32_t i = batch.misses[k];
    for (int part = 0; part < 4; ++part) batch.keys[i].part[part] = batch.parts[part][i];
  }
  return left;
}

RANKFEED_GATHER uint32_t ListStarts(const BoundaryMasks* masks, uint32_t count, uint32_t base, uint32_t* places) {
  uint32_t* to = places;
  const __m512i every = _mm512_load_si512(kBytePlaces.data());
  for (uint32_t k = 0; k < count; ++k, base += 64) {
    const uint64_t starts = masks[k].starts;
    const int n = std::popcount(starts);
    const __m512i first = _mm512_set1_epi32(static_cast<int32_t>(base));
    __m512i at = _mm512_maskz_compress_epi8(starts, every);
    for (int done = 0; done < n; done += 16) {
      _mm512_storeu_si512(to + done, _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(at))));
      at = _mm512_alignr_epi64(at, at, 2);
    }
    to += n;
  }
  return static_cast<uint32_t>(to - places);
}

RANKFEED_GATHER void List(const BoundaryMasks* masks, uint32_t count, uint32_t base,
                          const Segments& segments, uint32_t* begin, uint32_t* end) {
  uint32_t *begins = segments.begins + *begin, *ends = segments.ends + *end;
  const __m512i places = _mm512_load_si512(kBytePlaces.data());
  const __m512i mark = _mm512_set1_epi32(static_cast<int32_t>(Segments::kWordStart));
  for (uint32_t k = 0; k < count; ++k, base += 64) {
    const uint64_t starts = masks[k].starts, stops = masks[k].stops;
    __m512i begin_places = _mm512_maskz_compress_epi8(starts, places);
    __m512i end_places = _mm512_maskz_compress_epi8(stops, places);
    uint64_t word_starts = _pext_u64(masks[k].word_starts, starts);
    const auto begin_count = std::popcount(starts), end_count = std::popcount(stops);
    const __m512i first = _mm512_set1_epi32(static_cast<int32_t>(base));
    for (int done = 0; done < std::max(begin_count, end_count); done += 16) {
      const auto next16 = [first](__m512i at) RANKFEED_GATHER {
        return _mm512_add_epi32(first, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(at)));
      };
      const __m512i b = next16(begin_places);
      _mm512_storeu_si512(begins + done, _mm512_mask_or_epi32(b, static_cast<__mmask16>(word_starts), b, mark));
      _mm512_storeu_si512(ends + done, next16(end_places));
      begin_places = _mm512_alignr_epi64(begin_places, begin_places, 2);
      end_places = _mm512_alignr_epi64(end_places, end_places, 2);
      word_starts >>= 16;
    }
    begins += begin_count;
    ends += end_count;
  }
  *begin = static_cast<uint32_t>(begins - segments.begins);
  *end = static_cast<uint32_t>(ends - segments.ends);
}

}  // namespace rankfeed::fast::avx512

#endif  // HWY_ARCH_X86
