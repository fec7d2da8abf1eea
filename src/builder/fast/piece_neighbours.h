// SPDX-License-Identifier: MIT
// builder/fast/piece_neighbours.h: the trie of pieces read backwards: which characters stand next to
// each other in some piece, so that texts can be cut where none do.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "builder/fast/eligibility.h"
#include "image/model.h"

namespace rankfeed::builder {

// ASCII bytes that can be common ones (boundaries.h).
constexpr bool IsAsciiLetter(char32_t cp) {
  return (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z';
}
constexpr bool MaybeCommon(char32_t cp) {
  return cp > 0x20 && cp < 0x7f && !IsAsciiLetter(cp);
}

struct PieceNeighbours {
  std::vector<uint32_t> parent;      // of each unit of the trie, 0 for the root's children
  std::vector<char32_t> code_point;  // by code
  std::vector<uint64_t> pairs;       // kSpannedPairs
  // Neighbours one of which is MaybeCommon, and by their codes those one of which is from
  // image::kFirstCjk on. Sorted, each once.
  std::vector<std::pair<char32_t, char32_t>> around_ascii;
  std::vector<std::pair<uint16_t, uint16_t>> cjk;
  bool metaspace_inside = false;  // some piece has a U+2581 after its first character
};

// O(units * log units).
PieceNeighbours FindPieceNeighbours(const Model& model);

// The ids of the pieces of the trie. O(units).
std::vector<uint32_t> PieceIds(const Model& model);

// Whether the character is a piece of its own.
bool IsPiece(const Model& model, char32_t cp);

}  // namespace rankfeed::builder
