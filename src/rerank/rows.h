// SPDX-License-Identifier: MIT
// rerank/rows.h: the rows of one document: its limits, truncation and windows put together. Pure
// arithmetic, O(1) per document and per row.
#pragma once

#include <cstdint>

#include "rerank/truncate.h"
#include "rerank/windows.h"

namespace rankfeed::rerank {

// The options that decide rows. Limits of 0 mean no limit; budget uses kUnlimited for that.
struct RowRules {
  uint32_t budget;  // max_length minus the template's tokens
  uint32_t template_tokens;
  uint32_t max_query_tokens, max_tokens_per_doc;
  uint32_t stride, max_chunks_per_doc;
  uint8_t truncation, truncation_side, overflow;
  bool has_query;  // false: single template
};

// Every row of a document has the same part of the query and one window of the document.
struct DocumentRows {
  rankfeed_status status;
  uint32_t count;         // rows; 0 when status is not OK
  uint32_t query_tokens;  // that stay
  uint32_t base;          // where the part of the document within max_tokens_per_doc begins
  Windows windows;        // over that part
  uint32_t longest_row;   // tokens, template included

  Range document(uint32_t row) const {
    const Range window = windows.At(row);
    return {base + window.begin, base + window.end};
  }
  // Tokens of the document that any row uses.
  Range used() const {
    const Range range = windows.Covered();
    return {base + range.begin, base + range.end};
  }
};

// Part of the query that takes part in rows at all.
Range QueryPart(const RowRules& rules, uint32_t query_tokens);

// query: tokens of that part. E_LIMIT when a row would have more tokens than an int32 counts
// (cu_seqlens).
DocumentRows PlanDocument(const RowRules& rules, uint32_t query, uint32_t document);

}  // namespace rankfeed::rerank
