// SPDX-License-Identifier: MIT
// rerank/windows.h: overlapping windows over the ids of one long document. Pure arithmetic, O(1).
//
// The document is tokenized once and its ids are cut: tokenizing cut text would give other ids.
// References: tokenizers tokenizer/encoding.rs Encoding::truncate (0.22.2) for windows whose last
// one is short; the reranker_tokenize_preproc of Jina reranker v2's modelling code for windows
// whose last one is aligned to the end.
#pragma once

#include <cstdint>

#include "rerank/truncate.h"

namespace rankfeed::rerank {

struct Windows {
  uint32_t tokens;  // of the document
  uint32_t size;    // of a window
  uint32_t step;    // size minus overlap, at least 1
  uint32_t count;   // at least 1
  bool aligned_last;
  uint8_t side;  // RANKFEED_LEFT: counted from the end

  // Tokens of window i, i < count.
  Range At(uint32_t i) const;
  // The tokens that the windows cover together.
  Range Covered() const;
};

// Jina clamps the overlap to a quarter of the window.
inline constexpr uint32_t kAlignedOverlapDivisor = 4;

// size >= 1. False when stride leaves no step and more than one window would be needed.
// max_windows 0: no limit.
bool MakeWindows(uint32_t tokens, uint32_t size, uint32_t stride, uint8_t overflow, uint8_t side,
                 uint32_t max_windows, Windows* out);

}  // namespace rankfeed::rerank
