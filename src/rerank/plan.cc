// SPDX-License-Identifier: MIT
// rerank/plan.cc: padded lengths, batch limits, order.
#include "rerank/plan.h"

#include <algorithm>

namespace rankfeed::rerank {

bool PaddedLength(const PaddingRules& rules, uint32_t longest, uint32_t* out) {
  uint64_t length = longest;
  if (rules.pad_to_length != 0) {
    if (longest > rules.pad_to_length) return false;
    length = rules.pad_to_length;
  }
  if (const uint64_t multiple = rules.pad_to_multiple_of; multiple != 0) {
    length = (length + multiple - 1) / multiple * multiple;
  }
  if (!rules.buckets.empty()) {
    const auto bucket = std::lower_bound(rules.buckets.begin(), rules.buckets.end(), length);
    if (bucket == rules.buckets.end()) return false;
    length = *bucket;
  }
  if (length > 0x7fffffff) return false;
  *out = static_cast<uint32_t>(length);
  return true;
}

bool BatchPlan::Add(uint32_t length) {
  const uint32_t longest = std::max(longest_, length);
  BatchShape shape = {shape_.rows + 1, longest, shape_.tokens + length};
  if (spec_.layout == RANKFEED_PADDED) {
    if (!PaddedLength(padding_, longest, &shape.row_length)) return false;
  }
  if (limits_.max_rows != 0 && shape.rows > limits_.max_rows) return false;
  if (limits_.max_tokens != 0) {
    const uint64_t used =
        limits_.padded_area ? uint64_t{shape.rows} * shape.row_length : shape.tokens;
    if (used > limits_.max_tokens) return false;
  }
  rankfeed_batch carved = {};
  if (CarveBatch(spec_, shape, nullptr, &carved) != RANKFEED_OK) return false;
  if (limits_.max_arena_bytes != 0 && carved.arena_size > limits_.max_arena_bytes) return false;
  shape_ = shape;
  longest_ = longest;
  return true;
}

void SortRows(uint8_t sort, std::span<rankfeed_batch_row> rows) {
  if (sort == RANKFEED_SORT_NONE) return;
  const bool descending = sort == RANKFEED_SORT_DESCENDING;
  // A total order, so std::sort (which, unlike stable_sort, needs no memory) is stable here.
  std::sort(rows.begin(), rows.end(),
            [descending](const rankfeed_batch_row& a, const rankfeed_batch_row& b) {
              if (a.length != b.length)
                return descending ? a.length > b.length : a.length < b.length;
              if (a.document != b.document) return a.document < b.document;
              return a.chunk < b.chunk;
            });
}

}  // namespace rankfeed::rerank
