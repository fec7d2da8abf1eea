// SPDX-License-Identifier: MIT
// fast/bpe.h: a segment to the ids of a BPE. A segment is a split of the text, of a model of characters a word that a
// space begins, or a part of one between two characters that no piece holds together, and its bytes are those of the
// text: what the normalizer may change, but for spaces, has left before.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/token_sink.h"
#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "fast/spelling.h"
#include "models/bpe/word.h"
#include "reference/scratch.h"

namespace rankfeed::fast {

class BpeSpeller {
 public:
  struct Scratch {
    void Carve(Layout&, const Model&) {}
  };

  // The working arrays are those of the general path, which is not running meanwhile.
  BpeSpeller(const Model& model, const reference::Scratch& general, const Scratch&)
      : model_(model),
        words_(model, /*raw=*/true),
        byte_level_(model.has(image::kByteLevel)),
        space_run_(model.segment.config.has_value() ? model.segment.config->space_run : 0),
        trims_(model.has(image::kTrimOffsets)),
        scratch_(general) {}

  // Segments of a batch become ids in two steps: Begin appends the symbols of one that has a key, or its
  // id, and Merge turns the symbols of all into ids. marked: of bytes, a split of which the segment is a
  // part is none of the pieces, whatever the part is (ignore_merges); of characters, a U+2581 is put before it.
  Spelling Begin(std::string_view segment, bool marked, TokenSink* sink) const;
  void Merge(const KernelTable& kernels, uint32_t* ids, std::span<MergeWord> words) const {
    kernels.merge(words_.merger(), ids, words.data(), static_cast<uint32_t>(words.size()));
  }
  // Appends the ids of a segment with their places, as WordPieceSpeller does. O(n log n).
  Spelling Spell(std::string_view segment, bool marked, uint32_t offset, TokenSink* sink) const;
  // Appends the ids that merges made of a segment, with their places. A byte is spelled by one character
  // and a merge's product as its two tokens are, so a token has as many bytes as characters. False, and
  // the sink is as before, where an added token may spell an id otherwise, and of a model of characters. O(bytes).
  bool PlaceIds(std::string_view segment, std::span<const int32_t> ids, uint32_t offset, TokenSink* sink) const;

 private:
  uint32_t OneId(std::string_view segment, bool marked) const;
  void Push(std::string_view segment, uint32_t id, TokenPlace token, uint32_t offset,
            TokenSink* sink) const;

  const Model& model_;
  const bpe::Words words_;
  const bool byte_level_;
  const uint32_t space_run_;
  const bool trims_;
  const reference::Scratch& scratch_;
};

}  // namespace rankfeed::fast
