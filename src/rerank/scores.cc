// SPDX-License-Identifier: MIT
// rerank/scores.cc: activation, aggregation over windows, ranking.
#include "rerank/scores.h"

#include <algorithm>
#include <cmath>

namespace rankfeed::rerank {

float Activate(uint32_t activation, std::span<const float> logits, uint32_t label) {
  const double logit = logits[label];
  if (activation == RANKFEED_SCORE_SIGMOID) {
    return static_cast<float>(1.0 / (1.0 + std::exp(-logit)));
  }
  if (activation == RANKFEED_SCORE_SOFTMAX) {
    const double top = *std::max_element(logits.begin(), logits.end());
    // Differences to the largest logit cannot overflow exp; equal infinities count as no
    // difference.
    const auto weight = [top](double x) { return x == top ? 1.0 : std::exp(x - top); };
    double sum = 0;
    for (const float x : logits) sum += weight(x);
    return static_cast<float>(weight(logit) / sum);
  }
  return logits[label];
}

float Margin(uint32_t activation, std::span<const float> logits, uint32_t label) {
  if (activation != RANKFEED_SCORE_SOFTMAX) return logits[label];
  double top = -HUGE_VAL;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != label) top = std::max(top, double{logits[i]});
  }
  if (std::isinf(top) || std::isinf(logits[label])) {
    return logits[label] == top ? 0 : logits[label] > top ? HUGE_VALF : -HUGE_VALF;
  }
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != label) sum += std::exp(logits[i] - top);
  }
  return static_cast<float>(logits[label] - top - std::log(sum));
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
  // The mean of infinities of both signs is not a number; it must still have a place in the order.
  const auto number = [](float x) { return std::isnan(x) ? -HUGE_VALF : x; };
  const auto better = [=](const ScoredDocument& a, const ScoredDocument& b) {
    const float score = number(a.ranked.score), other = number(b.ranked.score);
    if (score != other) return score > other;
    const float margin = number(a.margin), second = number(b.margin);
    if (margin != second) return margin > second;
    return ascending ? a.ranked.index < b.ranked.index : a.ranked.index > b.ranked.index;
  };
  if (top_n == 0 || top_n > documents.size()) top_n = documents.size();
  std::partial_sort(documents.begin(), documents.begin() + static_cast<ptrdiff_t>(top_n),
                    documents.end(), better);
}

}  // namespace rankfeed::rerank
