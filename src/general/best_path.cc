// SPDX-License-Identifier: MIT
// general/best_path.cc: the search of best_path.h over texts, for each reference.
#include "general/best_path.h"

namespace rankfeed::general {

void BestPathHuggingFace(const Model& model, std::string_view text, const Lattice& lattice) {
  FindBestPath<HuggingFaceArithmetic>(model, TextChars{model.codes, text}, 0, lattice);
}

void BestPathWithoutSpecials(const Model& model, std::string_view text, const Lattice& lattice) {
  FindBestPath<HuggingFaceArithmetic, false>(model, TextChars{model.codes, text}, 0, lattice);
}

void BestPathSentencePiece(const Model& model, std::string_view text, const Lattice& lattice) {
  if (model.sentencepiece_0_2_1()) {
    FindBestPath<SentencePiece021Arithmetic>(model, TextChars{model.codes, text}, 0, lattice);
  } else {
    FindBestPath<SentencePieceArithmetic>(model, TextChars{model.codes, text}, 0, lattice);
  }
}

}  // namespace rankfeed::general
