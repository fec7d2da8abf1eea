// SPDX-License-Identifier: MIT
// models/unigram/best_path.cc: the search of best_path.h over texts, for each reference.
#include "models/unigram/best_path.h"

namespace rankfeed::unigram {

bool BestPathHuggingFace(const Model& model, std::string_view text, double start,
                         const ScoreLattice& lattice) {
  return FindBestPath<HuggingFaceArithmetic>(model, TextChars{model.codes, text}, start, lattice);
}

bool BestPathWithoutSpecials(const Model& model, std::string_view text, double start,
                             const ScoreLattice& lattice) {
  return FindBestPath<HuggingFaceArithmetic, false>(model, TextChars{model.codes, text}, start,
                                                    lattice);
}

void BestPathSentencePiece(const Model& model, std::string_view text, double start,
                           const ScoreLattice& lattice) {
  if (model.sentencepiece_0_2_1()) {
    FindBestPath<SentencePiece021Arithmetic>(model, TextChars{model.codes, text}, start, lattice);
  } else {
    FindBestPath<SentencePieceArithmetic>(model, TextChars{model.codes, text}, start, lattice);
  }
}

}  // namespace rankfeed::unigram
