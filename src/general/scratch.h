// SPDX-License-Identifier: MIT
// general/scratch.h: the working arrays of the general path, carved out of the caller's scratch.
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "general/added_tokens.h"
#include "general/best_path.h"
#include "general/long_path.h"
#include "image/model.h"

namespace rankfeed::general {

// What the general path works in. Most stretches are encoded in arrays that hold all of one, sized
// for the worst growth of the normalizer (Config::growth_*). Where the model's characters can be
// told one by one (hf_characters.h, sp_long.h) they are for a text of kArrayBytes, and stretches
// that do not fit are encoded in `lengthy`, in a time that is a multiple of that; otherwise they
// are for max_text_bytes, so a text within that always fits. Normalizers that cannot work in place
// alternate between the two texts.
struct Scratch {
  static constexpr uint32_t kArrayBytes = 65 << 10;  // texts of 64 KiB, and a little
  static constexpr uint32_t kBlock = 24 << 10, kCheckpoints = 16,
                            kCheckpointBytes = 3 << 19;  // of lengthy
  static_assert(LongScratch::RoomFor(kBlock, LongScratch::kMaxPieceChars + 1) < kArrayBytes);

  uint32_t text_capacity = 0;  // bytes in each text, and entries in every array below
  uint32_t run_capacity = 0;   // bytes in those that decoders use, the same or more
  char* text[2] = {};
  // Original byte range of each normalized byte; null unless the limits say with_offsets.
  uint32_t* begin[2] = {};
  uint32_t* end[2] = {};
  // Piece boundaries found by the pre-tokenizer, for pipelines that need them all at once.
  uint32_t* split_begin = nullptr;
  uint32_t* split_end = nullptr;
  LongScratch lengthy;  // its arrays are those above and below
  Lattice lattice = {};
  AddedTokenFilter added;

  // Whether a model's encoder, made for offsets or not, has such bounds.
  static bool IsBounded(const Model& model, bool with_offsets);

  // What there is to hold.
  struct Sizes {
    uint32_t bound;        // bytes of the longest text when it is normalized
    uint32_t array_bound;  // the same of one of kArrayBytes
    uint32_t ids;          // of a text to decode
    bool with_offsets;
  };

  // Measures (layout over null) or carves. text[0] comes first and lattice.value last of what
  // working_begin() and working_end() enclose.
  void Carve(Layout& layout, const Model& model, const Sizes& sizes);

  // The arrays above: they hold nothing between two calls.
  char* working_begin() const { return text[0]; }
  char* working_end() const {
    return reinterpret_cast<char*>(lattice.value + size_t{text_capacity} + 1);
  }

 private:
  void CarveAs(Layout& layout, const Model& model, const Sizes& sizes, bool bounded);
};

}  // namespace rankfeed::general
