// SPDX-License-Identifier: MIT
// general/hf_long.h: a stretch of any length in HuggingFace mode, to ids, in memory that does not
// grow with it: what hf_encode.h does in arrays where it fits.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "general/best_path.h"
#include "general/hf_characters.h"
#include "general/hf_places.h"
#include "general/long_path.h"
#include "image/model.h"
#include "rankfeed/status.h"

namespace rankfeed::general {

// What becomes of special tokens that are pieces of the best path.
enum class SpecialPieces : uint8_t { kKept, kEscaped, kRefused };

// Where a text holds a special token, in bytes of the text.
struct SpecialPlace {
  uint32_t id, begin, end;
};

// Bytes [begin, end) of a text, to encode.
struct LongText {
  std::string_view text;
  uint32_t begin, end;
  SpecialPieces specials;
  uint32_t first_token;  // of the text, in the sink
};

// Encodes them, of a model that HfCharacters::Has, with offsets if there are `places` (nullable).
// score: as that of EncodeHuggingFaceStretch. *refused: which token, with SPECIAL_IN_TEXT, and its
// place where there are places. Errors: UNK_ID, SPECIAL_IN_TEXT, LIMIT (more combining marks in a
// row than a normalization form holds, or more tokens than 32 bits count).
// O(bytes * max_piece_chars): once, or two to four times for words longer than a block whose paths
// do not meet in it; places: O(bytes) for each element of the normalizer.
rankfeed_status EncodeHuggingFaceLong(const Model& model, const LongScratch& scratch,
                                      const HfPlaces::Scratch* places, const LongText& what,
                                      TokenSink& sink, CarriedScore* score, SpecialPlace* refused);

}  // namespace rankfeed::general
