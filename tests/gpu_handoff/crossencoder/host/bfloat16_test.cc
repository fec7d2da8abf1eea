// SPDX-License-Identifier: MIT
// The host's products in bfloat16: numbers that bfloat16 holds are multiplied exactly, others are
// rounded to nearest even first; and what a model's scores become.
#include "crossencoder/host/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "gpu_handoff/crossencoder/forward/golden_models.h"

namespace rankfeed::handoff {
namespace {

float Rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

void Check(size_t m, size_t n, size_t k, bool with_bias) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
  std::mt19937_64 random(m * 10'000'000 + n * 1000 + k);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> x(m * k), w(n * k), bias(n), out(m * n, NAN), scratch(Bfloat16Scratch(), NAN);
  for (auto* values : {&x, &w, &bias}) {
    for (float& v : *values) v = normal(random);
  }
  Bfloat16Product(x.data(), w.data(), with_bias ? bias.data() : nullptr, m, n, k, out.data(),
                  scratch.data());
  for (size_t r = 0; r < m; ++r) {
    for (size_t c = 0; c < n; ++c) {
      double sum = with_bias ? bias[c] : 0, size = std::fabs(sum);
      for (size_t i = 0; i < k; ++i) {
        const double product = double{Rounded(x[r * k + i])} * Rounded(w[c * k + i]);
        sum += product;
        size += std::fabs(product);
      }
      ASSERT_NEAR(out[r * n + c], sum, 2e-6 * size + 1e-7) << r << " " << c;
    }
  }
}

TEST(Bfloat16, EqualsDoubleArithmeticOfRoundedNumbers) {
  if (!HasBfloat16()) GTEST_SKIP() << "not run: this CPU has no AVX512_BF16";
  for (const size_t m : {1, 5, 6, 7, 20}) {
    for (const size_t n : {1, 15, 16, 17, 31, 32, 33, 70}) {
      for (const size_t k : {1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 101, 8192}) {
        if (k == 8192 && (m > 7 || n > 33)) continue;
        Check(m, n, k, (m + n + k) % 2 == 0);
      }
    }
  }
}

// docs/handoff.md says what is lost: a share of the scores' spread.
TEST(Bfloat16, ScoresOfTheGoldenModels) {
  const auto models = LoadGolden();
  ASSERT_FALSE(models.empty());
  for (const GoldenModel& golden : models) {
    SCOPED_TRACE(golden.name);
    rankfeed_crossencoder_options options{};
    options.struct_size = sizeof(options);
    options.dtype = RANKFEED_DTYPE_BF16;
    if (!HasBfloat16()) {
      rankfeed_crossencoder* none = nullptr;
      rankfeed_crossencoder_error error{};
      error.struct_size = sizeof(error);
      EXPECT_EQ(rankfeed_crossencoder_open(golden.path.c_str(), &options, &none, &error),
                RANKFEED_E_UNSUPPORTED);
      continue;
    }
    const OpenModel model(golden.path, options);
    EXPECT_EQ(model.info().dtype, uint32_t{RANKFEED_DTYPE_BF16});
    const auto logits = model.Score(PackedRows(golden.rows, golden.types));
    const uint32_t labels = model.info().labels;
    float most = 0, low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < logits.size(); ++i) {
      const float expected = golden.logits[i / labels][i % labels];
      most = std::max(most, std::fabs(logits[i] - expected));
      low = std::min(low, expected);
      high = std::max(high, expected);
    }
    RecordProperty(golden.name + "_error", std::to_string(most));
    std::printf("%s: error at most %.2g, logits from %.3g to %.3g\n", golden.name.c_str(), most,
                low, high);
    EXPECT_LT(most, 0.02f * (high - low));
    EXPECT_GT(most, 0);  // it does round
  }
}

}  // namespace
}  // namespace rankfeed::handoff
