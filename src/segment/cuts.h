// SPDX-License-Identifier: MIT
// segment/cuts.h: where a stretch may be cut, so that its ids are those of its parts, one behind
// the other: at a separator, one alone, between two characters that stand for themselves whatever
// is beside them: no reference strips, replaces, composes or looks back across it. Nor may an added
// token reach over it, or take it along. The parts are texts to the engine and to the general path;
// where the score of a stretch goes on to its end, that is carried from part to part.
//
// Texts that come in pieces are cut so (encode/stream.h), and stretches of which a segment has to
// take the general path (queue.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "general/added_tokens.h"
#include "image/model.h"
#include "segment/signs.h"

namespace rankfeed::segment {

class Cuts {
 public:
  // What parts of long texts are about as long as.
  static constexpr uint32_t kPartBytes = 32 << 10;
  // Bytes from a place on that are looked at.
  static constexpr uint32_t kBehind = 5;

  // Of a model that takes the fast road; both must stay.
  Cuts(const Model& model, const general::AddedTokenFilter& filter);

  // Whether texts of the model may be cut at all.
  bool any() const { return any_; }

  // The last such place of (from, to) or the first in [from, to) of a text; kNone without any. The
  // text may be cut off itself: places that are too near to its end are none. O(to - from).
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t FindLast(std::string_view text, uint32_t from, uint32_t to) const;
  uint32_t FindFirst(std::string_view text, uint32_t from, uint32_t to) const;

  // Where what follows a part begins: at the separator, if that makes the U+2581 in front of it.
  uint32_t Behind(uint32_t cut) const { return keeps_separator_ ? cut : cut + 1; }

 private:
  bool At(std::string_view text, uint32_t at) const;
  bool IsSeparator(char c) const { return separators_.Has(static_cast<uint8_t>(c)); }

  const Model& model_;
  const general::AddedTokenFilter& filter_;
  const Signs signs_;
  ByteSet separators_ = {};
  bool any_ = false, keeps_separator_ = false;
};

}  // namespace rankfeed::segment
