// SPDX-License-Identifier: MIT
// fast/wordpiece.h: a segment to the ids of its WordPiece words. It is bytes between two places where words end;
// its characters are read once, each becomes what image::CharInfo says, and every word is matched as soon as it
// ends. Nothing is remembered from one segment to the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "base/token_sink.h"
#include "fast/kernels/kernels.h"
#include "fast/spelling.h"
#include "image/model.h"
#include "models/wordpiece/greedy.h"
#include "reference/scratch.h"

namespace rankfeed::fast {

class WordPieceSpeller {
 public:
  // Codes of the word that is being read, and with offsets the bytes of the text each came from.
  struct Scratch {
    uint16_t* codes = nullptr;
    uint32_t* begins = nullptr;
    uint32_t* ends = nullptr;
    // Ids by code: of the word that is this character alone.
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
  WordPieceSpeller(const Model& model, const reference::Scratch&, const Scratch& scratch);

  // Appends the ids of a segment to the sink, with places if that has columns for them; offset: of
  // the segment in its text. What is in the sink after its former count is void with Spelling::leaves.
  // O(bytes * longest piece).
  Spelling Spell(std::string_view segment, bool, uint32_t offset, TokenSink* sink) const {
    const bool places = sink->begin != nullptr || sink->end != nullptr;
    return places ? SpellWith<true>(segment, offset, sink)
                  : SpellWith<false>(segment, offset, sink);
  }
  // Appends the ids of a segment of a batch, which needs no further step.
  Spelling Begin(std::string_view segment, bool, TokenSink* sink) const { return SpellWith<false>(segment, 0, sink); }
  void Merge(const KernelTable&, uint32_t*, std::span<MergeWord>) const {}
  // Ids do not tell their places: words lose characters.
  bool PlaceIds(std::string_view, std::span<const int32_t>, uint32_t, TokenSink*) const { return false; }

 private:
  // The word that is being read. first_begin, last_end: of the characters that are not removed.
  struct Word {
    uint32_t count = 0;  // codes, also of those there is no place for
    uint32_t first_begin = 0, last_end = 0;
    bool known = true;  // each character is in some piece
  };

  template <bool kPlaces>
  Spelling SpellWith(std::string_view segment, uint32_t offset, TokenSink* sink) const;
  template <bool kPlaces>
  size_t SpellSigns(std::string_view segment, size_t at, uint32_t offset,
                    image::CharInfo* previous,
                    TokenSink* sink) const;
  template <bool kPlaces>
  void Add(uint32_t code, uint32_t begin, uint32_t end, Word* word) const;
  template <bool kPlaces>
  void EndWord(Word* word, TokenSink* sink, Spelling* outcome) const;

  const SegmentTables& tables_;
  const Scratch scratch_;
  const wordpiece::GreedySearch search_;
  const uint32_t code_count_, max_chars_, unk_id_;
};

}  // namespace rankfeed::fast
