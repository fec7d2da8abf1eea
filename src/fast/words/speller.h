// SPDX-License-Identifier: MIT
// fast/words/speller.h: a segment to the ids of its words, by what the kind of model does with a word.
// Nothing is remembered from one segment to the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "base/token_sink.h"
#include "image/model.h"
#include "models/model.h"

namespace rankfeed::words {

// An outcome says what became of a segment.
struct Outcome {
  bool general = false;  // a character is read with its neighbours: the general path it is
  bool missing = false;  // a word is unknown, and the vocabulary has no id for that
  bool gaps = false;     // some character is in no token
};

// WordPiece. A segment is bytes between two places where words end; its characters are read once, each
// becomes what image::CharInfo says, and every word is matched as soon as it ends.
class WordPieceSpeller {
 public:
  // Codes of the word that is being read, and with offsets the bytes of the text each came from.
  struct Scratch {
    uint16_t* codes = nullptr;
    uint32_t* begins = nullptr;
    uint32_t* ends = nullptr;
    // By code: the id of the word that is this character alone.
    uint32_t* lone_ids = nullptr;
    void Carve(Layout& layout, const Model& model) {
      const uint32_t max_chars = std::min(model.config->max_input_chars, image::kMaxWordChars);
      codes = layout.Take<uint16_t>(max_chars);
      begins = layout.Take<uint32_t>(max_chars);
      ends = layout.Take<uint32_t>(max_chars);
      lone_ids = layout.Take<uint32_t>(size_t{model.config->code_count} + 1);
    }
  };

  // O(codes).
  WordPieceSpeller(const Model& model, const Scratch& scratch);

  // Appends the ids of a segment to the sink, with offsets if that has a place for them; offset: of
  // the segment in its text. What is in the sink after its former count is void with Outcome::general.
  // O(bytes * longest piece).
  Outcome Spell(std::string_view segment, uint32_t offset, TokenSink* sink) const {
    const bool places = sink->begin != nullptr || sink->end != nullptr;
    return places ? SpellWith<true>(segment, offset, sink)
                  : SpellWith<false>(segment, offset, sink);
  }

 private:
  // The word that is being read. first_begin, last_end: of the characters that are not removed.
  struct Word {
    uint32_t count = 0;  // codes, also of those there is no place for
    uint32_t first_begin = 0, last_end = 0;
    bool known = true;  // each character is in some piece
  };

  template <bool kPlaces>
  Outcome SpellWith(std::string_view segment, uint32_t offset, TokenSink* sink) const;
  template <bool kPlaces>
  size_t SpellSigns(std::string_view segment, size_t at, uint32_t offset,
                    image::CharInfo* previous,
                    TokenSink* sink) const;
  template <bool kPlaces>
  void Add(uint32_t code, uint32_t begin, uint32_t end, Word* word) const;
  template <bool kPlaces>
  void EndWord(Word* word, TokenSink* sink, Outcome* outcome) const;

  const SegmentTables& tables_;
  const Scratch scratch_;
  const wordpiece::GreedySearch search_;
  const uint32_t code_count_, max_chars_, unk_id_;
};

}  // namespace rankfeed::words
