// SPDX-License-Identifier: MIT
// fast/words/merge_speller.h: a segment to the ids of a byte-level BPE. A segment is a split of the text, or
// a part of one between two characters that no piece holds together, and its bytes are those of the
// text: what the normalizer may change has left before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/token_sink.h"
#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "fast/words/speller.h"
#include "models/model.h"
#include "reference/scratch.h"

namespace rankfeed::words {

// Where a token lies in its text: bytes [begin, end).
struct Place {
  uint32_t begin, end;
};

// trim_offsets of ByteLevel: takes the spaces at its ends out of the place of a token. One of spaces
// alone is left an empty place at its end.
inline Place TrimSpaces(std::string_view token, Place place) {
  const size_t leading = std::min(token.find_first_not_of(' '), token.size());
  size_t kept = token.size();
  while (kept > leading && token[kept - 1] == ' ') --kept;
  const auto begin = static_cast<uint32_t>(place.begin + leading);
  const auto end = static_cast<uint32_t>(place.end - (token.size() - kept));
  return {begin, std::max(begin, end)};
}

class MergeSpeller {
 public:
  // The working arrays are those of the general path, which is not running meanwhile.
  MergeSpeller(const Model& model, const reference::Scratch& scratch)
      : model_(model),
        words_(model),
        space_run_(model.segment.config.has_value() ? model.segment.config->space_run : 0),
        trims_(model.has(image::kTrimOffsets)),
        scratch_(scratch) {}

  // Segments of a batch become ids in two steps: Begin appends the symbols of one that has a key, or its
  // id, and KernelTable::merge turns the symbols of all into ids. part: a split of which the segment is a
  // part is none of the pieces, whatever the part is (ignore_merges).
  Outcome Begin(std::string_view segment, bool part, TokenSink* sink) const;
  const bpe::Merger& merger() const { return words_.merger(); }
  // As WordPieceSpeller. O(n log n).
  Outcome Spell(std::string_view segment, bool part, uint32_t offset, TokenSink* sink) const;
  // Appends the ids that merges made of a segment, with their places. A byte is spelled by one character
  // and a merge's product as its two tokens are, so a token has as many bytes as characters. False, and
  // the sink is as before, where an added token may spell an id otherwise. O(bytes).
  bool PlaceIds(std::string_view segment, std::span<const int32_t> ids, uint32_t offset, TokenSink* sink) const;

 private:
  uint32_t OneId(std::string_view segment, bool part) const;
  void Push(std::string_view segment, uint32_t id, Place token, uint32_t offset,
            TokenSink* sink) const;

  const Model& model_;
  const bpe::Words words_;
  const uint32_t space_run_;
  const bool trims_;
  const reference::Scratch& scratch_;
};

}  // namespace rankfeed::words
