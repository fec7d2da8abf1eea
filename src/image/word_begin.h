// SPDX-License-Identifier: MIT
// image/word_begin.h: what kWordBegins holds, from the automaton: written by the builder, compared
// by the verifier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "image/format.h"
#include "trie/double_array.h"

namespace rankfeed::image {

struct WordAutomaton {
  std::span<const trie::Unit> units;
  std::span<const trie::Unit> fails;
  std::span<const WordState> states;
  uint32_t root_base;
};

// A search over one code or two. No code has more edges than a state holds itself.
inline WordBegin BeginWith(const WordAutomaton& automaton, uint32_t first, uint32_t second = 0) {
  WordBegin begin{trie::MakeUnit(0, automaton.root_base, automaton.root_base), 0, {}};
  uint64_t sums[3] = {};  // by node
  const uint32_t codes[2] = {first, second};
  for (uint32_t read = 0; read < 2 && codes[read] != 0; ++read) {
    uint32_t state;
    for (;;) {
      state = trie::Base(begin.unit) + codes[read];
      if (trie::Label(automaton.units[state]) == codes[read]) break;
      begin.unit = automaton.fails[trie::Value(begin.unit)];
    }
    begin.unit = automaton.units[state];
    uint64_t least = ~uint64_t{0}, next = ~uint64_t{0};
    for (const uint64_t edge : automaton.states[state].edge) {
      if (EdgeChars(edge) > read + 1) continue;  // of no state there
      const uint64_t sum = edge + sums[read + 1 - EdgeChars(edge)];
      next = std::min(next, std::max(least, sum));
      least = std::min(least, sum);
    }
    begin.sum = sums[read + 1] = least & kEdgeCostMask;
    begin.node = {static_cast<uint32_t>(least),
                  static_cast<uint32_t>((next - least) >> kEdgeCostShift)};
  }
  return begin;
}

}  // namespace rankfeed::image
