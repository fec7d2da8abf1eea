// SPDX-License-Identifier: MIT
// The host's attention against plain double arithmetic: rows and heads around the vectors and
// tiles.
#include "crossencoder/host/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace rankfeed::handoff {
namespace {

constexpr float kScale = 0.3f;

// A projection of tokens x (q, k, v of two heads), of which the second is attended to.
struct Row {
  Row(size_t row_tokens, size_t dim, float spread)
      : tokens(row_tokens),
        head_dim(dim),
        qkv(tokens * 6 * dim),
        out(tokens * 2 * dim, kUntouched) {
    std::mt19937_64 random(tokens * 1000 + dim);
    std::normal_distribution<float> normal(0, spread);
    for (float& v : qkv) v = normal(random);
  }
  void Run(size_t queries, size_t window = 0) {
    // Exactly as large as said: AddressSanitizer sees the end.
    const size_t bytes = AttentionScratch(tokens) * sizeof(float);
    const std::unique_ptr<float, decltype(&std::free)> scratch(
        static_cast<float*>(std::aligned_alloc(64, bytes)), std::free);
    const float* const q = qkv.data() + head_dim;
    Attend(
        {q, q + 2 * head_dim, q + 4 * head_dim, 6 * head_dim, out.data() + head_dim, 2 * head_dim},
        queries, tokens, head_dim, window, kScale, scratch.get());
  }
  void Run() { Run(tokens); }
  double At(size_t token, int part, size_t i) const {
    return qkv[(token * 6 + static_cast<size_t>(part) * 2 + 1) * head_dim + i];
  }
  static constexpr float kUntouched = -7777;
  const size_t tokens, head_dim;
  std::vector<float> qkv, out;
};

void ExpectDoubleArithmetic(const Row& row, size_t window = SIZE_MAX) {
  for (size_t t = 0; t < row.tokens; ++t) {
    std::vector<double> p(row.tokens);
    double most = -1e300, sum = 0;
    for (size_t j = 0; j < row.tokens; ++j) {
      for (size_t i = 0; i < row.head_dim; ++i) p[j] += row.At(t, 0, i) * row.At(j, 1, i);
      p[j] = (t > j ? t - j : j - t) <= window ? p[j] * double{kScale} : -1e300;
      most = std::max(most, p[j]);
    }
    for (double& v : p) sum += v = std::exp(v - most);
    for (size_t i = 0; i < row.head_dim; ++i) {
      double expected = 0;
      for (size_t j = 0; j < row.tokens; ++j) expected += p[j] / sum * row.At(j, 2, i);
      ASSERT_NEAR(row.out[(t * 2 + 1) * row.head_dim + i], expected, 2e-5) << t << " " << i;
      ASSERT_EQ(row.out[t * 2 * row.head_dim + i], Row::kUntouched)
          << t << " " << i;  // the other head
    }
  }
}

TEST(Attention, EqualsDoubleArithmetic) {
  for (const size_t head_dim : {1, 3, 8, 16, 20, 32, 64, 96, 127, 128}) {
    for (const size_t tokens : {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 47, 49, 64, 65, 130, 257}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens, " << head_dim << " dimensions");
      Row row(tokens, head_dim, 1);
      row.Run();
      ExpectDoubleArithmetic(row);
    }
  }
}

// Windows narrower and wider than the vectors, and rows that they cross or contain.
TEST(Attention, OfAWindow) {
  for (const size_t window : {1, 2, 5, 16, 17, 31, 64}) {
    for (const size_t tokens : {1, 2, 3, 16, 33, 40, 64, 130, 257}) {
      SCOPED_TRACE(testing::Message() << tokens << " tokens, window " << window);
      Row row(tokens, 20, 1), whole(tokens, 20, 1);
      row.Run(tokens, window);
      ExpectDoubleArithmetic(row, window);
      whole.Run();
      if (window + 1 >= tokens) {
        EXPECT_EQ(row.out, whole.out);
      }
      Row first(tokens, 20, 1);
      first.Run(1, window);
      for (size_t i = 0; i < 20; ++i) ASSERT_EQ(first.out[20 + i], row.out[20 + i]);
    }
  }
}

// The first queries alone: theirs to the bit, and the others' results are left as they were.
TEST(Attention, OfTheFirstQueries) {
  for (const size_t head_dim : {8, 32, 33}) {
    for (const size_t tokens : {1, 2, 17, 40, 130}) {
      Row whole(tokens, head_dim, 1);
      whole.Run();
      for (const size_t queries : {size_t{1}, (tokens + 1) / 2}) {
        Row row(tokens, head_dim, 1);
        row.Run(queries);
        for (size_t t = 0; t < tokens; ++t) {
          for (size_t i = 0; i < head_dim; ++i) {
            const size_t at = (t * 2 + 1) * head_dim + i;
            ASSERT_EQ(row.out[at], t < queries ? whole.out[at] : Row::kUntouched) << t << " " << i;
          }
        }
      }
    }
  }
}

// Scores far apart: all but the largest become nothing, and nothing overflows.
TEST(Attention, FarApartScores) {
  Row row(70, 32, 30);
  row.Run();
  for (size_t t = 0; t < row.tokens; ++t) {
    size_t best = 0;
    double most = -1e300, next = -1e300;
    for (size_t j = 0; j < row.tokens; ++j) {
      double score = 0;
      for (size_t i = 0; i < row.head_dim; ++i) score += row.At(t, 0, i) * row.At(j, 1, i);
      if (score > most)
        next = most, most = score, best = j;
      else
        next = std::max(next, score);
    }
    if ((most - next) * double{kScale} < 30) continue;
    for (size_t i = 0; i < row.head_dim; ++i)
      ASSERT_FLOAT_EQ(row.out[(t * 2 + 1) * row.head_dim + i],
                      static_cast<float>(row.At(best, 2, i)))
          << t;
  }
}

TEST(Attention, NaNOfATokenIsTheRows) {
  Row row(19, 8, 1);
  for (size_t i = 0; i < 48; ++i) row.qkv[7 * 48 + i] = NAN;
  row.Run();
  for (size_t t = 0; t < row.tokens; ++t) {
    for (size_t i = 0; i < row.head_dim; ++i)
      EXPECT_TRUE(std::isnan(row.out[(t * 2 + 1) * row.head_dim + i])) << t;
  }
}

}  // namespace
}  // namespace rankfeed::handoff
