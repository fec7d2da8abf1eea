// SPDX-License-Identifier: MIT
// The host's products against plain double arithmetic, for every instruction set that the CPU has:
// rows, columns and depths around tiles, panels and parts of the depth.
#include "crossencoder/host/product.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
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

// A product's operands, and its results with w as it is and packed, which have to be the same bits.
struct Operands {
  size_t m, n, k;
  std::vector<float> x, w, bias;

  Operands(size_t rows, size_t columns, size_t depth, bool with_bias)
      : m(rows), n(columns), k(depth) {
    std::mt19937_64 random(m * 10'000'000 + n * 1000 + k);
    x = Random(m * k, &random);
    w = Random(n * k, &random);
    if (with_bias) bias = Random(n, &random);
  }

  std::vector<float> Multiply(void (*activate)(float*, size_t) = nullptr) const {
    const float* const start = bias.empty() ? nullptr : bias.data();
    std::vector<float> out(m * n, NAN), again = out, scratch(ProductScratch(), NAN), packed = w;
    Product(x.data(), m, {w.data(), false, start, n, k}, activate, out.data(), scratch.data());
    EXPECT_TRUE(PackWeights(packed.data(), n, k));
    Product(x.data(), m, {packed.data(), true, start, n, k}, activate, again.data(),
            scratch.data());
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(again[i])) << i;
    return again;
  }
};

void Check(size_t m, size_t n, size_t k) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
  const Operands o(m, n, k, (m + n + k) % 2 == 0);
  const std::vector<float> out = o.Multiply();
  for (size_t r = 0; r < m; ++r) {
    for (size_t c = 0; c < n; ++c) {
      double sum = o.bias.empty() ? 0 : o.bias[c], size = std::fabs(sum);
      for (size_t i = 0; i < k; ++i) {
        const double product = double{o.x[r * k + i]} * o.w[c * k + i];
        sum += product;
        size += std::fabs(product);
      }
      ASSERT_NEAR(out[r * n + c], sum, 2e-6 * size + 1e-7) << r << " " << c;
    }
  }
}

// Calls test with each of the CPU's instruction sets chosen, and then with all of them again.
void OnEveryTarget(const std::function<void(int64_t)>& test) {
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(ProductTarget());
    EXPECT_STREQ(ProductTarget(), hwy::TargetName(target));
    test(target);
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST(Product, EqualsDoubleArithmetic) {
  OnEveryTarget([](int64_t) {
    for (const size_t m : {1, 2, 3, 4, 6, 7, 9, 12, 13}) {
      for (const size_t n : {1, 8, 16, 17, 31, 32, 33, 64, 65, 130}) {
        for (const size_t k : {1, 33, 257}) Check(m, n, k);
      }
    }
    // Several parts of rows, and depths that do not lie in the scratch together.
    for (const size_t m : {95, 191, 192, 193, 400}) {
      for (const size_t k : {31, 513, 770}) Check(m, 45, k);
    }
    Check(3, 40, 256 * 65);
  });
}

TEST(Product, TakesNothing) {
  OnEveryTarget([](int64_t) {
    for (const size_t n : {0, 1, 40}) {
      for (const size_t m : {0, 1, 13}) {
        const Operands none(m, n, 0, true);
        const std::vector<float> out = none.Multiply();
        for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], none.bias[i % n]);
      }
    }
    EXPECT_TRUE(Operands(0, 40, 40, true).Multiply().empty());
    EXPECT_TRUE(Operands(40, 0, 40, false).Multiply().empty());
  });
}

// A NaN or an infinity is in the results that it is part of, and in no other; 0 times it too.
TEST(Product, HandsOnWhatIsNoNumber) {
  OnEveryTarget([](int64_t) {
    constexpr size_t kRows = 17, kColumns = 70, kDepth = 300;
    for (const float odd :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Operands o(kRows, kColumns, kDepth, true);
      o.x[3 * kDepth + 290] = odd;
      o.w[66 * kDepth + 7] = odd;
      o.x[5 * kDepth + 7] = 0;
      const std::vector<float> out = o.Multiply();
      for (size_t r = 0; r < kRows; ++r) {
        for (size_t c = 0; c < kColumns; ++c)
          ASSERT_EQ(std::isfinite(out[r * kColumns + c]), r != 3 && c != 66) << r << " " << c;
      }
      EXPECT_TRUE(std::isnan(out[5 * kColumns + 66]));
    }
  });
}

// A row's results depend on that row alone: the same to the bit wherever it stands, on every
// instruction set with fused multiply-add.
TEST(Product, ARowIsItsOwn) {
  constexpr size_t kMost = 200, kColumns = 141, kDepth = 600;
  const Operands all(kMost, kColumns, kDepth, true);
  std::vector<float> first;
  OnEveryTarget([&](int64_t target) {
    const std::vector<float> out = all.Multiply();
    for (const size_t m : {1, 2, 3, 4, 7, 11, 12, 30, 193}) {
      Operands some = all;
      some.m = m;
      some.x.assign(all.x.end() - static_cast<ptrdiff_t>(m * kDepth), all.x.end());
      const std::vector<float> few = some.Multiply();
      for (size_t i = 0; i < few.size(); ++i)
        ASSERT_EQ(few[i], out[(kMost - m) * kColumns + i]) << m << " " << i;
    }
    if (HWY_ARCH_X86 && target > HWY_AVX2) return;  // they round twice
    if (first.empty()) first = out;
    EXPECT_EQ(first, out);
  });
}

// Every element is activated, once.
TEST(Product, Activates) {
  const Operands o(500, 33, 20, true);
  const std::vector<float> plain = o.Multiply(), out = o.Multiply([](float*x, size_t size) {
    for (size_t i = 0; i < size; ++i) x[i] += 1000;
  });
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], plain[i] + 1000);
}

}  // namespace
}  // namespace rankfeed::handoff
