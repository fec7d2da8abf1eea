// SPDX-License-Identifier: MIT
// builder/fast/piece_neighbours.cc: see piece_neighbours.h.
#include "builder/fast/piece_neighbours.h"

#include <algorithm>

namespace rankfeed::builder {
namespace {

// Returns the parent of each unit. No two nodes share a base, so a child's place less its label
// names its parent.
std::vector<uint32_t> Parents(std::span<const trie::Unit> units) {
  std::vector<uint32_t> owner(units.size(), 0);
  for (uint32_t i = 1; i < units.size(); ++i) {
    if (trie::Label(units[i]) != trie::kEmptyLabel) owner[trie::Base(units[i])] = i;
  }
  owner[trie::Base(units[0])] = 0;
  std::vector<uint32_t> parent(units.size(), 0);
  for (uint32_t i = 1; i < units.size(); ++i) {
    const uint32_t code = trie::Label(units[i]);
    if (code != trie::kEmptyLabel) parent[i] = owner[i - code];
  }
  return parent;
}

template <class T>
void SortUnique(std::vector<T>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

}  // namespace

PieceNeighbours FindPieceNeighbours(const Model& model) {
  const std::span<const trie::Unit> units = model.pieces.units();
  PieceNeighbours found;
  found.parent = Parents(units);
  found.pairs.assign(image::kPairBits / 64, 0);
  found.code_point.assign(model.config->code_count, 0);
  for (char32_t cp = 0; cp < 0x110000; ++cp) {
    if (model.codes[cp] != 0) found.code_point[model.codes[cp]] = cp;
  }
  const uint32_t metaspace = model.codes[WordStart(model)];
  for (uint32_t i = 1; i < units.size(); ++i) {
    if (found.parent[i] == 0) continue;  // unused, or the first of a piece
    const uint32_t code = trie::Label(units[i]), before = trie::Label(units[found.parent[i]]);
    if (code == metaspace) found.metaspace_inside = true;
    const uint32_t bit = image::PairBit(before, code);
    found.pairs[bit / 64] |= uint64_t{1} << bit % 64;
    const char32_t a = found.code_point[before], b = found.code_point[code];
    if (MaybeCommon(a) || MaybeCommon(b)) found.around_ascii.emplace_back(a, b);
    if (std::max(a, b) >= image::kFirstCjk) {
      found.cjk.emplace_back(static_cast<uint16_t>(before), static_cast<uint16_t>(code));
    }
  }
  SortUnique(&found.around_ascii);
  SortUnique(&found.cjk);
  return found;
}

std::vector<uint32_t> PieceIds(const Model& model) {
  std::vector<uint32_t> ids;
  for (const trie::Unit unit : model.pieces.units()) {
    if (trie::Value(unit) != trie::kNoValue) ids.push_back(trie::Value(unit));
  }
  return ids;
}

bool IsPiece(const Model& model, char32_t cp) {
  return model.IsPieceCode(model.codes[cp]);
}

}  // namespace rankfeed::builder
