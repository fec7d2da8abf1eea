// SPDX-License-Identifier: MIT
// models/unigram/exactness.h: when ids that a segment has on its own are those it has in its text.
//
// A reference runs its best path over a whole text (SentencePiece, sums in float32; HuggingFace
// without words, float64) or over a word (HuggingFace, float64). No piece spans the ends of a
// segment, so the path always passes there and the choice inside differs only by rounding: the
// reference sums from the score accumulated before the segment, this library from 0 in integers.
// The margin of a segment is the smallest lead of its best path over the next candidate, over the
// nodes of that path. Two sums of at most `steps` and `chars` terms, each term off by half a cost
// unit and each addition by half an ulp of the accumulated score, cannot change places while
//
//   margin > (steps + chars) cost_unit / 2 + (steps + chars + 1) ulp(accumulated) / 2
//
// `exact_below` stores this as an exponent: the ids hold while |accumulated| < 2^exact_below. The
// float64 ulp of the score of any word is far below a cost unit, so there it is all or nothing.
// `score_bound` bounds the segment's own share of |accumulated| from above.
//
// Scores above 0 have costs too (builder/models/unigram/automaton.cc): a cost is at least the magnitude of its
// score.
//
// Rebased sums (models/unigram/arithmetic.h, Rebase) start anew where a path, also one that is not
// the best in the end, has passed kRebaseBeyond. What a segment adds to the score after that place
// is known only to the reference's own search, so there no segment may be settled. Bounds are
// counted in 64/85 of a score unit: kRebasedBelow, the greatest exponent, stands for a score of
// 98,689. The 1,311 up to the threshold are for the way inside of a segment, as a position that is
// not on the best path lies below the best one's by one unknown character per character at most;
// segments of so many characters that this may be more add the rest too.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "image/model.h"
#include "models/unigram/arithmetic.h"

namespace rankfeed::unigram {

// Sums of a reference (arithmetic.h).
enum class ScoreSums : uint8_t { kFloat64Words, kFloat64, kFloat32, kFloat32Rebased };

// A Metaspace that splits is what makes words of a HuggingFace pipeline on the fast road.
inline bool SplitsWords(const Model& model) {
  return std::any_of(
      model.pre_tokenizer.begin(), model.pre_tokenizer.end(), [](const image::Step& step) {
        return step.Is(image::Op::kMetaspace) && step.arg1 != 0;
      });
}

inline ScoreSums ScoreSumsOf(const Model& model) {
  if (!model.unigram()) return ScoreSums::kFloat64Words;
  if (model.huggingface()) {
    return SplitsWords(model) ? ScoreSums::kFloat64Words : ScoreSums::kFloat64;
  }
  return model.sentencepiece_0_2_1() ? ScoreSums::kFloat32 : ScoreSums::kFloat32Rebased;
}

// Calls f with the arithmetic of such sums.
template <class F>
decltype(auto) WithArithmetic(ScoreSums sums, const F& f) {
  if (sums <= ScoreSums::kFloat64) return f(HuggingFaceArithmetic());
  return sums == ScoreSums::kFloat32 ? f(SentencePiece021Arithmetic())
                                     : f(SentencePieceArithmetic());
}

// Returns whether the score after unknown tokens is told from the tokens. Of HuggingFace's words it is
// only where a U+2581 is no unknown character, so that every word begins with a piece.
inline bool CountsUnknown(const Model& model) {
  return ScoreSumsOf(model) != ScoreSums::kFloat64Words ||
         model.IsPieceCode(model.segment.config->space_code);
}

// Makes exact_below and score_bound from sums in cost units, in integers. cost_unit: score per
// unit, a power of two.
class ExactnessRule {
 public:
  // Values of exact_below: above any sum. At 0 ids never hold without the reference's own sums.
  static constexpr uint8_t kAlways = image::PathInfo::kAlways, kRebasedBelow = 17;
  static constexpr uint16_t kMaxScoreBound = image::PathInfo::kMostBound;
  // The part of a score unit that a unit of the bound is, of rebased sums.
  static constexpr uint32_t kBoundFactor = 85, kBoundShift = 6;

  // unk_score: of one unknown character, below 0.
  ExactnessRule(double cost_unit, ScoreSums sums, double unk_score)
      : most_margin_(static_cast<uint32_t>(std::min(image::kPrunedLead / cost_unit, 0x7fffffffp0))),
        unit_exponent_(static_cast<int>(std::bit_cast<uint64_t>(cost_unit) >> 52 & 0x7ff) - 1023),
        sums_(sums),
        margin_exponent_(unit_exponent_ + (sums <= ScoreSums::kFloat64 ? 53 : 24)) {
    if (sums != ScoreSums::kFloat32Rebased) return;
    constexpr double kScale = double{kBoundFactor} / (1 << kBoundShift);
    constexpr double kLeft = kRebaseBeyond - (1 << kRebasedBelow) / kScale;
    static_assert(kLeft > 1300);
    free_chars_ = static_cast<uint32_t>(std::min(kLeft / -unk_score, 4096.0));
    // Any greater bound than kMaxScoreBound is as good as that.
    char_bound_ = static_cast<uint32_t>(std::min(-unk_score * kScale + 1, double{kMaxScoreBound}));
  }
  ExactnessRule(const Model& model, double cost_unit)
      : ExactnessRule(cost_unit, ScoreSumsOf(model), model.config->unk_score) {}

  // total, margin: of the best path. The count is that of the steps, 255 at most.
  image::PathInfo Make(uint64_t total, uint64_t margin, uint32_t steps, uint32_t chars) const {
    image::PathInfo info{static_cast<uint8_t>(std::min(steps, 255u)), 0, kMaxScoreBound};
    uint64_t bound = rebased() ? total * kBoundFactor : total;
    const int shift = bound_exponent();
    bound = (shift <= 0 ? bound >> -shift : bound << shift) + 3;
    if (chars > free_chars_) bound += uint64_t{chars - free_chars_} * char_bound_;
    if (bound >= kMaxScoreBound || total >> 36 != 0) return info;
    info.score_bound = static_cast<uint16_t>(bound);
    const uint32_t terms = steps + chars;
    if (margin <= (terms + 1) / 2) return info;  // (terms + 1) / 2 >= terms / 2
    if (!goes_on()) {
      info.exact_below = kAlways;
      return info;
    }
    // 2^exponent <= (margin - (terms + 1) / 2) cost_unit / (terms + 1), a factor of four away at
    // most. With 24 or 53 bits half an ulp is 2^(e - 1 - bits) at most below 2^e.
    const int exponent = static_cast<int>(std::bit_width(margin - (terms + 1) / 2)) - 1 -
                         static_cast<int>(std::bit_width(terms)) + margin_exponent_ + 1;
    info.exact_below = static_cast<uint8_t>(std::clamp(exponent, 0, int{greatest_exact_below()}));
    return info;
  }

  // The bound of all before a place where the reference's score is `score`.
  uint64_t Accumulated(double score) const {
    // A forged image may have any scores on the general path, whose sums come here too.
    constexpr double kMost = 0x1p50;
    const double magnitude = std::abs(score);
    const auto sum = static_cast<uint64_t>(magnitude < kMost ? magnitude : kMost) + 2;
    return rebased() ? sum * kBoundFactor >> kBoundShift : sum;
  }

  bool goes_on() const { return sums_ != ScoreSums::kFloat64Words; }  // from word to word
  bool rebased() const { return sums_ == ScoreSums::kFloat32Rebased; }
  uint8_t greatest_exact_below() const { return rebased() ? kRebasedBelow : kAlways; }
  int margin_exponent() const { return margin_exponent_; }  // of cost_unit times 2^bits of a sum
  // Exponent that scales a sum of costs (rebased: times kBoundFactor) to the bound.
  int bound_exponent() const {
    return unit_exponent_ - (rebased() ? static_cast<int>(kBoundShift) : 0);
  }
  // Characters beyond so many add char_bound() each.
  uint32_t free_chars() const { return free_chars_; }
  uint32_t char_bound() const { return char_bound_; }
  // In units: runner-ups that lead by more were left out.
  uint32_t most_margin() const { return most_margin_; }

 private:
  uint32_t most_margin_;
  int unit_exponent_;
  ScoreSums sums_;
  int margin_exponent_;
  uint32_t free_chars_ = 0xffffffffu, char_bound_ = 0;
};

}  // namespace rankfeed::unigram
