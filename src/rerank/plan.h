// SPDX-License-Identifier: MIT
// rerank/plan.h: which rows go into one batch. Greedy and in order, so that a batch is known as
// soon as the row after it is; O(1) per row, O(n log n) for sorting.
//
// Budgets as in text-embeddings-inference core/src/queue.rs (padded backends: longest row times
// rows; flash backends: sum of tokens), with the length the batch really has after rounding.
#pragma once

#include <cstdint>
#include <span>

#include "rankfeed/rerank.h"
#include "rerank/batch_layout.h"

namespace rankfeed::rerank {

// Lengths that padded rows may have.
struct PaddingRules {
  uint32_t pad_to_length, pad_to_multiple_of;  // 0: none
  std::span<const uint32_t> buckets;           // ascending; empty: none
};

// The length that rows of up to longest tokens are padded to; false when no rule allows one.
// Order as in tokenizers utils/padding.rs: fixed or longest, then the multiple; then our buckets.
bool PaddedLength(const PaddingRules& rules, uint32_t longest, uint32_t* length);

struct BatchLimits {
  uint32_t max_rows = 0;       // 0: none
  uint64_t max_tokens = 0;     // 0: none
  bool padded_area = false;    // what max_tokens counts: rows * row_length, or tokens
  size_t max_arena_bytes = 0;  // 0: none
};

// A batch being collected.
class BatchPlan {
 public:
  BatchPlan(const TensorSpec& spec, const PaddingRules& padding, const BatchLimits& limits)
      : spec_(spec), padding_(padding), limits_(limits) {}

  // Takes a row of length tokens unless that would break a limit; then the batch stays as it was.
  bool Add(uint32_t length);
  const BatchShape& shape() const { return shape_; }
  uint32_t max_seqlen() const { return longest_; }

 private:
  TensorSpec spec_;
  PaddingRules padding_;
  BatchLimits limits_;
  BatchShape shape_ = {};
  uint32_t longest_ = 0;
};

// Orders rows by length; equal lengths by document and chunk.
void SortRows(uint8_t sort, std::span<rankfeed_batch_row> rows);

}  // namespace rankfeed::rerank
