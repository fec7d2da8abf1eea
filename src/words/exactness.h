// SPDX-License-Identifier: MIT
// words/exactness.h: when the ids of a segment, found on its own, are the ids it gets in its text.
//
// A reference runs its best path over a whole text (SentencePiece, sums in float32) or over a word
// (HuggingFace, float64). No piece spans the ends of a segment, so the path always passes there and
// the choice inside differs only by rounding: the reference sums from the score accumulated before
// the segment, this library from 0 in integers. The margin of a segment is the smallest lead of its
// best path over the next candidate, over the nodes of that path. Two sums of at most `steps` and
// `chars` terms, each term off by half a cost unit and each float32 addition by half an ulp of the
// accumulated score, cannot change places while
//
//   margin > (steps + chars) cost_unit / 2 + (steps + chars + 1) ulp(accumulated) / 2
//
// `limit` stores this as an exponent: the ids hold while |accumulated| < 2^limit. In float64 the
// ulp of any score that fits into memory is far below a cost unit, so there the limit is all or
// nothing. `weight` bounds the segment's own share of |accumulated| from above.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "image/format.h"

namespace rankfeed::words {

// Makes limit and weight from sums in cost units, in integers. cost_unit: score per unit, a power
// of two.
class ExactnessRule {
 public:
  // A limit above any sum. A limit of 0: never without the reference's own sums.
  static constexpr uint8_t kAlways = 60;
  static constexpr uint16_t kMaxWeight = 0xffff;

  ExactnessRule(double cost_unit, bool float32)
      : most_margin_(static_cast<uint32_t>(std::min(image::kPrunedLead / cost_unit, 0x7fffffffp0))),
        unit_exponent_(static_cast<int>(std::bit_cast<uint64_t>(cost_unit) >> 52 & 0x7ff) - 1023),
        float32_(float32) {}

  // total, margin: of the best path. The count is that of the steps, 255 at most.
  image::WordInfo Make(uint64_t total, uint64_t margin, uint32_t steps, uint32_t chars) const {
    image::WordInfo info{static_cast<uint8_t>(std::min(steps, 255u)), 0, kMaxWeight};
    const uint64_t weight =
        (unit_exponent_ <= 0 ? total >> -unit_exponent_ : total << unit_exponent_) + 3;
    if (weight >= kMaxWeight || total >> 36 != 0) return info;
    info.weight = static_cast<uint16_t>(weight);
    const uint32_t terms = steps + chars;
    if (margin <= (terms + 1) / 2) return info;  // (terms + 1) / 2 >= terms / 2
    if (!float32_) {
      info.limit = kAlways;
      return info;
    }
    // 2^exponent <= (margin - (terms + 1) / 2) cost_unit / (terms + 1), a factor of four away at
    // most. float32 has 24 bits: below 2^e half an ulp is 2^(e - 25) at most.
    const int exponent = static_cast<int>(std::bit_width(margin - (terms + 1) / 2)) - 1 -
                         static_cast<int>(std::bit_width(terms)) + unit_exponent_ + 25;
    info.limit = static_cast<uint8_t>(std::clamp(exponent, 0, int{kAlways}));
    return info;
  }

  bool float32() const { return float32_; }
  int unit_exponent() const { return unit_exponent_; }  // of cost_unit
  // In units: runner-ups that lead by more were left out.
  uint32_t most_margin() const { return most_margin_; }

 private:
  uint32_t most_margin_;
  int unit_exponent_;
  bool float32_;
};

}  // namespace rankfeed::words
