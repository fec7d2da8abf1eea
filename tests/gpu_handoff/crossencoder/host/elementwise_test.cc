// SPDX-License-Identifier: MIT
// The SIMD steps of the host's forward against plain double arithmetic, all sizes around the
// vectors.
#include "crossencoder/host/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace rankfeed::handoff {
namespace {

std::vector<float> Random(size_t size, float spread, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(size);  // exactly as large as needed: AddressSanitizer sees the end
  for (float& v : values) v = normal(random);
  return values;
}

TEST(Elementwise, EqualsDoubleArithmetic) {
  const ElementwiseKernels& k = Elementwise();
  for (size_t size = 1; size <= 150; ++size) {
    SCOPED_TRACE(size);
    const auto a = Random(size, 3, size), b = Random(size, 1, size + 1000),
               g = Random(size, 1, size + 2000);
    std::vector<float> out(size);
    double dot = 0, size_of_dot = 0;
    for (size_t i = 0; i < size; ++i) {
      dot += double{a[i]} * b[i];
      size_of_dot += std::fabs(double{a[i]} * b[i]);
    }
    EXPECT_NEAR(k.dot(a.data(), b.data(), size), dot, 1e-6 * size_of_dot + 1e-7);

    for (const float* const third : {static_cast<const float*>(nullptr), g.data()}) {
      std::vector<double> sum(size);
      double mean = 0, variance = 0;
      for (size_t i = 0; i < size; ++i) {
        sum[i] = double{a[i]} + b[i] + (third == nullptr ? 0 : third[i]);
        mean += sum[i] / static_cast<double>(size);
      }
      for (const double v : sum) variance += (v - mean) * (v - mean) / static_cast<double>(size);
      out = a;  // may be the first of what is added
      k.norm(out.data(), b.data(), third, g.data(), b.data(), 1e-3f, size, nullptr, out.data());
      for (size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(out[i], (sum[i] - mean) / std::sqrt(variance + 1e-3) * g[i] + b[i], 2e-5);
      }
      // The sum kept in place, and no beta.
      std::vector<float> kept = a;
      k.norm(kept.data(), b.data(), third, g.data(), nullptr, 1e-3f, size, kept.data(), out.data());
      for (size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(kept[i], sum[i], 2e-6) << i;
        EXPECT_NEAR(out[i], (sum[i] - mean) / std::sqrt(variance + 1e-3) * g[i], 2e-5);
      }
    }

    out = a;
    k.multiply(b.data(), size, out.data());
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], a[i] * b[i]);
    const size_t half = size / 2;
    out = a;
    k.rotate(b.data(), g.data(), half, out.data());
    for (size_t i = 0; i < half; ++i) {
      EXPECT_NEAR(out[i], double{a[i]} * b[i] - double{a[half + i]} * g[i], 2e-6);
      EXPECT_NEAR(out[half + i], double{a[half + i]} * b[i] + double{a[i]} * g[i], 2e-6);
    }
    out = a;
    k.gelu(out.data(), size);
    for (size_t i = 0; i < size; ++i)
      EXPECT_NEAR(out[i], 0.5 * a[i] * std::erfc(-a[i] / std::sqrt(2.0)), 1e-6);
    out = a;
    k.gelu_tanh(out.data(), size);
    for (size_t i = 0; i < size; ++i) {
      const double x = a[i], inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      EXPECT_NEAR(out[i], 0.5 * x * (1 + std::tanh(inner)), 1e-6);
    }
    out = a;
    k.silu(out.data(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_NEAR(out[i], a[i] / (1 + std::exp(-double{a[i]})), 1e-6);
    out = a;
    k.relu(out.data(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], a[i] > 0 ? a[i] : 0);
    out = a;
    k.tanh(out.data(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_NEAR(out[i], std::tanh(double{a[i]}), 1e-6);
  }
}

TEST(Elementwise, ExtremesStayFinite) {
  const ElementwiseKernels& k = Elementwise();
  for (const auto activation : {k.gelu, k.gelu_tanh, k.relu, k.silu}) {
    std::vector<float> x = {-1e30f, -100, -20, -1e-30f, 0, 1e-30f, 20, 100, 1e30f};
    activation(x.data(), x.size());
    const std::vector<float> expected = {0, 0, 0, 0, 0, 0, 20, 100, 1e30f};
    for (size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(x[i] + 1.0f, expected[i] + 1.0f) << i;
    x = {NAN};
    activation(x.data(), 1);
    EXPECT_TRUE(std::isnan(x[0]));
  }
}

}  // namespace
}  // namespace rankfeed::handoff
