// SPDX-License-Identifier: MIT
// segment/kernels/search.cc: see kernels.h. Compiled once per Highway target.
#include "segment/kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "simd/fast_gathers.h"
#include "base/utf8.h"

// These loops have no use for wider vectors, and GCC 12 spills general registers to vector
// registers in AVX-512 functions: 15 % slower than the AVX2 ones on the same CPU (bench/NOTES.md).
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "segment/kernels/search.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rankfeed::segment {
namespace HWY_NAMESPACE {

// Characters of three bytes from kFirst up to kEnd, as long as each is one code and begins before
// end. Reads four bytes from there. *codes and *previous, the CharInfo of the last, are moved on;
// returns where it stopped.
template <uint32_t kFirst, uint32_t kEnd>
HWY_INLINE const char* DecodeThree(const uint32_t* basic, const char* text, const char* end,
                                   uint16_t** codes, uint32_t* previous) {
  uint32_t last = *previous;
  uint16_t* out = *codes;
  for (; text < end; text += 3) {
    // Not overlong (E0 80..9F). Surrogates are no plain code.
    const uint32_t word = LoadThree(text), c = CodePointOfThree(word);
    const uint32_t info = basic[c];
    if (!IsThree(word) || c - kFirst >= kEnd - kFirst || !Follows(info, last)) break;
    *out++ = static_cast<uint16_t>(info);
    last = info;
  }
  *codes = out;
  *previous = last;
  return text;
}

const char* Run(const char* text, RunDecode* to) {
  const char* const end = to->readable;
  const uint32_t* const basic = to->basic;
  // To the next place where a part is long enough, and from there on one by one.
  while (text < end && to->size < to->size_limit) {
    const uint32_t most =
        std::min(std::max(to->size, to->open() + RunDecode::kCutFrom), to->size_limit);
    if (to->size < most) {
      const ptrdiff_t room = ptrdiff_t{3} * (most - to->size);
      const char* const stop = text + std::min<ptrdiff_t>(end - text, room);
      uint16_t* out = to->codes + to->size;
      text = DecodeThree<0x800, image::kFirstCjk>(basic, text, stop, &out, &to->previous);
      to->size = static_cast<uint32_t>(out - to->codes);
      if (text >= stop) continue;
      if (!AppendExpansion(text, to)) return text;
      text += 3;
      continue;
    }
    uint16_t code;
    uint16_t* out = &code;
    uint32_t info = to->previous;
    if (DecodeThree<0x800, image::kFirstCjk>(basic, text, text + 1, &out, &info) == text) {
      if (!AppendExpansion(text, to)) return text;
      text += 3;
      continue;
    }
    const uint16_t last_code = to->codes[to->size - 1];
    if ((info & image::kCharMarks) == 0 &&
        Cuttable(to->pairs, last_code, to->previous, info)) {
      to->Cut(text);
    }
    to->codes[to->size++] = code;
    to->previous = info;
    text += 3;
  }
  return text;
}

// In Chinese two of three neighbours share no piece; which ones follows no pattern, so there is no
// branch on it.
const char* DecodeCjk(const char* text, RunDecode* to) {
  if (text >= to->readable) return text;
  const uint16_t* const plain = to->plain;
  uint16_t *const codes = to->codes, *begin = to->begins + to->count;
  uint32_t size = to->size, open = to->open();
  uint32_t some = size != open;  // characters in the open part
  uint32_t last = some ? codes[size - 1] : 0;
  const ptrdiff_t room = ptrdiff_t{3} * (to->size_limit - size);
  const char* const stop = text + std::min(to->readable - text, room);
  for (; text < stop; text += 3) {
    const uint32_t word = LoadThree(text), c = CodePointOfThree(word), code = plain[c];
    if (!IsThree(word) || c < image::kFirstCjk || code == 0) break;
    const uint32_t cut = some & ~uint32_t{image::Spanned(to->pairs, last, code)};
    *begin = static_cast<uint16_t>(open);
    begin += cut;
    open += (size - open) & (0 - cut);
    codes[size++] = static_cast<uint16_t>(code);
    last = code;
    some = 1;
  }
  *begin = static_cast<uint16_t>(open);
  if (size == to->size) return text;
  to->previous = to->basic[CodePointOfThree(LoadThree(text - 3))];
  const auto count = static_cast<uint32_t>(begin - to->begins);
  if (count != to->count) to->resume = text - ptrdiff_t{3} * (size - open);
  to->count = count;
  to->size = size;
  return text;
}

uint32_t LookUpSpans(const SpanTable& table, const RunDecode& run, Found* found,
                   uint16_t* searches) {
  constexpr uint32_t kTogether = 64;
  uint32_t places[kTogether], keys[kTogether];
  const image::SpanEntry* const parts = table.parts;
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
      __builtin_prefetch(parts + places[k]);
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

// Characters that are one code wherever they stand.
constexpr uint32_t kPlain =
    image::kCharCodeMask | image::kCharBases | image::kCharNoBoundary | image::kCharUnknown;

// Several characters at a time, with the first again in the place of what is missing in the last
// group: how long a segment is follows no pattern that a branch predictor could learn. Returns the
// count of codes, 0 if some character is not one.
HWY_INLINE uint32_t DecodeOnes(const uint32_t* basic, const uint64_t (&key)[3],
                               const uint64_t (&mask)[3], uint32_t size, uint16_t* out) {
  const uint64_t fill = 0x0101010101010101 * (key[0] & 0xff);
  uint8_t bytes[24];
  for (int i = 0; i < 3; ++i) {
    const uint64_t filled = key[i] | (fill & ~mask[i]);
    std::memcpy(bytes + 8 * i, &filled, sizeof(filled));
  }
  uint32_t flags = 0;
  for (uint32_t i = 0; i < size; i += 8) {
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t info = basic[bytes[i + k]];
      flags |= info;
      out[i + k] = static_cast<uint16_t>(info);
    }
  }
  return (flags & ~kPlain) == 0 ? size : 0;
}

HWY_INLINE uint32_t DecodeTwos(const uint32_t* basic, const uint64_t (&key)[3],
                               const uint64_t (&mask)[3], uint32_t size, uint16_t* out) {
  const uint64_t fill = 0x0001000100010001 * (key[0] & 0xffff);
  uint32_t flags = 0;
  for (uint32_t i = 0; 2 * i < size; i += 4) {
    const uint64_t filled = key[i / 4] | (fill & ~mask[i / 4]);
    for (uint32_t k = 0; k < 4; ++k) {
      const auto two = static_cast<uint32_t>(filled >> 16 * k);
      const uint32_t c = (two & 0x1f) << 6 | (two >> 8 & 0x3f);
      const uint32_t info = basic[c];
      flags |= info | (c < 0x80 ? ~uint32_t{0} : 0);  // overlong
      out[i + k] = static_cast<uint16_t>(info);
    }
  }
  return (flags & ~kPlain) == 0 ? size / 2 : 0;
}

uint32_t DecodeMixed(const uint32_t* basic, const char* bytes, uint32_t size, uint16_t* out) {
  uint32_t previous = 0;
  uint16_t* to = out;
  size_t pos = static_cast<size_t>(
      DecodeThree<0x800, 0x10000>(basic, bytes, bytes + size, &to, &previous) - bytes);
  while (pos < size) {
    const utf8::Decoded c = utf8::Decode({bytes, size}, pos);
    if (!c.valid || c.size > 3) return 0;
    const uint32_t info = basic[c.code_point];
    if (!Follows(info, previous)) return 0;
    *to++ = static_cast<uint16_t>(info);
    previous = info;
    pos += c.size;
  }
  return static_cast<uint32_t>(to - out);
}

uint32_t DecodeShort(const Segments& segments, const SegmentKey* keys, const uint16_t* misses,
                     uint32_t count, ShortDecode* to, Decoded* out) {
  constexpr uint64_t kHigh = 0x8080808080808080, kTwoMask = 0xc0e0c0e0c0e0c0e0,
                     kTwo = 0x80c080c080c080c0;
  uint32_t size = to->size, sequence = to->count, done = 0;
  for (; done < count && size < to->size_limit && sequence < to->count_limit; ++done) {
    const uint16_t i = misses[done];
    const bool word_start = segments.word_start(i);
    const uint32_t bytes = segments.size(i);
    if (bytes > ShortDecode::kMaxBytes) break;
    uint16_t* const codes = to->codes + size;
    codes[0] = to->space_code;
    const char* const begin = reinterpret_cast<const char*>(&keys[i]) + 1;
    uint64_t key[3], mask[3];
    std::memcpy(key, begin, sizeof(key));
    std::memcpy(mask, kKeyMasks.of[bytes] + 1, sizeof(mask));
    uint32_t codes_count;
    if (bytes > sizeof(key)) {
      codes_count = DecodeMixed(to->basic, begin, bytes, codes + word_start);
    } else if (((key[0] | key[1] | key[2]) & kHigh) == 0) {
      codes_count = DecodeOnes(to->basic, key, mask, bytes, codes + word_start);
    } else if ((((key[0] ^ kTwo) & kTwoMask & mask[0]) | ((key[1] ^ kTwo) & kTwoMask & mask[1]) |
                ((key[2] ^ kTwo) & kTwoMask & mask[2])) == 0 &&
               bytes % 2 == 0) {
      codes_count = DecodeTwos(to->basic, key, mask, bytes, codes + word_start);
      // With marks the order of its characters matters.
      if (codes_count == 0) {
        codes_count = DecodeMixed(to->basic, begin, bytes, codes + word_start);
      }
    } else {
      codes_count = DecodeMixed(to->basic, begin, bytes, codes + word_start);
    }
    if (codes_count == 0) break;
    out[done] = EndShort(*to, i, word_start, codes_count, &size, &sequence);
  }
  to->size = size;
  to->count = sequence;
  return done;
}

// One sequence of several that are read in turns, so that what one fetches arrives while the others
// work.
struct Lane {
  trie::Unit from;  // where to go on from
  Visit visit;      // of the next code, if there is such a state
};

// Reads the codes of all sequences in turns. Whether a code leads on or its lane has to try again
// from a shorter suffix follows no pattern, so there is no branch on it: both ways are computed and
// one is masked out.
Visits Walk(const Lattice& lattice, const Sequence* sequences, uint32_t count) {
  constexpr uint32_t kLanes = 16;
  const trie::Unit* const units = lattice.units;
  const trie::Unit* const fails = lattice.fails;
  const uint16_t* const codes = lattice.codes;
  Visit* visit = lattice.visits;
  const image::SearchStart* const pairs = lattice.begins + 2 * (size_t{lattice.code_count} + 1);
  Lane lanes[kLanes];
  const Sequence* const end = sequences + count;
  // The next sequence that has codes beyond those that searches begin with; false if there is none.
  const auto begin = [&](Lane* lane) {
    while (sequences != end) {
      const uint32_t at = sequences->begin;
      const bool mark = sequences->word_start;
      ++sequences;
      const auto node = [&lattice](uint32_t n, const image::SearchStart& is) {
        lattice.sum[n] = is.sum;
        lattice.nodes[n] = is.node;
      };
      lattice.sum[at] = 0;
      node(at + 1, lattice.begins[0]);
      uint32_t next = at + 1 + mark;
      const image::SearchStart* first =
          &lattice.begins[((lattice.code_count + 1) & (uint32_t{mark} - 1)) + codes[next - 1]];
      node(next, *first);
      const uint32_t c = codes[next - 1], d = codes[next];
      if (mark && (c | d) >> image::kStartBits == 0 && d != 0) {
        first = pairs + (c << image::kStartBits | d);
        node(++next, *first);
      }
      const uint32_t place = trie::Base(first->unit) + codes[next];
      *lane = {first->unit, Visit{next} << 32 | place};
      if (codes[next] != 0) return true;
    }
    return false;
  };
  const uint32_t most = MostSteps(count != 0 ? sequences[count - 1].end : 0);
  Lane* last = lanes;
  while (last != lanes + kLanes && begin(last)) ++last;
  for (uint32_t rounds = last != lanes ? most : 0; rounds != 0; --rounds) {
    for (Lane* lane = lanes; lane != last;) {
      const trie::Unit unit = units[static_cast<uint32_t>(lane->visit)];
      const uint64_t at = lane->visit >> 32;
      *visit = lane->visit;
      uint64_t is = trie::Label(unit) == codes[at];
      asm("" : "+r"(is));  // GCC 12 makes branches of what follows otherwise: a third slower
      visit += is;
      const uint64_t mask = -is;
      const trie::Unit shorter = fails[trie::Value(lane->from) & ~mask];
      const trie::Unit from = shorter ^ ((unit ^ shorter) & mask);
      const uint64_t next = at + is;
      const uint32_t code = codes[next];
      const uint32_t place = trie::Base(from) + code;
      __builtin_prefetch(units + place);
      *lane = {from, next << 32 | place};
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
  uint64_t least = sum(state.edge[0]), next = sum(state.edge[1]);
  Sort(&least, &next);
  const auto relax = [&](uint64_t s) {
    Sort(&least, &s);
    next = Min(next, s);
  };
  relax(sum(state.edge[2]));
  if (state.edge_count > 3) {
    const uint32_t edges = std::min(state.edge_count, image::kMaxSegmentPieceChars);
    for (uint32_t k = 3; k < edges; ++k) relax(sum(lattice.edges[state.more + k - 3]));
  }
  lattice.sum[at + 1] = least & image::kEdgeCostMask;
  lattice.nodes[at + 1] = {static_cast<uint32_t>(least),
                           static_cast<uint32_t>((next - least) >> image::kEdgeCostShift)};
}

// The best path to the end of a sequence, backwards.
HWY_INLINE PathResult TraceOne(const Lattice& lattice, const ExactnessRule& rule,
                              const Sequence& sequence) {
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
  PathResult result{static_cast<uint16_t>(first), static_cast<uint16_t>(steps),
                      rule.Make(lattice.sum[end] >> image::kEdgeCostShift, margin, steps,
                                static_cast<uint32_t>(end - begin)),
                      0};
  if (greatest >= image::kEdgeLiteral) [[unlikely]] MarkUnknown(lattice, end, &result);
  return result;
}

// Neighbours among the visits are of different sequences, so that no node waits for the one before
// it.
void Relax(const Lattice& lattice, uint32_t begin, uint32_t end) {
  for (const Visit *visit = lattice.visits + begin, *last = lattice.visits + end; visit != last;
       ++visit) {
    __builtin_prefetch(lattice.states + static_cast<uint32_t>(visit[Lattice::kAhead]));
    RelaxOne(lattice, *visit);
  }
}

void Trace(const Lattice& lattice, const ExactnessRule& rule, const Sequence* sequences,
           uint32_t count, PathResult* results) {
  for (uint32_t k = 0; k < count; ++k) results[k] = TraceOne(lattice, rule, sequences[k]);
}

constexpr Kernels kKernels = {DecodeShort, Run,     DecodeCjk, LookUpSpans,
                              Walk,        nullptr, Relax,    Trace,
                              &kKernels};
const Kernels* Get() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::segment
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::segment {

HWY_EXPORT(Get);

Kernels DispatchKernels() {
  Kernels kernels = *HWY_DYNAMIC_DISPATCH(Get)();
#if HWY_ARCH_X86
  if (simd::FastGathers()) {
    UseGatheringDecode(&kernels);
    UseGatheringSearch(&kernels);
  }
#endif
  return kernels;
}

}  // namespace rankfeed::segment
#endif  // HWY_ONCE
