// SPDX-License-Identifier: MIT
// segment/texts.h: what a call asks an engine to encode.
#pragma once

#include <cstdint>
#include <span>

#include "general/added_tokens.h"
#include "general/best_path.h"
#include "rankfeed/encode.h"

namespace rankfeed::segment {

// What to encode, one text after the other.
struct Texts {
  std::span<const rankfeed_text> texts;
  std::span<const uint32_t> before, after;      // ids put around every text
  uint32_t* ends = nullptr;                     // nullable; by text: sink.count after it
  const general::AddedTokens* added = nullptr;  // null: texts hold none
  bool refuse_special = false;  // a stretch with a special token among its pieces leaves
  // Nullable; of a text that is a part of one. Only where the score of a stretch goes on to its
  // end.
  general::CarriedScore* score = nullptr;
};

}  // namespace rankfeed::segment
