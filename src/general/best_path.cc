// SPDX-License-Identifier: MIT
// general/best_path.cc: the search of best_path.h over texts, for each reference.
#include "general/best_path.h"

namespace rankfeed::general {

template <class Arithmetic, bool kSpecials = true>
static void Find(const Model& model, std::string_view text, double start, const Lattice& lattice) {
  const TextChars chars{model.codes, text};
  if (utf8::SkipAscii(text, 0) == text.size()) {
    FindBestPath<Arithmetic, kSpecials>(model, AsciiChars{chars}, start, lattice);
  } else {
    FindBestPath<Arithmetic, kSpecials>(model, chars, start, lattice);
  }
}

void BestPathHuggingFace(const Model& model, std::string_view text, double start,
                         const Lattice& lattice) {
  Find<HuggingFaceArithmetic>(model, text, start, lattice);
}

void BestPathWithoutSpecials(const Model& model, std::string_view text, double start,
                             const Lattice& lattice) {
  Find<HuggingFaceArithmetic, false>(model, text, start, lattice);
}

void BestPathSentencePiece(const Model& model, std::string_view text, double start,
                           const Lattice& lattice) {
  if (model.sentencepiece_0_2_1()) {
    Find<SentencePiece021Arithmetic>(model, text, start, lattice);
  } else {
    Find<SentencePieceArithmetic>(model, text, start, lattice);
  }
}

}  // namespace rankfeed::general
