// SPDX-License-Identifier: MIT
// fast/sp_offsets.h: where the tokens of a text stand in it (SentencePiece parity).
//
// A normalized character has the place where the step of the normalizer began that made it
// (normalize/sp_normalize.h), a U+2581 that of the first space of its run, or of its own space
// where they do not collapse, and the one in front of a text that of the first step which is no
// space, or of the first one. A token begins where its first character does, and ends where the
// next token begins, so begins are all that segments have to give; after the last token the text
// ends, or the spaces that end it begin.
//
// A segment goes through the normalizer as if it were alone, as for its ids. Not known here, and
// left to the general path: the places of two unknown tokens in one segment.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "fast/offsets.h"
#include "image/model.h"
#include "normalize/sp_normalize.h"

namespace rankfeed::fast {

class SpOffsets : PlacesInStretch {
 public:
  explicit SpOffsets(const Model& model);

  // Begins a stretch, with that token.
  void Begin(std::string_view stretch, uint32_t offset, uint32_t token);

  // Gives tokens [first, last), those of bytes [begin, end) of the stretch, their begins. Every
  // segment in order, those without tokens too. False if begins are not known here.
  // O(bytes + tokens).
  bool Place(uint32_t begin, uint32_t end, bool word_start, uint32_t first, uint32_t last, TokenSink& sink);

  // Does the same for the token of the separators that end the stretch.
  bool PlaceTrailing(uint32_t token, TokenSink& sink) const;

  // Skips bytes up to `end`, which were given their tokens and places elsewhere.
  void Skip(uint32_t end) {
    done_ = end;
    state_ = {.front = 0, .space = kNone, .begun = true};
  }

  // Ends the stretch: gives its tokens their ends. closed: the last one has its end.
  void End(TokenSink& sink, bool closed);

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // How far a stretch is.
  struct State {
    uint32_t front = kNone;  // the first step that is no space
    uint32_t space = kNone;  // of a U+2581 that comes in front of the next character
    bool begun = false;      // there are characters
  };

  template <class Use>
  void Walk(State* state, uint32_t begin, uint32_t end, const Use& use) const;
  template <class Use>
  void Emit(State* state, uint32_t at, const Use& use) const;
  void Separators(uint32_t begin);
  uint32_t OneCode(uint32_t at, uint32_t end) const;
  bool PlacePlain(uint32_t begin, uint32_t end, uint32_t first, uint32_t last, TokenSink& sink);
  bool PlaceWalking(uint32_t begin, uint32_t end, uint32_t first, uint32_t last, TokenSink& sink);
  // Returns the column that begins are kept in until the end: without one of their own that of the ends.
  static uint32_t* Begins(const TokenSink& sink) {
    return sink.begin != nullptr ? sink.begin : sink.end;
  }

  bool prefixed() const { return normalizer_.add_dummy_prefix; }
  bool collapses() const { return normalizer_.remove_extra_whitespaces; }

  const normalize::SpNormalizer normalizer_;
  bool begins_symbol_[256] = {};  // bytes of a text
  uint32_t first_token_ = 0;
  uint32_t done_ = 0;  // the end of the last segment
  State state_;
};

}  // namespace rankfeed::fast
