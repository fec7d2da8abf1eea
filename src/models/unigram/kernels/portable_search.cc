// SPDX-License-Identifier: MIT
// models/unigram/kernels/portable_search.cc: best paths of spans. Compiled once per Highway target.
#include <algorithm>
#include <bit>
#include <cstring>

// GCC 12 spills general registers to vector registers in AVX-512 functions: 15 % slower than the
// AVX2 ones on the same CPU (bench/NOTES.md).
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/unigram/kernels/portable_search.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include "models/unigram/kernels/loops.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::unigram {
namespace HWY_NAMESPACE {

uint32_t LookUpSpans(const SpanTable& table, const SpanList& run, Found* found,
                     uint16_t* searches) {
  constexpr uint32_t kTogether = 64;
  uint32_t places[kTogether], keys[kTogether];
  const image::SpanEntry* const parts = table.entries;
  const uint32_t twos = table.code_count + 1, bits = table.bits;
  uint32_t search_count = 0;
  for (uint32_t first = 0; first < run.count; first += kTogether) {
    const uint32_t count = std::min(run.count - first, kTogether);
    const uint16_t *const begins = run.begins + first, *const codes = run.codes;
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t size = uint32_t{begins[k + 1]} - begins[k];
      uint32_t both;
      std::memcpy(&both, codes + begins[k], sizeof(both));
      uint32_t one = 0u - (size == 1);
      asm("" : "+r"(one));  // GCC 12 makes branches of what follows otherwise
      const uint32_t key = both & ~(one << 16);
      const uint32_t bucket = twos + 2 * image::SpanHash(key, bits);
      places[k] = bucket ^ ((bucket ^ key) & one);
      keys[k] = key | (size > 2 ? ~uint32_t{0} : 0);
    }
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t key = keys[k];
      const image::SpanEntry* part = parts + places[k];
      part += part[1].codes == key;
      found[first + k] = {reinterpret_cast<const int32_t*>(part->ids), 0, part->info};
      searches[search_count] = static_cast<uint16_t>(first + k);
      search_count += part->codes != key;
    }
  }
  return search_count;
}

// One sequence of several that are read in turns, so that what one fetches arrives while the others
// work.
struct Lane {
  uint64_t base;  // of the state to go on from
  Visit visit;    // of the next code, if there is such a state
};

// Reads the codes of all spans in turns. Whether a code leads on or its lane has to try again
// from a shorter suffix follows no pattern, so there is no branch on it: both ways are computed and
// one is masked out.
Visits Walk(const Lattice& lattice, const Span* spans, uint32_t count) {
  constexpr uint32_t kLanes = 16;
  const trie::Unit* const units = lattice.units;
  const uint32_t* const fails = lattice.fails;
  const uint16_t* const codes = lattice.codes;
  Visit* visit = lattice.visits;
  Lane lanes[kLanes];
  const Span* const end = spans + count;
  // The next sequence that has codes beyond those that searches begin with; false if there is none.
  const auto begin = [&](Lane* lane) {
    while (spans != end) {
      const uint32_t at = spans->begin;
      const bool mark = spans->word_start;
      ++spans;
      const auto node = [&lattice](uint32_t n, const image::SearchStart& start) {
        lattice.sum[n] = start.sum & image::kEdgeCostMask;
        lattice.nodes[n] = start.node();
      };
      lattice.sum[at] = 0;
      node(at + 1, lattice.starts[0]);
      const uint32_t next = at + 1 + mark;
      const image::SearchStart& first =
          lattice.starts[((lattice.code_count + 1) & (uint32_t{mark} - 1)) + codes[next - 1]];
      node(next, first);
      *lane = {first.base, Visit{next} << 32 | (first.base + codes[next])};
      if (codes[next] != 0) return true;
    }
    return false;
  };
  const uint32_t most = MostSteps(count != 0 ? spans[count - 1].end : 0);
  Lane* last = lanes;
  while (last != lanes + kLanes && begin(last)) ++last;
  for (uint32_t rounds = last != lanes ? most : 0; rounds != 0; --rounds) {
    for (Lane* lane = lanes; lane != last;) {
      const trie::Unit unit = units[static_cast<uint32_t>(lane->visit)];
      const uint64_t at = lane->visit >> 32;
      *visit = lane->visit;
      uint64_t leads_on = trie::Label(unit) == codes[at];
      asm("" : "+r"(leads_on));  // GCC 12 makes branches of what follows otherwise: a third slower
      visit += leads_on;
      const uint64_t mask = -leads_on;
      const uint64_t shorter = fails[lane->base & ~mask] & image::kFailBaseMask;
      const uint64_t base = shorter ^ ((trie::Base(unit) ^ shorter) & mask);
      const uint64_t next = at + leads_on;
      const uint32_t code = codes[next];
      const uint64_t place = base + code;
      __builtin_prefetch(units + place);
      *lane = {base, next << 32 | place};
      if (code == 0) [[unlikely]] {
        if (!begin(lane)) {
          *lane = *--last;
          if (last == lanes) rounds = 1;
          continue;
        }
      }
      ++lane;
    }
  }
  return {static_cast<uint32_t>(visit - lattice.visits), 0};
}

// Both of a and b in order. GCC 12 makes branches of std::min on sums, which are taken as often as
// not.
HWY_INLINE void Sort(uint64_t* a, uint64_t* b) {
#if defined(__x86_64__)
  uint64_t less = *a, more = *b;
  asm("cmp %3, %2\n\tcmovae %3, %0\n\tcmovae %2, %1"
      : "+&r"(less), "+&r"(more)
      : "r"(*a), "r"(*b)
      : "cc");
  *a = less, *b = more;
#else
  const uint64_t less = std::min(*a, *b);
  *b = std::max(*a, *b);
  *a = less;
#endif
}
HWY_INLINE uint64_t Min(uint64_t a, uint64_t b) {
#if defined(__x86_64__)
  asm("cmp %1, %0\n\tcmovae %1, %0" : "+r"(a) : "r"(b) : "cc");
  return a;
#else
  return std::min(a, b);
#endif
}

// The node after a code. Three edges are relaxed whether there are as many or not: void ones are
// above any sum.
HWY_INLINE void RelaxOne(const Lattice& lattice, Visit visit) {
  const image::AutomatonState& state = lattice.states[static_cast<uint32_t>(visit)];
  const uint64_t at = visit >> 32;
  // From the node as many characters back as the longest piece has; the low bits of an edge count
  // on.
  static_assert(image::MakeEdge(0, Lattice::kMaxChars, 0) == 0);
  const uint64_t* const from = lattice.sum + at - (Lattice::kMaxChars - 1);
  const auto sum = [from](uint64_t edge) { return edge + from[edge & 15]; };
  const uint64_t* const more = lattice.edges + state.more;
  uint64_t least = sum(state.edge), next = sum(more[0]);
  Sort(&least, &next);
  const auto relax = [&](uint64_t s) {
    Sort(&least, &s);
    next = Min(next, s);
  };
  relax(sum(more[1]));
  if (state.edge_count > 3) {
    const uint32_t edges = std::min(state.edge_count, image::kMaxSegmentPieceChars);
    for (uint32_t k = 3; k < edges; ++k) relax(sum(more[k - 1]));
  }
  lattice.sum[at + 1] = least & image::kEdgeCostMask;
  lattice.nodes[at + 1] = {static_cast<uint32_t>(least),
                           static_cast<uint32_t>((next - least) >> image::kEdgeCostShift)};
}

// The best path to the end of a sequence, backwards.
HWY_INLINE Path TraceOne(const Lattice& lattice, const ExactnessRule& rule, const Span& sequence) {
  const int32_t begin = sequence.begin, end = sequence.end;
  uint32_t margin = rule.most_margin(), greatest = 0;
  int32_t first = end;
  // Two tokens at a time, past the first too: how many there are follows no pattern that a branch
  // predictor could learn.
  for (int32_t node = end; node > begin;) {
    for (int k = 0; k < 2; ++k) {
      const uint32_t more = node > begin ? ~uint32_t{0} : 0;
      const image::LatticeNode at = lattice.nodes[node];
      const uint32_t id = image::EdgeId(at.last) & more;
      margin = std::min(margin, at.margin | ~more);
      greatest = std::max(greatest, id);
      lattice.ids[first - 1] = static_cast<int32_t>(id);
      first += static_cast<int32_t>(more);
      node -= static_cast<int32_t>(image::EdgeChars(at.last) & more);
    }
  }
  const auto steps = static_cast<uint32_t>(end - first);
  Path result{static_cast<uint16_t>(first), static_cast<uint16_t>(steps),
              rule.Make(lattice.sum[end] >> image::kEdgeCostShift, margin, steps,
                        static_cast<uint32_t>(end - begin)),
              0};
  if (greatest >= image::kEdgeLiteral) [[unlikely]]
    FuseUnknown(lattice, end, &result);
  return result;
}

// Neighbours among the visits are of different spans, so that no node waits for the one before
// it.
void Relax(const Lattice& lattice, uint32_t begin, uint32_t end) {
  for (const Visit *visit = lattice.visits + begin, *last = lattice.visits + end; visit != last;
       ++visit) {
    __builtin_prefetch(lattice.states + static_cast<uint32_t>(visit[Lattice::kPrefetchAhead]));
    RelaxOne(lattice, *visit);
  }
}

void Trace(const Lattice& lattice, const ExactnessRule& rule, const Span* spans, uint32_t count,
           Path* paths) {
  for (uint32_t k = 0; k < count; ++k) paths[k] = TraceOne(lattice, rule, spans[k]);
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::unigram
HWY_AFTER_NAMESPACE();
