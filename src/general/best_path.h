// SPDX-License-Identifier: MIT
// general/best_path.h: the plain best-path search, one function per reference. Exactness lives here;
// the fast engine is tested against these.
//
// text must be valid UTF-8. Cost: O(text.size() * max_piece_chars), scratch 16 bytes per byte.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/model.h"

namespace rankfeed::general {

// Arrays of at least text.size() + 1 entries, indexed by byte position in text.
struct Lattice {
  double* best;
  uint32_t* link;
  uint32_t* value;
};

// After a search the best path reads forward: a piece begins at b = 0 and ends at link[b], the next
// begins there, up to text.size(). value[end] is the piece's value (index into Model::scores), or
// trie::kNoValue for one unknown character.

// HuggingFace tokenizers 0.23.2, models/unigram/model.rs encode_optimized: float64 sums, a candidate
// replaces only if strictly greater, so the earlier start wins a tie.
void BestPathHuggingFace(const Model& model, std::string_view text, const Lattice& lattice);

// The same without the pieces that are special tokens.
void BestPathWithoutSpecials(const Model& model, std::string_view text, const Lattice& lattice);

// SentencePiece, unigram_model.cc EncodeOptimized, by the arithmetic of the releases that the model
// is compiled for (general/arithmetic.h).
void BestPathSentencePiece(const Model& model, std::string_view text, const Lattice& lattice);

}  // namespace rankfeed::general
