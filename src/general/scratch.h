// SPDX-License-Identifier: MIT
// general/scratch.h: the working arrays of the general path, carved out of the caller's scratch.
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "general/added_tokens.h"
#include "general/best_path.h"

namespace rankfeed::general {

// Sized for the worst growth of the normalizer (Config::growth_*), so a text within max_text_bytes
// always fits. Normalizers that cannot work in place alternate between the two texts.
struct Scratch {
  uint32_t text_capacity = 0;  // bytes in each text, and entries in every array below
  char* text[2] = {};
  // Original byte range of each normalized byte; null unless the limits say with_offsets.
  uint32_t* begin[2] = {};
  uint32_t* end[2] = {};
  // Piece boundaries found by the pre-tokenizer, for pipelines that need them all at once.
  uint32_t* split_begin = nullptr;
  uint32_t* split_end = nullptr;
  Lattice lattice = {};
  AddedTokenFilter added;

  // Measures (layout over null) or carves. text[0] comes first and lattice.value last of what
  // working_begin() and working_end() enclose.
  void Carve(Layout& layout, uint32_t capacity, bool with_offsets) {
    text_capacity = capacity;
    for (int i = 0; i < 2; ++i) {
      text[i] = layout.Take<char>(capacity);
      begin[i] = with_offsets ? layout.Take<uint32_t>(capacity) : nullptr;
      end[i] = with_offsets ? layout.Take<uint32_t>(capacity) : nullptr;
    }
    split_begin = layout.Take<uint32_t>(capacity);
    split_end = layout.Take<uint32_t>(capacity);
    lattice.Carve(layout, capacity);
  }

  // The arrays above, which grow with the text: they hold nothing between two calls.
  char* working_begin() const { return text[0]; }
  char* working_end() const {
    return reinterpret_cast<char*>(lattice.value + size_t{text_capacity} + 1);
  }
};

}  // namespace rankfeed::general
