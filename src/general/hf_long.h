// SPDX-License-Identifier: MIT
// general/hf_long.h: a stretch of any length in HuggingFace mode, to ids and offsets, in memory
// that does not grow with it: what hf_encode.h does in arrays where it fits.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "general/best_path.h"
#include "general/hf_characters.h"
#include "general/hf_trim_offsets.h"
#include "general/long_path.h"
#include "image/model.h"
#include "rankfeed/status.h"

namespace rankfeed::general {

// What becomes of special tokens that are pieces of the best path.
enum class SpecialPieces : uint8_t { kKept, kEscaped, kRefused };

// Bytes [begin, end) of a text.
struct LongStretch {
  std::string_view text;
  uint32_t begin, end;
  SpecialPieces specials;
  bool skip_special;             // special tokens of normalized text are text
  const OffsetTrimmer* trimmer;  // null: offsets are not wanted
};

// Encodes it, of a model that HfCharacters::Has; with offsets where those are wanted and the
// scratch has room for places, of a model that HfPlacedCharacters::Has. score: as that of
// EncodeHuggingFaceStretch. *refused: with SPECIAL_IN_TEXT; without offsets its place is that of
// the stretch. Errors: UNK_ID, SPECIAL_IN_TEXT, LIMIT (more combining marks in a row than a
// normalization form holds, or more tokens than 32 bits count). O(bytes * max_piece_chars): once,
// or two to four times for words longer than a block whose paths do not meet in it.
rankfeed_status EncodeHuggingFaceLong(const Model& model, const LongScratch& scratch,
                                      const LongStretch& stretch, TokenSink& sink,
                                      CarriedScore* score, SpecialPlace* refused);

}  // namespace rankfeed::general
