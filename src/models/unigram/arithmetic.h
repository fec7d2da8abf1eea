// SPDX-License-Identifier: MIT
// models/unigram/arithmetic.h: how the references sum, compare and store scores; all that their
// searches differ in. Scores are kept as double, also where a reference stores a float.
#pragma once

#include <cmath>
#include <cstdint>

namespace rankfeed::unigram {

// models/unigram/model.rs (tokenizers 0.23.2): float64 throughout.
struct HuggingFaceArithmetic {
  static constexpr bool kFloat32 = false, kRebases = false;
  // The candidate that is compared: a piece, or an unknown character, after the path to its begin.
  static double Piece(double score, double best) { return score + best; }
  static double Unknown(double score, double best) { return score + best; }
  // Returns what is kept of a candidate that wins.
  static double Store(double sum) { return sum; }
};

// Sums of floats are computed in double and rounded once more: the same float, as double has more
// than twice the bits of float and two more.
inline double AddFloats(double a, double b) {
  return static_cast<float>(a + b);
}

// unigram_model.cc EncodeOptimized from 0.2.2 on: candidates are floats, and scores are rebased.
struct SentencePieceArithmetic {
  static constexpr bool kFloat32 = true, kRebases = true;
  static double Piece(double score, double best) { return AddFloats(score, best); }
  static double Unknown(double score, double best) { return AddFloats(score, best); }
  static double Store(double sum) { return sum; }
};

// The same from 0.1.97 to 0.2.1: a piece's candidate is an unrounded double, as the score of a
// user-defined piece there is one; what is stored is a float, and `const float target_score =
// unk_score + best_path_score_till_here`.
struct SentencePiece021Arithmetic {
  static constexpr bool kFloat32 = true, kRebases = false;
  static double Piece(double score, double best) { return score + best; }
  static double Unknown(double score, double best) { return AddFloats(score, best); }
  static double Store(double sum) { return static_cast<float>(sum); }
};

// Unknown characters after a path, added one by one.
template <class Arithmetic>
class UnknownRun {
 public:
  explicit UnknownRun(double score)
      : score_(score), single_(static_cast<float>(score)), is_float_(single_ == score) {}

  // best: what a reference stores.
  double Add(uint32_t chars, double best) const {
    if (Arithmetic::kFloat32 && is_float_) {  // always, but in a forged image
      auto sum = static_cast<float>(best);
      for (; chars > 0; --chars) sum += single_;  // as AddFloats
      return sum;
    }
    for (; chars > 0; --chars) best = Arithmetic::Unknown(score_, best);
    return best;
  }

 private:
  double score_;
  float single_;
  bool is_float_;
};

// kScoreResetThreshold of unigram_model.cc, 0.2.2.
inline constexpr double kRebaseBeyond = 100000;

// Rebases the search that goes on from `begin`, where the best score lies beyond the threshold: that
// score is taken off all positions up to the frontier, the furthest that some candidate has ended
// at. Positions that are not reached(position) stay. Costs O(frontier - begin), once in
// kRebaseBeyond of score.
template <class Reached>
void Rebase(double* best, uint32_t begin, uint32_t frontier, const Reached& reached) {
  const double offset = best[begin];
  if (!(std::abs(offset) > kRebaseBeyond)) return;
  for (uint32_t i = begin; i <= frontier; ++i) {
    if (i == begin || reached(i)) best[i] = AddFloats(best[i], -offset);
  }
}

}  // namespace rankfeed::unigram
