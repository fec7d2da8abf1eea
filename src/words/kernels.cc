// SPDX-License-Identifier: MIT
// words/kernels.cc: see kernels.h. Compiled once per Highway target.
#include "words/kernels.h"

#include <algorithm>
#include <cstring>


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

void MakeKeys(const LookUpTables& tables, const char* text, size_t text_size,
              const Segment* segments, uint32_t count, WordKey* keys, uint64_t* hashes) {
  // A key is made of the 32 bytes from the one before the segment; near the ends of the text those
  // are read from a copy of its last bytes.
  constexpr size_t kLast = sizeof(WordKey) - 1;
  const size_t direct = text_size > kLast ? text_size - kLast : 0;
  char copy[3 * sizeof(WordKey)];
  const auto begin_of = [](const Segment& segment) { return segment.begin & ~Segment::kWordStart; };
  if (count != 0 && begin_of(segments[count - 1]) >= direct) {
    std::memset(copy, 0, sizeof(copy));
    std::memcpy(copy + 1, text + direct, text_size - direct);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t begin = begin_of(segments[i]);
    const uint32_t size = std::min(segments[i].end - begin, WordKey::kMaxBytes + 1);
    const uint32_t tag = WordKey::Tag(size, segments[i].begin != begin);
    const uint32_t bytes = std::min(size, WordKey::kMaxBytes);
    if (begin >= direct) {
      MakeKey(copy + 1 + (begin - direct), bytes, tag, &keys[i]);
    } else if (begin != 0) {
      MakeKey(text + begin, bytes, tag, &keys[i]);
    } else {
      keys[i] = WordKey::Make(text, bytes, tag);
    }
    const uint64_t hash = keys[i].Hash();
    hashes[i] = hash;
    __builtin_prefetch(tables.Bucket(hash));
  }
}

uint32_t Match(const LookUpTables& tables, const WordKey* keys, const uint64_t* hashes,
               uint32_t count, Found* found, uint16_t* misses) {
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

// Best and second best of the node that the edges of a state end in; best: of the node before it.
// Three edges are relaxed without a branch on how many there are: void ones are above any sum.
HWY_INLINE void Relax(const image::WordState& state, const uint64_t* more, uint64_t* best,
                      uint64_t* second) {
  const auto sum = [best](uint64_t edge) {
    return (best[-static_cast<int64_t>(edge >> 24 & 15)] & Lattice::kSumMask) + edge;
  };
  // The greater of two by what is left of them: GCC makes a branch of a min and a max, which is
  // taken as often as not.
  const uint64_t a = sum(state.edge[0]), b = sum(state.edge[1]);
  uint64_t least = std::min(a, b), next = a ^ b ^ least;
  const auto relax = [&](uint64_t s) {
    next = std::min(next, std::max(least, s));
    least = std::min(least, s);
  };
  relax(sum(more[0]));
  for (uint32_t k = 3; k < state.edge_count; ++k) relax(sum(more[k - 2]));
  best[1] = least;
  second[1] = next;
}

// One sequence of several that are searched in turns, so that what one fetches arrives while the
// others work.
struct Lane {
  uint64_t at;     // the code that led to the state
  uint64_t state;
  uint64_t place;  // where the next code leads, if there is such a state
  uint64_t fail;   // the base to try if there is not, or with kLater one whose fail to try
};
constexpr uint64_t kLater = uint64_t{1} << 32;

void Solve(const Lattice& lattice, const Sequence* sequences, uint32_t count) {
  constexpr uint32_t kLanes = 12;
  const image::WordState* const states = lattice.states;
  const uint16_t* const codes = lattice.codes;
  const uint32_t* const fails = lattice.fails;
  const uint64_t* const edges = lattice.edges;
  uint64_t *const best = lattice.best, *const second = lattice.second;
  const uint64_t root = lattice.root_base;
  Lane lanes[kLanes];
  const Sequence* const end = sequences + count;
  const auto enter = [&](Lane* lane, uint64_t state, uint64_t at) {
    const image::WordState& entered = states[state];
    const uint64_t place = uint64_t{entered.base} + codes[at + 1];
    __builtin_prefetch(states + place);
    __builtin_prefetch(edges + entered.more);
    lane->at = at;
    lane->state = state;
    lane->place = place;
    lane->fail = entered.fail;
  };
  const auto begin = [&](Lane* lane) {
    const uint64_t at = sequences++->begin;
    enter(lane, root + codes[at], at);
  };
  uint32_t live = 0;
  while (live < kLanes && sequences != end) begin(&lanes[live++]);
  while (live != 0) {
    for (uint32_t i = 0; i < live; ++i) {
      Lane& lane = lanes[i];
      const uint64_t at = lane.at, place = lane.place;
      const uint32_t code = codes[at + 1];
      if (code != 0 && states[place].label != code) {
        uint64_t fail = lane.fail;
        if ((fail & kLater) != 0) fail = fails[static_cast<uint32_t>(fail)] & image::kFailMask;
        __builtin_prefetch(states + fail + code);
        __builtin_prefetch(fails + fail);
        lane.place = fail + code;
        lane.fail = fail | kLater;
        continue;
      }
      const image::WordState& state = states[lane.state];
      Relax(state, edges + state.more, best + at, second + at);
      if (code != 0) {
        enter(&lane, place, at + 1);
      } else if (sequences != end) {
        begin(&lane);
      } else {
        lane = lanes[--live];
        --i;
      }
    }
  }
}

constexpr Kernels kKernels = {MakeKeys, Match, Solve};
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
