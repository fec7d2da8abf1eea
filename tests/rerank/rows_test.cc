// SPDX-License-Identifier: MIT
#include "rerank/rows.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "rerank/reference.h"

namespace rankfeed::rerank {
namespace {

plain::Ids Count(uint32_t n, int32_t from) {
  plain::Ids ids(n);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

TEST(Rows, RandomOptionsAsTheReference) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  uint32_t windowed = 0, failed = 0;
  for (int i = 0; i < 200000; ++i) {
    const uint32_t specials = below(5), query = below(30), document = below(80);
    rankfeed_rerank_options o = {};
    o.max_length = below(4) == 0 ? 0 : specials + below(60);
    if (o.max_length == 0 && specials == 0) o.max_length = 1;
    o.truncation = static_cast<uint8_t>(below(5));
    o.truncation_side = static_cast<uint8_t>(below(2));
    o.max_query_tokens = below(3) == 0 ? below(20) : 0;
    o.max_tokens_per_doc = below(3) == 0 ? below(60) : 0;
    if (o.max_length > specials && below(2) == 0) {
      o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
      o.overflow = static_cast<uint8_t>(1 + below(2));
      o.stride = below(o.max_length - specials);
      o.max_chunks_per_doc = below(4);
    }
    const RowRules rules = {o.max_length != 0 ? o.max_length - specials : kUnlimited,
                            specials,
                            o.max_query_tokens,
                            o.max_tokens_per_doc,
                            o.stride,
                            o.max_chunks_per_doc,
                            o.truncation,
                            o.truncation_side,
                            o.overflow,
                            true};
    const auto expected = plain::RowsOf(Count(query, 0), Count(document, 1000), o, specials);
    const Range part = QueryPart(rules, query);
    const DocumentRows rows = PlanDocument(rules, part.size(), document);
    ASSERT_EQ(rows.status, expected.status) << i;
    ASSERT_EQ(rows.count, expected.rows.size()) << i;
    failed += rows.status != RANKFEED_OK;
    windowed += rows.count > 1;
    uint32_t longest = 0;
    for (uint32_t r = 0; r < rows.count; ++r) {
      const auto& [query_ids, document_ids] = expected.rows[r];
      const Range kept = Keep(part.size(), rows.query_tokens, o.truncation_side);
      ASSERT_EQ(Count(kept.size(), static_cast<int32_t>(part.begin + kept.begin)), query_ids) << i;
      const Range range = rows.document(r);
      ASSERT_EQ(Count(range.size(), static_cast<int32_t>(1000 + range.begin)), document_ids) << i;
      ASSERT_GE(range.begin, rows.used().begin);
      ASSERT_LE(range.end, rows.used().end);
      longest = std::max(longest, specials + kept.size() + range.size());
    }
    if (rows.count != 0) {
      ASSERT_EQ(rows.longest_row, longest);
      ASSERT_TRUE(o.max_length == 0 || longest <= o.max_length);
    }
  }
  EXPECT_GT(windowed, 10000u);
  EXPECT_GT(failed, 10000u);
}

TEST(Rows, LimitsThatDoNotBindChangeNothing) {
  const RowRules none = {kUnlimited, 4, 0, 0, 0, 0, RANKFEED_TRUNCATE_ONLY_SECOND, 0, 0, true};
  RowRules all = none;
  all.budget = 50;
  all.max_query_tokens = 10;
  all.max_tokens_per_doc = 40;
  all.stride = 7;
  all.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
  all.max_chunks_per_doc = 1;
  const DocumentRows a = PlanDocument(none, 10, 40), b = PlanDocument(all, 10, 40);
  ASSERT_EQ(a.count, 1u);
  ASSERT_EQ(b.count, 1u);
  EXPECT_EQ(a.document(0), b.document(0));
  EXPECT_EQ(a.query_tokens, b.query_tokens);
  EXPECT_EQ(QueryPart(none, 10), QueryPart(all, 10));
}

TEST(Rows, RowsLongerThanAnInt32AreRefused) {
  const RowRules none = {kUnlimited, 4, 0, 0, 0, 0, RANKFEED_TRUNCATE_NONE, 0, 0, true};
  EXPECT_EQ(PlanDocument(none, 10, 0x7ffffff2).status, RANKFEED_E_LIMIT);
  EXPECT_EQ(PlanDocument(none, 10, 0x7ffffff1).status, RANKFEED_OK);
}

}  // namespace
}  // namespace rankfeed::rerank
