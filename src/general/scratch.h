// SPDX-License-Identifier: MIT
// general/scratch.h: the working arrays of one encoder, carved out of the caller's scratch.
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "simd/kernels.h"
#include "general/best_path.h"
#include "segment/engine.h"

namespace rankfeed {

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
  general::Lattice lattice = {};
  segment::Scratch words = {};
  const simd::Kernels* kernels = nullptr;
  // First bytes of the added tokens that are matched on raw text; unused if one is not ASCII.
  simd::ByteSet added_first = {};
  bool added_first_usable = false;

  // Measures (layout over null) or carves; the one description of the scratch. text[0] comes first
  // and lattice.value last of what working_begin() and working_end() enclose.
  void Carve(Layout& layout, uint32_t capacity, bool with_offsets, uint32_t cache_bytes) {
    text_capacity = capacity;
    for (int i = 0; i < 2; ++i) {
      text[i] = layout.Take<char>(capacity);
      begin[i] = with_offsets ? layout.Take<uint32_t>(capacity) : nullptr;
      end[i] = with_offsets ? layout.Take<uint32_t>(capacity) : nullptr;
    }
    split_begin = layout.Take<uint32_t>(capacity);
    split_end = layout.Take<uint32_t>(capacity);
    lattice.best = layout.Take<double>(size_t{capacity} + 1);
    lattice.link = layout.Take<uint32_t>(size_t{capacity} + 1);
    lattice.value = layout.Take<uint32_t>(size_t{capacity} + 1);
    words.Carve(layout, cache_bytes);
  }

  // The arrays above that grow with the text: they hold nothing between two calls.
  char* working_begin() const { return text[0]; }
  char* working_end() const {
    return reinterpret_cast<char*>(lattice.value + size_t{text_capacity} + 1);
  }

  // Fills in what depends on the model; once, after carving.
  void Prepare(const Model& model) {
    words.kernels = kernels = &simd::Dispatch();
    words.word_kernels = segment::DispatchKernels();
    words.look_up = segment::DispatchLookUp();
    words.cache.Clear();
    added_first_usable = true;
    for (const image::AddedToken& token : model.added_tokens) {
      if ((token.flags & image::kNormalized) != 0) continue;
      const auto first = static_cast<uint8_t>(model.text(token.content)[0]);
      added_first_usable &= first < 0x80;
      if (first < 0x80) added_first.Add(first);
    }
  }
};

}  // namespace rankfeed
