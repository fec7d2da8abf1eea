// SPDX-License-Identifier: MIT
// rerank/truncate.h: how many tokens of query and document stay in a row. Pure arithmetic, O(1).
//
// References: HuggingFace tokenizers utils/truncation.rs (0.22.2) and transformers
// tokenization_utils_base.py truncate_sequences (4.x). In 0.23.1 and 0.23.2, tokenizers stops tokenizing
// after max_length tokens and so sees shorter inputs: with an odd budget its longest_first can then
// put the odd token elsewhere. The rule here is the one of the full lengths.
#pragma once

#include <cstdint>

#include "rankfeed/rerank.h"

namespace rankfeed::rerank {

inline constexpr uint32_t kUnlimited = 0xffffffffu;

struct Range {
  uint32_t begin, end;
  uint32_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// The keep tokens of n that stay when side is cut off; all when keep >= n.
inline Range Keep(uint32_t n, uint32_t keep, uint8_t side) {
  if (keep >= n) return {0, n};
  return side == RANKFEED_LEFT ? Range{n - keep, n} : Range{0, keep};
}

struct PairCut {
  rankfeed_status status;
  uint32_t query, document;  // tokens that stay
  friend bool operator==(const PairCut&, const PairCut&) = default;
};

// budget: tokens that query and document may have together; kUnlimited for no limit.
PairCut TruncatePair(uint8_t strategy, uint32_t query, uint32_t document, uint32_t budget);

// A single sequence, which is the first one to the strategies.
PairCut TruncateSingle(uint8_t strategy, uint32_t document, uint32_t budget);

}  // namespace rankfeed::rerank
