// SPDX-License-Identifier: MIT
// general/sp_long.h: a text of any length as SentencePieceProcessor::Encode does, in memory that
// does not grow with it: what sp_encode.h does in arrays where it fits.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "general/best_path.h"
#include "general/long_path.h"
#include "image/model.h"
#include "normalize/sp_normalize.h"
#include "rankfeed/status.h"

namespace rankfeed::general {

// The normalized text (normalize/sp_normalize.h), character by character. mark: where in the text
// it came from.
class SpCharacters {
 public:
  using Char = Character;

  // Whether pieces are not too long for the search.
  static bool Has(const Model& model) {
    return model.config->max_piece_chars <= LongScratch::kMaxPieceChars;
  }

  // spaced: as CarriedScore has it.
  SpCharacters(const Model& model, std::string_view text, bool spaced = false);

  bool Next(Character* c);
  uint32_t Run(const CharacterArrays& out, uint32_t at, uint32_t count);
  static bool BeginsWord(const Character&) { return false; }
  // Where the text ends, once that is reached: before white space that was stripped.
  uint32_t end() const { return consumed_; }

 private:
  bool Take(Character* c);
  bool NextPrefix();
  void PutSpace(Character* c) const { *c = {space_, from_}; }

  normalize::SpNormalizer normalizer_;
  const char* text_;
  uint32_t size_;
  char32_t space_;         // what spaces become
  uint32_t consumed_ = 0;  // bytes of the text
  uint32_t from_ = 0;      // where the prefix began
  const char* prefix_ = nullptr;
  uint32_t prefix_size_ = 0;
  bool begun_ = false, after_space_ = false, stripped_ = false, suffixed_ = false;
  uint64_t inner_ = 0;  // spaces that are known to have others behind them
};

// The tokens of the text without a frame, forwards or backwards, with offsets if the sink has room
// for them. score (nullable): of a part of a text. Errors: LIMIT (more tokens than 32 bits count).
// O(bytes * max_piece_chars): once, or two to four times for texts whose paths do not meet in a
// block, and twice that backwards.
rankfeed_status EncodeSentencePieceLong(const Model& model, const LongScratch& scratch,
                                        std::string_view text, bool reversed, TokenSink& sink,
                                        CarriedScore* score);

}  // namespace rankfeed::general
