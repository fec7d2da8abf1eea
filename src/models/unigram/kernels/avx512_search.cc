// SPDX-License-Identifier: MIT
// models/unigram/kernels/avx512_search.cc: the search of kernels.h, eight spans or nodes at a time.
#include "models/unigram/kernels/loops.h"

#if HWY_ARCH_X86

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace rankfeed::unigram::avx512 {
namespace {

constexpr uint32_t kGroups = 4;  // of eight spans, in turns
static_assert(kVectorSlack >= kGatherLanes);
constexpr uint64_t kLow16 = 0xffff, kLow24 = 0xffffff, kLow32 = 0xffffffff;

// Lists where searches begin: of each sequence that has codes beyond those, the base of the state it is
// in and at << 32 | code of the next one. Returns how many.
uint32_t Starts(const Lattice& lattice, const Span* spans, uint32_t count) {
  const uint16_t* const codes = lattice.codes;
  const uint32_t alone = lattice.code_count + 1;
  const auto node = [&lattice](uint32_t n, const image::SearchStart& start) {
    lattice.sum[n] = start.sum & image::kEdgeCostMask;
    lattice.nodes[n] = start.node();
  };
  uint32_t starts = 0;
  // The part of it that is there follows no pattern: nodes are written again instead.
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = spans[i].begin, mark = spans[i].word_start;
    lattice.sum[at] = 0;
    node(at + 1, lattice.starts[0]);
    const uint32_t next = at + 1 + mark;
    const image::SearchStart& begin = lattice.starts[(alone & (mark - 1)) + codes[next - 1]];
    node(next, begin);
    lattice.start_bases[starts] = begin.base;
    lattice.start_visits[starts] = uint64_t{next} << 32 | codes[next];
    starts += codes[next] != 0;
  }
  return starts;
}

RANKFEED_GATHER inline __m256i Widen(const uint16_t* from) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

}  // namespace

// Reads as Walk of kernels.cc does. A lane whose sequence has ended takes the next one in the same
// step, so that the only branches are on how many spans there are.
RANKFEED_GATHER Visits Walk(const Lattice& lattice, const Span* spans, uint32_t count) {
  const uint32_t starts = Starts(lattice, spans, count);
  const uint64_t* const units = lattice.units;
  const uint32_t* const fails = lattice.fails;
  const uint16_t* const codes = lattice.codes;
  const __m512i low16 = Set(kLow16), base_mask = Set(trie::kMaxUnits - 1), low32 = Set(kLow32);
  static_assert(image::kFailBaseMask >= trie::kMaxUnits - 1);
  Visit* visit = lattice.visits;
  // State of each group: the base where lanes go on from, at << 32 | code, the place of the unit that would
  // lead on and the unit there, which is loaded while other groups work.
  __m512i base[kGroups], next[kGroups], place[kGroups], unit[kGroups];
  uint32_t live[kGroups];
  uint32_t last[kGroups] = {};  // where visits of the group end
  uint32_t started = 0;
  const auto begin = [&](uint32_t g, uint32_t lanes) RANKFEED_GATHER {
    const uint32_t left = starts - started;
    const uint32_t begun = left < kGatherLanes ? _pdep_u32((1u << left) - 1, lanes) : lanes;
    const auto mask = static_cast<__mmask8>(begun);
    base[g] = _mm512_mask_expandloadu_epi64(base[g], mask, lattice.start_bases + started);
    next[g] = _mm512_mask_expandloadu_epi64(next[g], mask, lattice.start_visits + started);
    started += static_cast<uint32_t>(std::popcount(begun));
    live[g] |= begun;
  };
  const auto load = [&](uint32_t g) RANKFEED_GATHER {
    place[g] = _mm512_add_epi64(base[g], _mm512_and_si512(next[g], low16));
    unit[g] = Gather(units, place[g]);
  };
  uint32_t groups = 0;
  for (uint32_t g = 0; g < kGroups; ++g) {
    base[g] = next[g] = _mm512_setzero_si512();
    live[g] = 0;
    if (started == starts) continue;
    begin(g, 0xff);
    load(g);
    ++groups;
  }
  uint32_t apart = ~uint32_t{0};
  uint32_t rounds = MostSteps(count != 0 ? spans[count - 1].end : 0);
  for (; groups != 0 && rounds != 0; --rounds) {
#pragma GCC unroll 4
    for (uint32_t g = 0; g < kGroups; ++g) {
      if (live[g] == 0) continue;
      const __mmask8 leads_on = _mm512_mask_testn_epi64_mask(static_cast<__mmask8>(live[g]),
                                                             _mm512_xor_si512(unit[g], next[g]), low16);
      // Two visits of a sequence are of the same group, so they are apart if those of a group are.
      const auto here = static_cast<uint32_t>(visit - lattice.visits);
      if ((last[g] - 1) / kGatherLanes == here / kGatherLanes) apart = std::min(apart, here);
      _mm512_storeu_si512(visit,
                          _mm512_maskz_compress_epi64(
                              leads_on, _mm512_or_si512(_mm512_andnot_si512(low32, next[g]), place[g])));
      last[g] = here + static_cast<uint32_t>(std::popcount(leads_on));
      visit = lattice.visits + last[g];
      // A fail is read with the one after it, which bases have none of.
      base[g] = _mm512_and_si512(
          _mm512_mask_i64gather_epi64(_mm512_srli_epi64(unit[g], 16), static_cast<__mmask8>(~leads_on),
                                      base[g], fails, sizeof(uint32_t)),
          base_mask);
      next[g] = _mm512_mask_add_epi64(next[g], leads_on, next[g], Set(uint64_t{1} << 32));
      const __m512i code = _mm512_mask_i64gather_epi64(
          _mm512_setzero_si512(), leads_on, _mm512_srli_epi64(next[g], 32), codes, sizeof(uint16_t));
      next[g] = _mm512_mask_or_epi64(next[g], leads_on, _mm512_andnot_si512(low32, next[g]),
                                     _mm512_and_si512(code, low16));
      const uint32_t ended = _mm512_mask_testn_epi64_mask(leads_on, code, low16);
      live[g] &= ~ended;
      if (started != starts) begin(g, ended);
      if (live[g] == 0) --groups;
      load(g);
    }
  }
  const auto visits = static_cast<uint32_t>(visit - lattice.visits);
  return {visits, std::min(apart, visits) & ~(kGatherLanes - 1)};
}

// Relax of kernels.cc.
RANKFEED_GATHER void RelaxIndependent(const Lattice& lattice, uint32_t count) {
  const auto* const states = reinterpret_cast<const uint64_t*>(lattice.states);
  static_assert(sizeof(image::AutomatonState) == 2 * sizeof(uint64_t));
  const uint64_t* const edges = lattice.edges;
  const __m512i low32 = Set(kLow32);
  // From the node as many characters back as the longest piece has; the low bits of an edge count
  // on.
  const uint64_t* const sums = lattice.sum - (Lattice::kMaxChars - 1);
  // The edges of eight visits are fetched while those before them are summed.
  struct Edges {
    __m512i at, longest, rest, second, third;
  };
  const auto fetch = [=](uint32_t i) RANKFEED_GATHER {
    const __m512i visits = Load(lattice.visits + i);
    const __m512i state = _mm512_slli_epi64(_mm512_and_si512(visits, low32), 1);
    const __m512i rest = Gather(states + 1, state), more = _mm512_and_si512(rest, low32);
    return Edges{_mm512_srli_epi64(visits, 32), Gather(states, state), rest, Gather(edges, more),
                 Gather(edges + 1, more)};
  };
  Edges ahead = fetch(0);
  for (uint32_t i = 0; i < count; i += kGatherLanes) {
    for (uint32_t k = 0; k < kGatherLanes; ++k) {
      const Visit later = lattice.visits[i + Lattice::kPrefetchAhead + k];
      __builtin_prefetch(lattice.states + static_cast<uint32_t>(later));
    }
    const Edges now = ahead;
    if (i + kGatherLanes < count) ahead = fetch(i + kGatherLanes);
    const __m512i at = now.at;
    const auto sum = [sums, at](__m512i edge) RANKFEED_GATHER {
      const __m512i from = _mm512_add_epi64(at, _mm512_and_si512(edge, Set(15)));
      return _mm512_add_epi64(edge, Gather(sums, from));
    };
    const __m512i a = sum(now.longest), b = sum(now.second), c = sum(now.third);
    const __m512i less = _mm512_min_epu64(a, b);
    __m512i least = _mm512_min_epu64(less, c);
    __m512i next = _mm512_min_epu64(_mm512_max_epu64(less, c), _mm512_max_epu64(a, b));
    const __m512i edge_count = _mm512_srli_epi64(now.rest, 32);
    __m512i edge_at = _mm512_add_epi64(_mm512_and_si512(now.rest, low32), Set(2));
    __mmask8 left = _mm512_cmpgt_epu64_mask(edge_count, Set(3));
    for (uint64_t k = 4; left != 0 && k <= image::kMaxSegmentPieceChars; ++k) {
      const __m512i s = sum(
          _mm512_mask_i64gather_epi64(Set(image::kNoEdge), left, edge_at, edges, sizeof(uint64_t)));
      next = _mm512_mask_min_epu64(next, left, next, _mm512_max_epu64(least, s));
      least = _mm512_mask_min_epu64(least, left, least, s);
      edge_at = _mm512_add_epi64(edge_at, Set(1));
      left = _mm512_cmpgt_epu64_mask(edge_count, Set(k));
    }
    _mm512_i64scatter_epi64(lattice.sum + 1, at, _mm512_and_si512(least, Set(image::kEdgeCostMask)),
                            sizeof(uint64_t));
    const __m512i margin = _mm512_srli_epi64(_mm512_sub_epi64(next, least), image::kEdgeCostShift);
    _mm512_i64scatter_epi64(
        lattice.nodes + 1, at,
        _mm512_or_si512(_mm512_and_si512(least, low32), _mm512_slli_epi64(margin, 32)),
        sizeof(image::LatticeNode));
  }
}

namespace {
// Returns the bit widths of 64-bit values. In halves: as products, this of 512-bit vectors lowers
// the clock.
RANKFEED_GATHER inline __m512i BitWidth(__m512i values) {
  const __m256i low = _mm256_lzcnt_epi64(_mm512_castsi512_si256(values));
  const __m256i high = _mm256_lzcnt_epi64(_mm512_extracti64x4_epi64(values, 1));
  return _mm512_sub_epi64(Set(64), _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

// ExactnessRule::Make, without the count.
RANKFEED_GATHER inline __m512i LimitAndBound(const ExactnessRule& rule, __m512i total,
                                             __m512i margin, __m512i steps, __m512i chars) {
  __m512i weight = total;
  if (rule.rebased()) {
    // Times kBoundFactor, without a product.
    static_assert(ExactnessRule::kBoundFactor == 64 + 16 + 4 + 1);
    weight = _mm512_add_epi64(
        _mm512_add_epi64(weight, _mm512_slli_epi64(total, 2)),
        _mm512_add_epi64(_mm512_slli_epi64(total, 4), _mm512_slli_epi64(total, 6)));
  }
  const int shift = rule.bound_exponent();
  weight = shift <= 0 ? _mm512_srl_epi64(weight, _mm_cvtsi32_si128(-shift))
                      : _mm512_sll_epi64(weight, _mm_cvtsi32_si128(shift));
  weight = _mm512_add_epi64(weight, Set(3));
  const __mmask8 heavy = _mm512_cmpgt_epu64_mask(chars, Set(rule.free_chars()));
  if (heavy != 0) [[unlikely]] {
    const __m512i more = _mm512_sub_epi64(chars, Set(rule.free_chars()));
    weight = _mm512_mask_add_epi64(weight, heavy, weight,
                                   _mm512_mul_epu32(more, Set(rule.char_bound())));
  }
  const __mmask8 light = _mm512_cmplt_epu64_mask(weight, Set(ExactnessRule::kMaxScoreBound)) &
                         _mm512_cmplt_epu64_mask(total, Set(uint64_t{1} << 36));
  weight = _mm512_mask_mov_epi64(Set(ExactnessRule::kMaxScoreBound), light, weight);
  const __m512i terms = _mm512_add_epi64(steps, chars);
  const __m512i half = _mm512_srli_epi64(_mm512_add_epi64(terms, Set(1)), 1);
  const __mmask8 holds = _mm512_mask_cmpgt_epu64_mask(light, margin, half);
  __m512i limit = Set(ExactnessRule::kAlways);
  if (rule.goes_on()) {
    limit = _mm512_sub_epi64(BitWidth(_mm512_sub_epi64(margin, half)), BitWidth(terms));
    limit = _mm512_add_epi64(limit, _mm512_set1_epi64(rule.margin_exponent()));
    limit = _mm512_max_epi64(limit, _mm512_setzero_si512());
    limit = _mm512_min_epi64(limit, Set(rule.greatest_exact_below()));
  }
  limit = _mm512_maskz_mov_epi64(holds, limit);
  return _mm512_or_si512(_mm512_slli_epi64(limit, 8), _mm512_slli_epi64(weight, 16));
}

}  // namespace

// Trace of kernels.cc, sixteen spans at a time: one step waits for the one before it.
RANKFEED_GATHER void Trace(const Lattice& lattice, const ExactnessRule& rule, const Span* spans,
                           uint32_t count, Path* paths) {
  constexpr uint32_t kVectors = 2, kTogether = kVectors * kGatherLanes;
  const auto* const nodes = reinterpret_cast<const uint64_t*>(lattice.nodes);
  static_assert(sizeof(image::LatticeNode) == sizeof(uint64_t));
  for (uint32_t k = 0; k < count; k += kTogether) {
    alignas(64) uint64_t begins[kTogether] = {}, ends[kTogether] = {}, packed[kTogether];
    const uint32_t here = std::min(count - k, kTogether);
    for (uint32_t i = 0; i < here; ++i) {
      begins[i] = spans[k + i].begin;
      ends[i] = spans[k + i].end;
    }
    __m512i begin[kVectors], node[kVectors], first[kVectors], margin[kVectors], greatest[kVectors];
    __mmask8 live[kVectors];
    for (uint32_t v = 0; v < kVectors; ++v) {
      begin[v] = Load(begins + v * kGatherLanes);
      node[v] = first[v] = Load(ends + v * kGatherLanes);
      margin[v] = Set(rule.most_margin());
      greatest[v] = _mm512_setzero_si512();
      live[v] = _mm512_cmpgt_epu64_mask(node[v], begin[v]);
    }
    while ((live[0] | live[1]) != 0) {
#pragma GCC unroll 2
      for (uint32_t v = 0; v < kVectors; ++v) {
        const __m512i at = Gather(nodes, node[v]);
        const __m512i id = _mm512_and_si512(_mm512_srli_epi64(at, 4), Set(kLow24));
        margin[v] = _mm512_mask_min_epu64(margin[v], live[v], margin[v], _mm512_srli_epi64(at, 32));
        greatest[v] = _mm512_mask_max_epu64(greatest[v], live[v], greatest[v], id);
        first[v] = _mm512_mask_sub_epi64(first[v], live[v], first[v], Set(1));
        _mm512_mask_i64scatter_epi32(lattice.ids, live[v], first[v], _mm512_cvtepi64_epi32(id),
                                     sizeof(int32_t));
        const __m512i chars =
            _mm512_sub_epi64(Set(Lattice::kMaxChars), _mm512_and_si512(at, Set(15)));
        node[v] = _mm512_mask_sub_epi64(node[v], live[v], node[v], chars);
        live[v] = _mm512_cmpgt_epu64_mask(node[v], begin[v]);
      }
    }
    __mmask8 unknown[kVectors];
    for (uint32_t v = 0; v < kVectors; ++v) {
      const __m512i end = Load(ends + v * kGatherLanes);
      const __m512i steps = _mm512_sub_epi64(end, first[v]);
      const __m512i total = _mm512_srli_epi64(Gather(lattice.sum, end), image::kEdgeCostShift);
      __m512i info = LimitAndBound(rule, total, margin[v], steps, _mm512_sub_epi64(end, begin[v]));
      info = _mm512_or_si512(info, _mm512_min_epu64(steps, Set(255)));
      const __m512i first_and_count = _mm512_or_si512(first[v], _mm512_slli_epi64(steps, 16));
      _mm512_store_si512(packed + v * kGatherLanes,
                         _mm512_or_si512(first_and_count, _mm512_slli_epi64(info, 32)));
      unknown[v] = _mm512_cmpge_epu64_mask(greatest[v], Set(image::kEdgeLiteral));
    }
    static_assert(offsetof(Path, count) == 2 && offsetof(Path, info) == 4);
    for (uint32_t i = 0; i < here; ++i) {
      std::memcpy(&paths[k + i], &packed[i], sizeof(uint64_t));
      paths[k + i].flags = 0;
    }
    for (uint32_t left = unknown[0] | unknown[1] << kGatherLanes; left != 0; left &= left - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(left));
      FuseUnknown(lattice, spans[k + i].end, &paths[k + i]);
    }
  }
}

RANKFEED_GATHER uint32_t LookUpSpans(const SpanTable& table, const SpanList& run, Found* found,
                                     uint16_t* searches) {
  const auto* const parts = reinterpret_cast<const uint64_t*>(table.entries);
  static_assert(sizeof(image::SpanEntry) == 2 * sizeof(uint64_t));
  const __m512i low32 = Set(0xffffffff);
  uint32_t search_count = 0;
  for (uint32_t i = 0; i < run.count; i += kGatherLanes) {
    const __m256i begin = Widen(run.begins + i);
    const __m256i size = _mm256_sub_epi32(Widen(run.begins + i + 1), begin);
    const uint32_t lanes = _bzhi_u32(0xff, std::min(run.count - i, kGatherLanes));
    // Beyond the last part there is no place of a code.
    const __m256i both = _mm256_mmask_i32gather_epi32(
        _mm256_setzero_si256(), static_cast<__mmask8>(lanes), begin, run.codes, 2);
    const __mmask8 one = _mm256_cmpeq_epi32_mask(size, _mm256_set1_epi32(1));
    const __m256i code = _mm256_and_si256(both, _mm256_set1_epi32(0xffff));
    const __m256i key = _mm256_mask_mov_epi32(both, one, code);
    // image::SpanHash
    const __m256i hash = _mm256_srl_epi32(
        _mm256_mullo_epi32(key, _mm256_set1_epi32(static_cast<int32_t>(image::kPairFactor))),
        _mm_cvtsi32_si128(static_cast<int32_t>(32 - table.bits)));
    const __m256i twos = _mm256_set1_epi32(static_cast<int32_t>(table.code_count + 1));
    __m256i place = _mm256_add_epi32(twos, _mm256_slli_epi32(hash, 1));
    place = _mm256_mask_mov_epi32(place, one, code);
    __m512i at = _mm512_slli_epi64(_mm512_cvtepu32_epi64(place), 1);
    const __m512i keys = _mm512_cvtepu32_epi64(key);
    const __mmask8 second =
        _mm512_cmpeq_epi64_mask(_mm512_and_si512(Gather(parts + 2, at), low32), keys);
    at = _mm512_mask_add_epi64(at, second, at, Set(2));
    const __m512i codes_and_id = Gather(parts, at), id_and_info = Gather(parts + 1, at);
    const __mmask8 equal = _mm512_cmpeq_epi64_mask(_mm512_and_si512(codes_and_id, low32), keys) &
                           _mm256_cmple_epu32_mask(size, _mm256_set1_epi32(2));
    StorePairs(
        _mm512_add_epi64(Set(reinterpret_cast<uintptr_t>(parts) + offsetof(image::SpanEntry, ids)),
                         _mm512_slli_epi64(at, 3)),
        id_and_info, found + i);
    const auto lacks = static_cast<__mmask8>(~uint32_t{equal} & lanes);
    Append(lacks, i, searches + search_count);
    search_count += static_cast<uint32_t>(std::popcount(lacks));
  }
  return search_count;
}

}  // namespace rankfeed::unigram::avx512

#endif  // HWY_ARCH_X86
