// SPDX-License-Identifier: MIT
// builder/models/bpe/word_parts.h: where words of BPE may be cut into parts, and the table of the segments that are one
// token; the same for models of bytes and of characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "builder/image/sections.h"
#include "image/format.h"

namespace rankfeed::builder {

// This knows which characters of two or three bytes stand next to each other in some piece, whole or in part.
class Neighbours {
 public:
  Neighbours() : pairs_(image::kPairBits / 64, 0) {}

  void Add(std::string_view piece);

  // Joins every two neighbours.
  void JoinAll() { pairs_.assign(pairs_.size(), ~uint64_t{0}); }

  // Few pieces hold two Greek letters, and words that are cut between them are shorter and repeat. Where many pieces
  // hold two of a script, and of Latin letters with accents, which seldom stand beside each other, words
  // would be as long as before.
  void Take(image::SegmentConfig* config, std::vector<SectionData>* out);

 private:
  // Joins every two characters of which one ends with the bytes left and the other begins with right.
  // Two single bytes would join millions of pairs: then no word is cut after any character that ends with left.
  void Join(std::string_view left, std::string_view right);
  std::vector<uint64_t> pairs_;
  uint64_t uncut_lasts_ = 0;
  uint32_t pairs_of_[256] = {};  // by the first byte that is known of the first character
};

// A segment that is one token. made: merges make it, so that it is as a part of a split too, where that matters.
struct Entry {
  std::string bytes;
  uint32_t id;
  bool made;
};

// Appends the table of segments that are one token, and the config, to which separators and the table's size are added.
void AddTable(const std::vector<Entry>& entries, image::SegmentConfig* config, std::vector<SectionData>* out);

}  // namespace rankfeed::builder
