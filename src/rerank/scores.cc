// SPDX-License-Identifier: MIT
// rerank/scores.cc: activation, aggregation over windows, ranking.
#include "rerank/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rankfeed::rerank {

float Activate(uint32_t activation, std::span<const float> logits, uint32_t label) {
  const double logit = logits[label];
  if (activation == RANKFEED_SCORE_SIGMOID) {
    return static_cast<float>(1.0 / (1.0 + std::exp(-logit)));
  }
  if (activation == RANKFEED_SCORE_SOFTMAX) {
    // Differences to the largest logit cannot overflow exp.
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(x - top);
    return static_cast<float>(std::exp(logit - top) / sum);
  }
  return logits[label];
}

float Margin(uint32_t activation, std::span<const float> logits, uint32_t label) {
  if (activation != RANKFEED_SCORE_SOFTMAX) return logits[label];
  if (logits.size() == 1) return 0;  // its share is 1 whatever it is
  double top = -HUGE_VAL;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != label) top = std::max(top, double{logits[i]});
  }
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != label) sum += std::exp(logits[i] - top);
  }
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(logits[label] - top - std::log(sum), -kMost, kMost));
}

float Aggregate(uint32_t aggregation, std::span<const float> rows) {
  if (aggregation == RANKFEED_AGGREGATE_FIRST) return rows[0];
  if (aggregation == RANKFEED_AGGREGATE_MEAN) {
    double sum = 0;
    for (const float score : rows) sum += score;
    return static_cast<float>(sum / static_cast<double>(rows.size()));
  }
  return *std::max_element(rows.begin(), rows.end());
}

void RankDocuments(std::span<ScoredDocument> documents, uint32_t ties, size_t top_n) {
  const bool ascending = ties == RANKFEED_TIES_ASCENDING;
  const auto better = [=](const ScoredDocument& a, const ScoredDocument& b) {
    if (a.ranked.score != b.ranked.score) return a.ranked.score > b.ranked.score;
    if (a.margin != b.margin) return a.margin > b.margin;
    return ascending ? a.ranked.index < b.ranked.index : a.ranked.index > b.ranked.index;
  };
  if (top_n == 0 || top_n > documents.size()) top_n = documents.size();
  std::partial_sort(documents.begin(), documents.begin() + static_cast<ptrdiff_t>(top_n),
                    documents.end(), better);
}

}  // namespace rankfeed::rerank
