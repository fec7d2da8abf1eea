// SPDX-License-Identifier: MIT
// rerank/rows.cc: limits first, then windows or truncation.
#include "rerank/rows.h"

namespace rankfeed::rerank {
namespace {

uint32_t OrUnlimited(uint32_t limit) {
  return limit != 0 ? limit : kUnlimited;
}

DocumentRows Failed(rankfeed_status status) {
  DocumentRows rows = {};
  rows.status = status;
  return rows;
}

}  // namespace

Range QueryPart(const RowRules& rules, uint32_t query_tokens) {
  if (!rules.has_query) return {0, 0};
  return Keep(query_tokens, OrUnlimited(rules.max_query_tokens), rules.truncation_side);
}

DocumentRows PlanDocument(const RowRules& rules, uint32_t query, uint32_t document) {
  const uint8_t side = rules.truncation_side;
  const Range part = Keep(document, OrUnlimited(rules.max_tokens_per_doc), side);
  DocumentRows rows = {RANKFEED_OK, 1, query, part.begin, {}, 0};

  const bool fits = rules.budget == kUnlimited || uint64_t{query} + part.size() <= rules.budget;
  if (rules.overflow != RANKFEED_OVERFLOW_DROP && !fits) {
    // Like only_second: the query stays whole and leaves at least one token to the document.
    if (query >= rules.budget) return Failed(RANKFEED_E_TRUNCATION);
    if (!MakeWindows(part.size(), rules.budget - query, rules.stride, rules.overflow, side,
                     rules.max_chunks_per_doc, &rows.windows)) {
      return Failed(RANKFEED_E_TRUNCATION);
    }
    rows.count = rows.windows.count;
  } else {
    const PairCut cut = rules.has_query
                            ? TruncatePair(rules.truncation, query, part.size(), rules.budget)
                            : TruncateSingle(rules.truncation, part.size(), rules.budget);
    if (cut.status != RANKFEED_OK) return Failed(cut.status);
    const Range kept = Keep(part.size(), cut.document, side);
    rows.query_tokens = cut.query;
    rows.base += kept.begin;
    rows.windows = {kept.size(), kept.size(), kept.size(), 1, false, side};
  }
  const uint64_t longest =
      uint64_t{rules.template_tokens} + rows.query_tokens + rows.windows.At(0).size();
  if (longest > 0x7fffffff) return Failed(RANKFEED_E_LIMIT);
  rows.longest_row = static_cast<uint32_t>(longest);
  return rows;
}

}  // namespace rankfeed::rerank
