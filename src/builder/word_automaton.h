// SPDX-License-Identifier: MIT
// builder/word_automaton.h: the pieces as an Aho-Corasick automaton with the lattice's edges, for
// the search of words/stream.h.
//
// Aho and Corasick (1975): each state is a beginning of some piece; `fail` leads to the longest
// proper suffix of it that is one too. The pieces that end at a place of a text are those on the
// way along `fail` from the state there. A state holds the two longest of them itself, so that most
// characters of a text cost one cache line; the others are a list, and lists that end alike share
// their memory: a suffix's list is the end of its extension's list.
// Cost: O(states * longest piece) time, some 24 bytes a state besides the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "image/model.h"

namespace rankfeed::builder {

struct Automaton {
  std::vector<image::WordState> states;
  std::vector<uint32_t> fails;
  std::vector<uint64_t> edges;
  uint32_t root_base = 0;
  double cost_unit = 0;
};

// parent: of each unit of model.pieces, 0 for the root's children. No states when the vocabulary
// does not fit.
Automaton BuildAutomaton(const Model& model, std::span<const uint32_t> parent);

}  // namespace rankfeed::builder
