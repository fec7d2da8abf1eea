// SPDX-License-Identifier: MIT
// reference/scratch.h: the working arrays of the general path, carved out of the caller's scratch.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "image/model.h"
#include "models/unigram/best_path.h"
#include "stretch/added_tokens.h"
#include "stretch/cuts.h"

namespace rankfeed::reference {

// Scores of a text that comes in parts, whose best path passes between them: up to a part, and
// after it. A whole text begins at 0.
struct CarriedScore {
  double before = 0, after = 0;
};

// Arrays that the general path works in: they hold one stretch, or one part of a stretch that can
// be cut. Normalizers that cannot work in place alternate between the two texts.
struct Scratch {
  // rankfeed_limits::max_stretch_bytes where that is 0.
  static constexpr uint32_t kDefaultStretchBytes = 256 << 10;
  // The arrays hold so many times as many normalized bytes as max_stretch_bytes, or the most that texts
  // of max_text_bytes become if that is less.
  static constexpr uint32_t kGrowth = 2;

  uint32_t max_stretch_bytes = 0;
  uint32_t text_capacity = 0;  // bytes in each text, and entries in every array below
  uint32_t word_capacity = 0;  // BPE: symbols of a split that merges
  uint32_t run_capacity = 0;   // bytes in those that decoders use, the same or more
  char* text[2] = {};
  // Original byte range of each normalized byte; null unless the limits say with_offsets.
  uint32_t* begin[2] = {};
  uint32_t* end[2] = {};
  // Piece boundaries found by the pre-tokenizer, for pipelines that need them all at once.
  uint32_t* split_begin = nullptr;
  uint32_t* split_end = nullptr;
  unigram::ScoreLattice lattice = {};
  AddedTokenFilter added;
  const Cuts* cuts = nullptr;  // where a long stretch is cut into parts; null: nowhere

  // Sizes of what there is to hold.
  struct Sizes {
    uint32_t stretch_bytes;   // of the longest stretch
    uint32_t text_capacity, word_capacity;  // as above
    uint32_t decoder_bytes;   // bytes that a decoder may hold back
    bool with_offsets;
  };

  // Sizes for texts and stretches of at most so many bytes, where `bound` bytes are the most that
  // max_text_bytes become.
  static Sizes SizesFor(const Model& model, uint32_t max_text_bytes, uint32_t max_stretch_bytes,
                        uint32_t bound, bool with_offsets);

  // Whether a stretch or a part of so many bytes may be encoded after so many tokens: it becomes no
  // more of them than there is room for bytes, and 32 bits count them.
  bool Admits(uint32_t bytes, uint32_t token_count) const {
    return bytes <= max_stretch_bytes && text_capacity <= ~token_count;
  }

  // Measures (layout over null) or carves. text[0] comes first and lattice.value last of what
  // working_begin() and working_end() enclose.
  void Carve(Layout& layout, const Model& model, const Sizes& sizes);

  // The arrays above: they hold nothing between two calls.
  char* working_begin() const { return text[0]; }
  char* working_end() const {
    return reinterpret_cast<char*>(lattice.value + size_t{text_capacity} + 1);
  }
};

}  // namespace rankfeed::reference
