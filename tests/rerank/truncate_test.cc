// SPDX-License-Identifier: MIT
#include "rerank/truncate.h"

#include <gtest/gtest.h>

#include "rerank/reference.h"

namespace rankfeed::rerank {
namespace {

constexpr uint8_t kStrategies[] = {RANKFEED_TRUNCATE_NONE, RANKFEED_TRUNCATE_LONGEST_FIRST,
                                   RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW,
                                   RANKFEED_TRUNCATE_ONLY_FIRST, RANKFEED_TRUNCATE_ONLY_SECOND};

TEST(Truncate, EverySmallPairAsTheReference) {
  const uint32_t n = 14;
  for (uint32_t query = 0; query <= n; ++query) {
    for (uint32_t document = 0; document <= n; ++document) {
      for (uint32_t budget = 0; budget <= 2 * n + 1; ++budget) {
        for (const uint8_t strategy : kStrategies) {
          rankfeed_rerank_options options = {};
          options.truncation = strategy;
          options.max_length = budget + 1;
          const auto rows = plain::RowsOf(plain::Ids(query), plain::Ids(document),
                                              options, /*specials=*/1);
          const PairCut cut = TruncatePair(strategy, query, document, budget);
          ASSERT_EQ(cut.status, rows.status)
              << int{strategy} << " " << query << "+" << document << " in " << budget;
          if (cut.status != RANKFEED_OK) continue;
          ASSERT_EQ(cut.query, rows.rows[0].first.size())
              << int{strategy} << " " << query << "+" << document << " in " << budget;
          ASSERT_EQ(cut.document, rows.rows[0].second.size());
        }
      }
    }
  }
}

TEST(Truncate, OddTokenOfLongestFirst) {
  // The lengths of tokenizers 0.22.2 for a budget of 13 and of 9.
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST, 100, 60, 13), (PairCut{0, 7, 6}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST, 60, 100, 13), (PairCut{0, 6, 7}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST, 60, 60, 13), (PairCut{0, 6, 7}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST, 8, 15, 9), (PairCut{0, 4, 5}));
  // transformers' Python tokenizers.
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW, 60, 100, 13), (PairCut{0, 7, 6}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW, 60, 60, 13), (PairCut{0, 7, 6}));
}

TEST(Truncate, OnlySecondKeepsAtLeastOneToken) {
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_ONLY_SECOND, 8, 15, 8).status, RANKFEED_E_TRUNCATION);
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_ONLY_SECOND, 8, 15, 9), (PairCut{0, 8, 1}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_ONLY_SECOND, 8, 0, 8), (PairCut{0, 8, 0}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_ONLY_FIRST, 8, 15, 15).status, RANKFEED_E_TRUNCATION);
}

TEST(Truncate, LimitsThatDoNotBind) {
  for (const uint8_t strategy : kStrategies) {
    EXPECT_EQ(TruncatePair(strategy, 7, 9, 16), (PairCut{0, 7, 9}));
    EXPECT_EQ(TruncatePair(strategy, 4000000000u, 4000000000u, kUnlimited),
              (PairCut{0, 4000000000u, 4000000000u}));
  }
}

TEST(Truncate, SumsAbove32Bits) {
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_LONGEST_FIRST, 4000000000u, 4000000000u, 512),
            (PairCut{0, 256, 256}));
}

TEST(Truncate, TextEndCutsTheDocumentFirst) {
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_TEXT_END, 5, 9, 14), (PairCut{0, 5, 9}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_TEXT_END, 5, 9, 8), (PairCut{0, 5, 3}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_TEXT_END, 5, 9, 5), (PairCut{0, 5, 0}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_TEXT_END, 5, 9, 3), (PairCut{0, 3, 0}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_TEXT_END, 5, 9, 0), (PairCut{0, 0, 0}));
  EXPECT_EQ(TruncatePair(RANKFEED_TRUNCATE_TEXT_END, 4000000000u, 4000000000u, 512), (PairCut{0, 512, 0}));
}

TEST(Truncate, Single) {
  EXPECT_EQ(TruncateSingle(RANKFEED_TRUNCATE_LONGEST_FIRST, 9, 5), (PairCut{0, 0, 5}));
  EXPECT_EQ(TruncateSingle(RANKFEED_TRUNCATE_ONLY_FIRST, 9, 0), (PairCut{0, 0, 0}));
  EXPECT_EQ(TruncateSingle(RANKFEED_TRUNCATE_NONE, 9, 8).status, RANKFEED_E_TOO_LONG);
  EXPECT_EQ(TruncateSingle(RANKFEED_TRUNCATE_NONE, 9, 9), (PairCut{0, 0, 9}));
}

TEST(Truncate, Sides) {
  EXPECT_EQ(Keep(9, 4, RANKFEED_RIGHT), (Range{0, 4}));
  EXPECT_EQ(Keep(9, 4, RANKFEED_LEFT), (Range{5, 9}));
  EXPECT_EQ(Keep(9, 9, RANKFEED_LEFT), (Range{0, 9}));
  EXPECT_EQ(Keep(9, kUnlimited, RANKFEED_LEFT), (Range{0, 9}));
}

}  // namespace
}  // namespace rankfeed::rerank
