// SPDX-License-Identifier: MIT
// builder/models/unigram/pruning.h: which pieces that end in a state of the automaton a search must look at.
//
// A state stands for a string x that the text ends with. Let p and r be two pieces that x ends
// with, and i and j the places of x where they begin. Whatever came before x, p cannot be the last
// piece of a best path if the path through r is better for every way of reaching i and j:
//
//   best[i] - best[j] + cost(p) - cost(r) >= lead
//
// For i before j, best[j] <= best[i] + reach(i, j), the best path over the characters of x between
// them. For i after j, the best path to i either passes j, and then costs reach(j, i) at least, or
// some piece q spans j and ends at e, j < e <= i. The path passes where q begins, from where j can
// be reached too, so it costs at least cost(q) + reach(e, i) more than best[j] less what that
// takes. The q that begin inside x are known; of those that begin before it the least such
// difference is kept for every beginning x[0, e) of x, and those are states as well.
//
// All in the integer costs of the lattice, so bounds are exact. A search that leaves those pieces
// out finds the same best paths, and runner-ups no closer than they are or than `lead`. In
// XLM-R 2.9 pieces end at a character of an English word that is searched, and about two are left.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "image/format.h"

namespace rankfeed::builder {

// The states of an automaton; 0 is the root.
struct PieceStates {
  std::span<const uint32_t> order;   // all but the root and unused ones, by characters
  std::span<const uint8_t> depth;    // characters
  std::span<const uint32_t> parent;  // without the last character
  std::span<const uint32_t> suffix;  // the longest proper suffix that is a state
  std::span<const uint64_t> own;     // the edge of the piece that the state spells, 0 if none
};

class Pruner {
 public:
  static constexpr uint32_t kMaxChars = image::kMaxSegmentPieceChars;

  // lead: in cost units. Every state of one character must have an edge of its own. O(states) time,
  // times the square of the longest piece, and O(states) memory, times the longest piece.
  Pruner(const PieceStates& states, int32_t lead);

  // Writes the pieces at the end of state that are left, longest first; returns how many, at
  // least 1. All calls together compare a bounded number of paths for each call; states beyond that
  // keep all pieces, which makes searches slower and changes no path.
  uint32_t Keep(uint32_t state, std::array<uint32_t, kMaxChars>* pieces);

 private:
  using Prefixes = std::array<uint32_t, kMaxChars + 1>;  // by characters

  int32_t Cost(uint32_t piece) const {
    return static_cast<int32_t>(image::EdgeCost(states_.own[piece]));
  }
  Prefixes PrefixesOf(uint32_t state) const;
  int32_t Reach(const Prefixes& prefix, uint32_t begin, uint32_t end) const {
    return begin == end ? 0 : reach_[row_[prefix[end]] + begin];
  }
  int32_t LeastDifference(const Prefixes& prefix, uint32_t from, uint32_t to);
  void FindReach();
  void FindCrossing();

  // Published vocabularies compare at most 21 paths for a state.
  static constexpr uint64_t kPathsAtStart = 1 << 22, kPathsForState = 32;

  const PieceStates states_;
  const int32_t lead_;
  std::vector<uint32_t> piece_;  // the longest suffix, the state included, that is one; 0: none
  // Begins of the states' rows; a row has an element for each character of its state.
  std::vector<uint32_t> row_;
  std::vector<int32_t> reach_;  // by state x and place i: the best path from x[i] to the end of x
  // Excess costs by state x and k: the least that the end of x costs more than the place k + 1
  // characters before it, when the path to it ends in a piece that is longer than x.
  std::vector<int32_t> cross_;
  uint64_t paths_left_ = kPathsAtStart;
};

}  // namespace rankfeed::builder
