// SPDX-License-Identifier: MIT
// stretch/opening.h: what a stretch begins and ends with, before it is scanned: white space that is
// stripped, and whether a word begins at its first character.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "stretch/characters.h"
#include "image/model.h"
#include "rankfeed/encode.h"

namespace rankfeed {

struct Opening {
  std::string_view text;  // what a Strip leaves of the stretch
  bool prefixed = true;   // it begins a word, whatever it begins with
  rankfeed_reason reason = RANKFEED_REASON_NONE;  // why the stretch takes the general path
};

class Openings {
 public:
  // The model takes the fast road.
  explicit Openings(const Model& model) : model_(model), rules_(model.segment.config->rules) {}

  // Returns whether stretches have to be looked at; otherwise each is all of itself, and prefixed.
  bool any() const { return (rules_ & kAboutEnds) != 0 || (rules_ & (image::kSpaceWords | image::kFrontSpaceIsWord)) == image::kSpaceWords; }
  // text: the stretch is a part of it. O(what is stripped, and what vanishes at the ends).
  Opening Of(std::string_view stretch, std::string_view text) const;

 private:
  static constexpr uint32_t kAboutEnds = image::kStripLeft | image::kStripRight |
                                         image::kEverySpaceIsWord | image::kPrependRules |
                                         image::kDropsOther;

  bool Has(uint32_t rules) const { return (rules_ & rules) != 0; }
  bool IsSeparator(const utf8::Decoded& c) const {
    return c.code_point < 0x80 && rankfeed::IsSeparator(model_.segment, static_cast<char>(c.code_point));
  }
  bool StripsLeft(const utf8::Decoded& c) const;
  std::string_view Stripped(std::string_view stretch) const;
  rankfeed_reason ReasonAtBegin(std::string_view stretch, bool begins_text, bool* prefixed) const;
  bool LosesOtherSpace(std::string_view rest, bool left) const;

  const Model& model_;
  const uint32_t rules_;  // image::SegmentRule
};

}  // namespace rankfeed
