// SPDX-License-Identifier: MIT
// rerank/truncate.cc: the strategies, each as a closed form.
#include "rerank/truncate.h"

#include <algorithm>
#include <utility>

namespace rankfeed::rerank {
namespace {

// tokenizers: the shorter side stays whole while it fits in half of the budget; otherwise the
// shorter gets half, the longer half and the odd token. Equal lengths count the query as shorter.
PairCut LongestFirst(uint32_t query, uint32_t document, uint32_t budget) {
  const bool swap = query > document;
  uint32_t shorter = swap ? document : query;
  uint32_t longer;
  if (shorter <= budget / 2) {
    longer = budget - shorter;
  } else {
    shorter = budget / 2;
    longer = shorter + budget % 2;
  }
  if (swap) std::swap(shorter, longer);
  return {RANKFEED_OK, shorter, longer};
}

// transformers: as if tokens were dropped one by one from the longer side, from the document when
// both are equal, so the query keeps the odd token.
PairCut LongestFirstSlow(uint32_t query, uint32_t document, uint32_t budget) {
  const uint32_t shorter = std::min(query, document);
  if (shorter <= budget / 2) {
    return query < document ? PairCut{RANKFEED_OK, query, budget - query}
                            : PairCut{RANKFEED_OK, budget - document, document};
  }
  return {RANKFEED_OK, budget / 2 + budget % 2, budget / 2};
}

}  // namespace

PairCut TruncatePair(uint8_t strategy, uint32_t query, uint32_t document, uint32_t budget) {
  const uint64_t total = uint64_t{query} + document;
  if (budget == kUnlimited || total <= budget) return {RANKFEED_OK, query, document};
  if (strategy == RANKFEED_TRUNCATE_NONE) return {RANKFEED_E_TOO_LONG, 0, 0};
  if (budget == 0) return {RANKFEED_OK, 0, 0};  // before the strategy is looked at, as there
  switch (strategy) {
    case RANKFEED_TRUNCATE_LONGEST_FIRST:
      return LongestFirst(query, document, budget);
    case RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW:
      return LongestFirstSlow(query, document, budget);
    case RANKFEED_TRUNCATE_ONLY_FIRST:
      if (document >= budget) return {RANKFEED_E_TRUNCATION, 0, 0};
      return {RANKFEED_OK, budget - document, document};
    case RANKFEED_TRUNCATE_ONLY_SECOND:
      if (query >= budget) return {RANKFEED_E_TRUNCATION, 0, 0};
      return {RANKFEED_OK, query, budget - query};
    case RANKFEED_TRUNCATE_TEXT_END: {
      const uint32_t kept = std::min(query, budget);
      return {RANKFEED_OK, kept, budget - kept};
    }
    default:
      return {RANKFEED_E_ARGUMENT, 0, 0};
  }
}

PairCut TruncateSingle(uint8_t strategy, uint32_t document, uint32_t budget) {
  if (budget == kUnlimited || document <= budget) return {RANKFEED_OK, 0, document};
  if (strategy == RANKFEED_TRUNCATE_NONE) return {RANKFEED_E_TOO_LONG, 0, 0};
  return {RANKFEED_OK, 0, budget};
}

}  // namespace rankfeed::rerank
