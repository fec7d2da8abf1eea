// SPDX-License-Identifier: MIT
// builder/trie/double_array_build.h: write side of trie/double_array.h.
//
// The keys' prefix tree is laid out node by node, one group of codes after the other and heaviest
// subtree first, so that the part of the array an encoder walks for ordinary text is small and
// contiguous. A node takes the first base at which all its children fall on free units and which no
// other node has taken, next to its own unit if it has few; nodes of one child fill the holes that
// wide nodes of their group leave.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trie/double_array.h"

namespace rankfeed::builder {

struct TrieKey {
  std::span<const uint16_t> codes;  // not empty; each in [1, code_count)
  uint32_t value;                   // below trie::kNoValue
  uint64_t weight;                  // how hot the key is; only affects the layout
};

// Units over keys, which must be distinct and sorted by codes (std::invalid_argument otherwise).
// groups: by code, from 0 in the order they are laid out in; empty for one group. A node is of its
// last code's.
// Postconditions: no two nodes share a base, leaves have base 0 and no other node has, base +
// code_count <= size for every unit, and after the root's base only its children lie, one for each
// code at most. Throws BuildError(LIMIT) when the units exceed trie::kMaxUnits. Deterministic. About
// 0.2 s for 250,000 keys, and 40 bytes of memory for each node.
std::vector<trie::Unit> BuildDoubleArray(std::vector<TrieKey> keys, uint32_t code_count,
                                         std::span<const uint16_t> groups = {});

}  // namespace rankfeed::builder
