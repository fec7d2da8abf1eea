// SPDX-License-Identifier: MIT
// The host's product of narrow layers against plain double arithmetic: rows, columns and depths
// around the vectors and tiles.
#include "crossencoder/host/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace rankfeed::handoff {
namespace {

std::vector<float> Random(size_t size, std::mt19937_64* random) {
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> values(size);  // exactly as large as needed: AddressSanitizer sees the end
  for (float& v : values) v = normal(*random);
  return values;
}

void Check(size_t m, size_t n, size_t k, bool with_bias) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
  std::mt19937_64 random(m * 10'000'000 + n * 1000 + k);
  const auto x = Random(m * k, &random), w = Random(n * k, &random), bias = Random(n, &random);
  std::vector<float> out(m * n, NAN), scratch(NarrowScratch(), NAN);
  NarrowProduct(x.data(), w.data(), with_bias ? bias.data() : nullptr, m, n, k, out.data(),
                scratch.data());
  for (size_t r = 0; r < m; ++r) {
    for (size_t c = 0; c < n; ++c) {
      double sum = with_bias ? bias[c] : 0, size = std::fabs(sum);
      for (size_t i = 0; i < k; ++i) {
        const double product = double{x[r * k + i]} * w[c * k + i];
        sum += product;
        size += std::fabs(product);
      }
      ASSERT_NEAR(out[r * n + c], sum, 2e-6 * size + 1e-7) << r << " " << c;
    }
  }
}

TEST(NarrowProduct, EqualsDoubleArithmetic) {
  for (const size_t m : {1, 2, 5, 6, 7, 12, 13, 108}) {
    for (const size_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 96, 130}) {
      for (const size_t k : {1, 2, 3, 8, 32, 33, 255, 256}) Check(m, n, k, (m + n + k) % 2 == 0);
    }
  }
}

// What a row gets depends on that row alone: the same to the bit wherever it stands.
TEST(NarrowProduct, ARowIsItsOwn) {
  constexpr size_t kRows = 20, kColumns = 45, kDepth = 40;
  std::mt19937_64 random(1);
  const auto row = Random(kDepth, &random), w = Random(kColumns * kDepth, &random);
  std::vector<float> x, out(kRows * kColumns), scratch(NarrowScratch());
  for (size_t r = 0; r < kRows; ++r) x.insert(x.end(), row.begin(), row.end());
  for (size_t m = 1; m <= kRows; ++m) {
    NarrowProduct(x.data(), w.data(), nullptr, m, kColumns, kDepth, out.data(), scratch.data());
    for (size_t r = 1; r < m; ++r) {
      for (size_t c = 0; c < kColumns; ++c) ASSERT_EQ(out[r * kColumns + c], out[c]);
    }
  }
}

}  // namespace
}  // namespace rankfeed::handoff
