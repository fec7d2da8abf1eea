// SPDX-License-Identifier: MIT
// rerank/scores.h: logits of rows to scores of documents, and documents to a ranking. No memory of
// its own. O(rows * labels), O(documents log documents).
#pragma once

#include <cstdint>
#include <span>

#include "rankfeed/rerank.h"

namespace rankfeed::rerank {

// Score of one row from its logits, which are finite; so is the score.
float Activate(uint32_t activation, std::span<const float> logits, uint32_t label);

// Score of a document from those of its rows in chunk order; at least one.
float Aggregate(uint32_t aggregation, std::span<const float> rows);

// The number that tells rows apart whose scores an activation made equal. It grows with the score, in
// float's whole range. RAW and SIGMOID: the logit; SOFTMAX: how far it is above the others' sum, in logarithms; finite.
float Margin(uint32_t activation, std::span<const float> logits, uint32_t label);

struct ScoredDocument {
  rankfeed_ranked ranked;
  float margin;
};

// Best first, equal scores by their margins, equal margins as ties says. Moves the best top_n (0:
// all) to the front, in order.
void RankDocuments(std::span<ScoredDocument> documents, uint32_t ties, size_t top_n);

}  // namespace rankfeed::rerank
