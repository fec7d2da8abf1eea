// SPDX-License-Identifier: MIT
#include "rerank/scores.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace rankfeed::rerank {
namespace {

constexpr float kMost = std::numeric_limits<float>::max();

std::vector<uint32_t> Order(std::vector<float> scores, uint32_t ties, size_t top_n) {
  std::vector<ScoredDocument> ranked;
  for (uint32_t i = 0; i < scores.size(); ++i) ranked.push_back({{i, scores[i]}, scores[i]});
  RankDocuments(ranked, ties, top_n);
  std::vector<uint32_t> order;
  for (const auto& r : ranked) order.push_back(r.ranked.index);
  order.resize(top_n != 0 ? std::min(top_n, order.size()) : order.size());
  return order;
}

TEST(Scores, Activations) {
  const float logits[] = {1.5f, -2.0f, 0.25f};
  EXPECT_EQ(Activate(RANKFEED_SCORE_RAW, logits, 1), -2.0f);
  EXPECT_FLOAT_EQ(Activate(RANKFEED_SCORE_SIGMOID, logits, 0), 0.81757448f);
  EXPECT_FLOAT_EQ(Activate(RANKFEED_SCORE_SOFTMAX, logits, 0), 0.75947319f);
  float sum = 0;
  for (uint32_t i = 0; i < 3; ++i) sum += Activate(RANKFEED_SCORE_SOFTMAX, logits, i);
  EXPECT_FLOAT_EQ(sum, 1.0f);
}

TEST(Scores, StayFiniteForTheLargestLogits) {
  const float large[] = {3e38f, -3e38f};
  EXPECT_EQ(Activate(RANKFEED_SCORE_SIGMOID, large, 0), 1.0f);
  EXPECT_EQ(Activate(RANKFEED_SCORE_SIGMOID, large, 1), 0.0f);
  EXPECT_EQ(Activate(RANKFEED_SCORE_SOFTMAX, large, 0), 1.0f);
  EXPECT_EQ(Activate(RANKFEED_SCORE_SOFTMAX, large, 1), 0.0f);
  EXPECT_EQ(Margin(RANKFEED_SCORE_SOFTMAX, large, 0), kMost);
  EXPECT_EQ(Margin(RANKFEED_SCORE_SOFTMAX, large, 1), -kMost);
  EXPECT_EQ(Margin(RANKFEED_SCORE_SOFTMAX, {large, 1}, 0), 0.0f);
  const float most[] = {kMost, kMost};
  EXPECT_EQ(Aggregate(RANKFEED_AGGREGATE_MEAN, most), kMost);
}

TEST(Scores, Aggregations) {
  const float rows[] = {0.25f, 0.75f, 0.5f};
  EXPECT_EQ(Aggregate(RANKFEED_AGGREGATE_MAX, rows), 0.75f);
  EXPECT_EQ(Aggregate(RANKFEED_AGGREGATE_FIRST, rows), 0.25f);
  EXPECT_EQ(Aggregate(RANKFEED_AGGREGATE_MEAN, rows), 0.5f);
  const float negative[] = {-3.0f, -2.0f};  // the maximum, not the maximum and zero
  EXPECT_EQ(Aggregate(RANKFEED_AGGREGATE_MAX, negative), -2.0f);
}

TEST(Scores, TiesKeepTheDocumentsOrderOrTurnItAround) {
  const std::vector<float> scores = {1, 3, 2, 3, 1, 3};
  EXPECT_EQ(Order(scores, RANKFEED_TIES_ASCENDING, 0), (std::vector<uint32_t>{1, 3, 5, 2, 0, 4}));
  EXPECT_EQ(Order(scores, RANKFEED_TIES_DESCENDING, 0), (std::vector<uint32_t>{5, 3, 1, 2, 4, 0}));
  EXPECT_EQ(Order(scores, RANKFEED_TIES_ASCENDING, 2), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(Order(scores, RANKFEED_TIES_ASCENDING, 99).size(), 6u);
}

// haiku.rag#529, agentmemory#724: logits that a sigmoid makes 1 or 0 are told apart by the logits.
TEST(Scores, SaturatedScoresRankByLogits) {
  const float logits[] = {40, 41, -200, -150, 41, 200, -201};
  std::vector<ScoredDocument> ranked;
  for (uint32_t i = 0; i < 7; ++i) {
    ranked.push_back({{i, Activate(RANKFEED_SCORE_SIGMOID, logits, i)}, Margin(RANKFEED_SCORE_SIGMOID, logits, i)});
  }
  RankDocuments(ranked, RANKFEED_TIES_ASCENDING, 0);
  std::vector<uint32_t> order;
  for (const auto& r : ranked) order.push_back(r.ranked.index);
  EXPECT_EQ(order, (std::vector<uint32_t>{5, 1, 4, 0, 3, 2, 6}));
  const float three[] = {90, 30, 1}, other[] = {120, 10, 1};
  EXPECT_EQ(Activate(RANKFEED_SCORE_SOFTMAX, three, 0), Activate(RANKFEED_SCORE_SOFTMAX, other, 0));
  EXPECT_LT(Margin(RANKFEED_SCORE_SOFTMAX, three, 0), Margin(RANKFEED_SCORE_SOFTMAX, other, 0));
  EXPECT_FLOAT_EQ(Margin(RANKFEED_SCORE_SOFTMAX, three, 1), 30 - 90);
}

}  // namespace
}  // namespace rankfeed::rerank
