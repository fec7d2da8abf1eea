// SPDX-License-Identifier: MIT
// Half-precision conversions: every 16-bit pattern, and the rounding of every float near a step.
#include "crossencoder/model/float16.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rankfeed::handoff {
namespace {

// The value of a pattern from the definition of IEEE binary16.
double ValueOfF16(uint16_t bits) {
  const int sign = bits >> 15, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return sign ? -magnitude : magnitude;
}

TEST(Float16, EveryPatternConvertsAndReturns) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = FloatOfF16(bits);
    if ((bits >> 10 & 31) == 31) {
      EXPECT_EQ((bits & 1023) != 0, std::isnan(value)) << i;
      if (!std::isnan(value)) {
        EXPECT_EQ(value, bits >> 15 ? -INFINITY : INFINITY);
      }
      EXPECT_EQ(std::isnan(FloatOfF16(F16OfFloat(value))), std::isnan(value));
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), ValueOfF16(bits)) << i;
    ASSERT_EQ(F16OfFloat(value), bits);
    ASSERT_EQ(std::signbit(value), (bits >> 15) != 0);
  }
}

TEST(Float16, RoundsToNearestEven) {
  for (uint32_t i = 0; i < 0x7bff; ++i) {  // between each two finite neighbours
    const double low = ValueOfF16(static_cast<uint16_t>(i)),
                 high = ValueOfF16(static_cast<uint16_t>(i + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit
    const uint16_t even = static_cast<uint16_t>(i & 1 ? i + 1 : i);
    ASSERT_EQ(F16OfFloat(middle), even) << i;
    ASSERT_EQ(F16OfFloat(std::nextafterf(middle, 0.0f)), i);
    ASSERT_EQ(F16OfFloat(std::nextafterf(middle, INFINITY)), i + 1);
    ASSERT_EQ(F16OfFloat(-middle), even | 0x8000);
  }
  EXPECT_EQ(F16OfFloat(65519.996f), 0x7bff);
  EXPECT_EQ(F16OfFloat(65520.0f), 0x7c00);
  EXPECT_EQ(F16OfFloat(1e30f), 0x7c00);
  EXPECT_EQ(F16OfFloat(-INFINITY), 0xfc00);
  EXPECT_EQ(F16OfFloat(1e-30f), 0);
  EXPECT_TRUE(std::isnan(FloatOfF16(F16OfFloat(NAN))));
}

TEST(Bf16, RoundsToNearestEven) {
  for (uint32_t i = 0; i < 0x7f7f; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    ASSERT_EQ(Bf16OfFloat(FloatOfBf16(bits)), bits);
    const float middle = FloatOfBits(i << 16 | 0x8000u);
    ASSERT_EQ(Bf16OfFloat(middle), i & 1 ? i + 1 : i);
    ASSERT_EQ(Bf16OfFloat(FloatOfBits(i << 16 | 0x7fffu)), i);
    ASSERT_EQ(Bf16OfFloat(FloatOfBits(i << 16 | 0x8001u)), i + 1);
  }
  EXPECT_EQ(Bf16OfFloat(-INFINITY), 0xff80);
  EXPECT_TRUE(std::isnan(FloatOfBf16(Bf16OfFloat(FloatOfBits(0x7f800001u)))));
}

}  // namespace
}  // namespace rankfeed::handoff
