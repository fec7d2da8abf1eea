// SPDX-License-Identifier: MIT
// builder/models/unigram/automaton.h: the pieces as an Aho-Corasick automaton with the lattice's edges, for
// the search of models/unigram/search.h.
//
// Aho and Corasick (1975): each state is a beginning of some piece; `fail` leads to the longest
// proper suffix of it that is one too. The pieces that end at a place of a text are those on the
// way along `fail` from the state there; those that can be on a best path are the state's edges
// (pruning.h). A state holds the longest itself; the others are in lists, which many states share.
// Cost: O(states * longest piece) time, some 60 bytes a state besides the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "image/model.h"

namespace rankfeed::builder {

struct Automaton {
  std::vector<trie::Unit> units;  // the trie of pieces once more
  std::vector<image::AutomatonState> states;
  std::vector<uint32_t> fails;
  std::vector<uint64_t> edges;
  std::vector<image::SearchStart> starts;
  uint32_t root_base = 0;
  double cost_unit = 0;
};

// Whether the vocabulary fits and is dense enough that the work is worth its file's size
// (SECURITY.md, Time): published ones have two or three units for each piece. O(1).
bool AutomatonHasRoom(const Model& model);

// parent: of each unit of model.pieces, 0 for the root's children. The model must have room.
Automaton BuildAutomaton(const Model& model, std::span<const uint32_t> parent);

}  // namespace rankfeed::builder
