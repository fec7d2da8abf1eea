// SPDX-License-Identifier: MIT
// stretch/cuts.h: where a stretch may be cut, so that its ids are those of its parts, one after
// the other: at a separator, one alone, between two characters that stand for themselves whatever
// is beside them: no reference strips, replaces, composes or looks back across it. Nor may an added
// token reach over it, or take it along, also one of normalized text: those on the fast road hold
// no spaces, so it is enough that none stands next to what the separator becomes. The parts are
// texts to the engine and to the general path; where the score of a stretch goes on to its end,
// that is carried from part to part.
//
// Texts that come in pieces are cut so (encode/stream.h), and stretches of which a segment has to
// take the general path (queue.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "stretch/normalized_tokens.h"
#include "stretch/signs.h"
#include "image/model.h"
#include "stretch/added_tokens.h"

namespace rankfeed {

class Cuts {
 public:
  // Size of the parts of long texts, about.
  static constexpr uint32_t kPartBytes = 32 << 10;

  // Only of a model that takes the fast road texts may be cut; all must stay.
  Cuts(const Model& model, const AddedTokenFilter& filter,
       const NormalizedTokens& normalized_tokens);

  // Returns whether texts of the model may be cut at all, and what keeps them from it: an element of its
  // file in words for people, null if they may.
  bool any() const { return obstacle_ == nullptr; }
  const char* obstacle() const { return obstacle_; }

  // Finds the last such place of (from, to) or the first in [from, to) of a text; kNone without any. The
  // text may be cut off itself: places that are too near to its end are none. O(to - from).
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t FindLast(std::string_view text, uint32_t from, uint32_t to) const;
  uint32_t FindFirst(std::string_view text, uint32_t from, uint32_t to) const;

  // Returns the bytes of the first part of a text, or of what is left of one: about kPartBytes, or up to the first
  // place after those, or all. O(bytes of the part).
  size_t PartBytes(std::string_view text) const;
  // Sets how long parts are about. A test sets less, for short texts to have many parts, or more than any text.
  void set_part_bytes(uint32_t bytes) { part_bytes_ = bytes; }

  // Bytes from a place on that are looked at: the separator and two characters after it.
  static constexpr uint32_t kLookedAt = 9;

  bool keeps_separator() const { return keeps_separator_; }
  // Returns whether the score of a part goes on in the next one.
  bool carries_score() const { return carries_score_; }
  // Returns where what follows a part begins: at the separator, if that makes the U+2581 in front of it.
  uint32_t After(uint32_t cut) const { return keeps_separator_ ? cut : cut + 1; }

 private:
  bool At(std::string_view text, uint32_t at) const;
  bool IsFreeOfTokens(std::string_view text, uint32_t at) const;
  bool IsSeparator(char c) const { return rankfeed::IsSeparator(model_.segment, c); }

  const Model& model_;
  const AddedTokenFilter& filter_;
  const NormalizedTokens& normalized_tokens_;
  const Signs signs_;
  const char* const obstacle_;
  const bool keeps_separator_, carries_score_;
  uint32_t part_bytes_ = kPartBytes;
};

}  // namespace rankfeed
