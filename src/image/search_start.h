// SPDX-License-Identifier: MIT
// image/search_start.h: what kSearchStarts holds, from the automaton: written by the builder,
// compared by the verifier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "image/format.h"
#include "trie/double_array.h"

namespace rankfeed::image {

struct Automaton {
  std::span<const trie::Unit> units;
  std::span<const uint32_t> fails;
  std::span<const AutomatonState> states;
  std::span<const uint64_t> edges;
  uint32_t root_base;
};

// A search over one or two codes.
inline SearchStart StartAfter(const Automaton& automaton, std::initializer_list<uint32_t> codes) {
  SearchStart start{0, automaton.root_base, 0};
  uint64_t sums[3] = {};  // by node
  uint32_t read = 0;
  for (const uint32_t code : codes) {
    uint32_t at = start.base + code;
    // So many fails at most lead to the root, where every code has a state.
    for (uint32_t left = kMaxSegmentPieceChars;
         trie::Label(automaton.units[at]) != code && left != 0; --left) {
      start.base = automaton.fails[start.base] & kFailBaseMask;
      at = start.base + code;
    }
    start.base = trie::Base(automaton.units[at]);
    const AutomatonState& state = automaton.states[at];
    uint64_t least = ~uint64_t{0}, next = ~uint64_t{0};
    for (const uint64_t edge :
         {state.edge, automaton.edges[state.more], automaton.edges[state.more + 1]}) {
      if (EdgeChars(edge) > read + 1) continue;  // of no state there
      const uint64_t sum = edge + sums[read + 1 - EdgeChars(edge)];
      next = std::min(next, std::max(least, sum));
      least = std::min(least, sum);
    }
    start.sum = least;
    sums[++read] = least & kEdgeCostMask;
    start.margin = static_cast<uint32_t>((next - least) >> kEdgeCostShift);
  }
  return start;
}

// All of kSearchStarts, in order; f(index, start).
template <class F>
void ForEachSearchStart(const Automaton& automaton, uint32_t code_count, uint32_t metaspace, F f) {
  f(0, StartAfter(automaton, {metaspace}));
  for (uint32_t code = 1; code <= code_count; ++code)
    f(code, StartAfter(automaton, {metaspace, code}));
  const uint32_t alone = code_count + 1;
  f(alone, SearchStart{});
  for (uint32_t code = 1; code <= code_count; ++code)
    f(alone + code, StartAfter(automaton, {code}));
}

}  // namespace rankfeed::image
