// SPDX-License-Identifier: MIT
// unigram/arithmetic.h: how the two references sum, compare and store scores; all that their
// searches differ in.
#pragma once

namespace rankfeed::unigram {

// models/unigram/model.rs (tokenizers 0.23.2): float64 throughout.
struct HuggingFaceArithmetic {
  static double Unknown(double score, double best) { return score + best; }
  static double Store(double sum) { return sum; }
};

// unigram_model.cc (0.1.97): a candidate is an unrounded double, what is stored is a float, and
// `const float target_score = unk_score + best_path_score_till_here`.
struct SentencePieceArithmetic {
  static double Unknown(double score, double best) {
    return static_cast<float>(static_cast<float>(score) + static_cast<float>(best));
  }
  static double Store(double sum) { return static_cast<float>(sum); }
};

}  // namespace rankfeed::unigram
