// SPDX-License-Identifier: MIT
// models/wordpiece/greedy.h: the pieces of one word in a WordPiece model (tokenizers 0.23.3,
// models/wordpiece/mod.rs).
//
// A word begins with the longest piece that it starts with and goes on with the longest one after
// the continuing prefix, "##" as a rule. All of them are keys of one trie: the continuing pieces
// are those under the node that the prefix leads to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/narrow.h"
#include "image/model.h"
#include "trie/double_array.h"

namespace rankfeed::wordpiece {

// Cheap to make, one for each text. Reads the model, which outlives it.
class GreedySearch {
 public:
  explicit GreedySearch(const Model& model);

  // Finds the pieces of a word, which is valid UTF-8 and not empty: ids[i] is the id of the i-th and
  // ends[i] the byte of the word that it ends before. Both arrays have an element for each byte of
  // the word. Returns how many there are; 0 says that the word is the unknown token, because it has
  // more than max_input_chars characters or because no piece goes on at some place. specials:
  // whether pieces that are special tokens count. O(word.size() * max_piece_chars).
  uint32_t Find(std::string_view word, bool specials, uint32_t* ids, uint32_t* ends) const;

  // The same of a word as character codes, each of the trie and max_input_chars at most, special
  // tokens among the pieces: calls add(id, begin, end) for each, with its codes. False if the word is
  // the unknown token; add may have been called then. O(codes.size() * max_piece_chars).
  template <class F>
  bool Match(std::span<const uint16_t> codes, const F& add) const {
    const auto size = Size32(codes);
    trie::Unit from = model_.pieces.root();
    for (uint32_t begin = 0; begin < size; from = continuing_) {
      uint32_t id = trie::kNoValue, end = begin;
      trie::Unit unit = from;
      for (uint32_t at = begin; at < size && model_.pieces.Step(unit, codes[at]);) {
        ++at;
        if (trie::Value(unit) == trie::kNoValue) continue;
        id = trie::Value(unit);
        end = at;
      }
      if (id == trie::kNoValue) return false;
      add(id, begin, end);
      begin = end;
    }
    return true;
  }

 private:
  const Model& model_;
  trie::Unit continuing_;  // the node of the prefix; a leaf if no piece begins with the prefix
};

}  // namespace rankfeed::wordpiece
