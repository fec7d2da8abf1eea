// SPDX-License-Identifier: MIT
#include "rerank/plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace rankfeed::rerank {
namespace {

constexpr TensorSpec kPadded = {RANKFEED_PADDED, RANKFEED_INT32, 0};
constexpr TensorSpec kPacked = {RANKFEED_PACKED, RANKFEED_INT32, 0};

// Rows of each batch when rows of these lengths are taken in order.
std::vector<uint32_t> Batches(const std::vector<uint32_t>& lengths, const TensorSpec& spec,
                              const PaddingRules& padding, const BatchLimits& limits) {
  std::vector<uint32_t> batches;
  size_t next = 0;
  while (next < lengths.size()) {
    BatchPlan plan(spec, padding, limits);
    while (next < lengths.size() && plan.Add(lengths[next])) ++next;
    if (plan.shape().rows == 0) return {};  // a row that fits nowhere
    batches.push_back(plan.shape().rows);
  }
  return batches;
}

TEST(Plan, PaddedLengths) {
  uint32_t length = 0;
  const uint32_t buckets[] = {64, 128, 512};
  EXPECT_TRUE(PaddedLength({0, 0, {}}, 77, &length));
  EXPECT_EQ(length, 77u);
  EXPECT_TRUE(PaddedLength({0, 8, {}}, 77, &length));
  EXPECT_EQ(length, 80u);
  EXPECT_TRUE(PaddedLength({0, 8, {}}, 80, &length));
  EXPECT_EQ(length, 80u);
  EXPECT_TRUE(PaddedLength({100, 0, {}}, 77, &length));
  EXPECT_EQ(length, 100u);
  EXPECT_TRUE(PaddedLength({100, 8, {}}, 77, &length));
  EXPECT_EQ(length, 104u);
  EXPECT_FALSE(PaddedLength({100, 8, {}}, 101, &length));
  EXPECT_TRUE(PaddedLength({0, 0, buckets}, 64, &length));
  EXPECT_EQ(length, 64u);
  EXPECT_TRUE(PaddedLength({0, 0, buckets}, 65, &length));
  EXPECT_EQ(length, 128u);
  EXPECT_TRUE(PaddedLength({0, 100, buckets}, 65, &length));
  EXPECT_EQ(length, 128u);
  EXPECT_FALSE(PaddedLength({0, 0, buckets}, 513, &length));
  EXPECT_TRUE(PaddedLength({0, 0, {}}, 0, &length));
  EXPECT_EQ(length, 0u);
  EXPECT_FALSE(PaddedLength({0, 0x80000000u, {}}, 1, &length));
}

TEST(Plan, RowLimit) {
  EXPECT_EQ(Batches({1, 2, 3, 4, 5}, kPadded, {}, {.max_rows = 2}),
            (std::vector<uint32_t>{2, 2, 1}));
  EXPECT_EQ(Batches({1, 2, 3, 4, 5}, kPadded, {}, {}), (std::vector<uint32_t>{5}));
}

TEST(Plan, PaddedAreaCountsTheRoundedLength) {
  const BatchLimits limits = {.max_tokens = 64, .padded_area = true};
  EXPECT_EQ(Batches({10, 10, 10, 10, 10, 10}, kPadded, {}, limits), (std::vector<uint32_t>{6}));
  EXPECT_EQ(Batches({10, 10, 10, 10, 10, 10}, kPadded, {0, 16, {}}, limits),
            (std::vector<uint32_t>{4, 2}));
  // A longer row makes all rows before it longer.
  EXPECT_EQ(Batches({10, 10, 30, 10, 10}, kPadded, {}, limits), (std::vector<uint32_t>{2, 2, 1}));
}

TEST(Plan, PackedSum) {
  const BatchLimits limits = {.max_tokens = 30};
  EXPECT_EQ(Batches({10, 10, 10, 10, 25, 6}, kPacked, {}, limits),
            (std::vector<uint32_t>{3, 1, 1, 1}));
}

TEST(Plan, ArenaLimit) {
  // 64 int32 are 256 bytes, one row of the smallest tensor.
  EXPECT_EQ(Batches({64, 64, 64, 64}, kPadded, {}, {.max_arena_bytes = 512}),
            (std::vector<uint32_t>{2, 2}));
  EXPECT_EQ(Batches({64, 64, 64, 64}, kPadded, {}, {.max_arena_bytes = 255}),
            (std::vector<uint32_t>{}));
}

TEST(Plan, RefusedRowLeavesTheBatchAsItWas) {
  BatchPlan plan(kPadded, PaddingRules{}, BatchLimits{.max_tokens = 20, .padded_area = true});
  ASSERT_TRUE(plan.Add(9));
  ASSERT_FALSE(plan.Add(11));
  EXPECT_EQ(plan.shape().rows, 1u);
  EXPECT_EQ(plan.shape().row_length, 9u);
  EXPECT_EQ(plan.max_seqlen(), 9u);
  EXPECT_TRUE(plan.Add(10));
}

TEST(Plan, SortIsStable) {
  const uint32_t lengths[] = {5, 9, 5, 7, 9, 5};
  std::vector<rankfeed_batch_row> rows;
  for (uint32_t i = 0; i < 6; ++i) {
    rankfeed_batch_row row = {};
    row.document = i / 2;
    row.chunk = i % 2;
    row.length = lengths[i];
    rows.push_back(row);
  }
  const auto order = [&](uint8_t sort) {
    auto sorted = rows;
    SortRows(sort, sorted);
    std::vector<uint32_t> out;
    for (const auto& row : sorted) out.push_back(row.document * 2 + row.chunk);
    return out;
  };
  EXPECT_EQ(order(RANKFEED_SORT_NONE), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(order(RANKFEED_SORT_DESCENDING), (std::vector<uint32_t>{1, 4, 3, 0, 2, 5}));
  EXPECT_EQ(order(RANKFEED_SORT_ASCENDING), (std::vector<uint32_t>{0, 2, 5, 3, 1, 4}));
}

}  // namespace
}  // namespace rankfeed::rerank
