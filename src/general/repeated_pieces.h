// SPDX-License-Identifier: MIT
// general/repeated_pieces.h: the pieces of one repeated character, as in "......", for the search
// of best_path.h.
//
// Wherever a walk begins in such a run, it finds the same pieces, and vocabularies hold runs of
// every length of some characters. So they are looked up once, and each place takes the best of
// those that end there: a sum and a comparison for each, where looking up and pushing costs several
// times as much. Only the few walks that leave the run go on in the trie.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "image/model.h"
#include "trie/double_array.h"

namespace rankfeed::general {

class RepeatedPieces {
 public:
  static constexpr uint32_t kMaxChars = 32;
  static constexpr uint32_t kLeastRepeats = 6;  // shorter runs are not worth it
  // Sums of such scores, and of those before them, are finite.
  static constexpr double kMaxScore = 1e6, kMaxSum = 1e24;

  // Looks the runs of a character up that are pieces, as a walk of max_chars at most does after
  // which the character goes on. False if they are none for this search: too long, or not the
  // single character.
  template <bool kSpecials>
  bool Find(const Model& model, uint32_t code, uint32_t max_chars) {
    trie::Unit unit = model.pieces.root();
    longest_ = read_ = 0;
    while (read_ < max_chars) {
      const uint32_t chars = ++read_;
      if (!model.pieces.Step(unit, code)) break;
      if (chars == kMaxChars) return false;
      after_[chars] = unit;
      value_[chars] = trie::Value(unit);
      double& score = score_[kMaxChars - chars];
      score = -std::numeric_limits<double>::infinity();
      if (value_[chars] == trie::kNoValue) continue;
      if constexpr (!kSpecials) {
        if ((model.id_flags[value_[chars]] & image::kIdSpecial) != 0) return false;
      }
      score = model.scores[value_[chars]];
      if (!(std::abs(score) < kMaxScore) || (chars != 1 && longest_ == 0)) return false;
      longest_ = chars;
    }
    return longest_ != 0;
  }

  uint32_t longest() const { return longest_; }  // characters of the longest piece
  uint32_t read() const { return read_; }        // characters that a walk looks at
  trie::Unit after(uint32_t chars) const { return after_[chars]; }
  uint32_t value(uint32_t chars) const { return value_[chars]; }

  // The best of the pieces of [least, most] characters that end at *best, which has the score so far
  // and keeps it on a tie. Returns its characters, 0 if none is better.
  template <class Arithmetic>
  uint32_t Best(double* best, uint32_t least, uint32_t most) const {
    const double* const from = best - most;
    const double* const scores = score_ + kMaxChars - most;
    const uint32_t count = most - least + 1;
    if constexpr (Arithmetic::kKeepsCandidates) {
      const uint32_t at = Greatest<Arithmetic>(scores, from, count, best);
      return at != count ? most - at : 0;
    }
    uint32_t chars = 0;
    // The earliest begin first, as a search forwards has it.
    for (uint32_t i = 0; i < count; ++i) {
      const double sum = Arithmetic::Piece(scores[i], from[i]);
      if (sum > *best) {
        *best = Arithmetic::Store(sum);
        chars = most - i;
      }
    }
    return chars;
  }

 private:
  // Vectors of GCC and Clang, which every CPU of the baseline has: nothing is chosen at run time.
  using Two = double __attribute__((vector_size(16)));
  using TwoFloats = float __attribute__((vector_size(8)));
  static Two Load(const double* from) {
    Two two;
    std::memcpy(&two, from, sizeof(two));
    return two;
  }

  // Which of `count` candidates is the first of the greatest, if that is more than *best, which
  // becomes it; else count.
  template <class Arithmetic>
  static uint32_t Greatest(const double* scores, const double* from, uint32_t count,
                           double* best) {
    double sums[kMaxChars];
    Two greatest = {*best, *best};
    uint32_t i = 0;
    for (; i + 2 <= count; i += 2) {
      Two sum = Load(scores + i) + Load(from + i);
      if constexpr (Arithmetic::kFloat32) {
        sum = __builtin_convertvector(__builtin_convertvector(sum, TwoFloats), Two);
      }
      std::memcpy(sums + i, &sum, sizeof(sum));
      greatest = sum > greatest ? sum : greatest;
    }
    double top = std::max(greatest[0], greatest[1]);
    if (i < count) {
      sums[i] = Arithmetic::Piece(scores[i], from[i]);
      top = std::max(top, sums[i]);
    }
    if (!(top > *best)) return count;
    *best = top;
    for (i = 0; sums[i] != top;) ++i;
    return i;
  }

  uint32_t longest_ = 0, read_ = 0;
  double score_[kMaxChars];  // of k characters at kMaxChars - k; -infinity where no piece is
  // By characters.
  trie::Unit after_[kMaxChars];
  uint32_t value_[kMaxChars];
};

}  // namespace rankfeed::general
