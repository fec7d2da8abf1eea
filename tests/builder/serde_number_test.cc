// SPDX-License-Identifier: MIT
#include "builder/files/serde_number.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace rankfeed::builder {
namespace {

double Parse(const std::string& token) {
  double value = 0;
  EXPECT_TRUE(ParseSerdeNumber(token, &value)) << token;
  return value;
}

double Nearest(const std::string& token) {
  double value = 0;
  std::from_chars(token.data(), token.data() + token.size(), value);
  return value;
}

// Printed by the tokenizers 0.23.2 wheel for a vocabulary with these scores: float values written
// with the digits of their double, each one unit off after loading.
TEST(SerdeNumber, TheWheelsOwnRounding) {
  EXPECT_EQ(Parse("-15.880105018615723"), -15.880105018615724);
  EXPECT_EQ(Parse("-1.0527757406234741"), -1.052775740623474);
  EXPECT_EQ(Parse("-15.364461898803711"), -15.364461898803713);
  EXPECT_EQ(Parse("-1.0965046882629395"), -1.0965046882629397);
  EXPECT_EQ(Parse("-0.9961943030357361"), -0.996194303035736);
  // ... which differ from the nearest doubles.
  EXPECT_NE(Nearest("-15.880105018615723"), Parse("-15.880105018615723"));
}

TEST(SerdeNumber, ShortDecimalsAreExact) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    // At most 15 digits: both steps of the reference are exact but one division.
    const std::string token =
        "-" + std::to_string(random() % 20) + "." + std::to_string(100000 + random() % 900000);
    EXPECT_EQ(std::bit_cast<uint64_t>(Parse(token)), std::bit_cast<uint64_t>(Nearest(token)))
        << token;
  }
}

TEST(SerdeNumber, NeverMoreThanTwoUnitsOff) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const double value = -static_cast<double>(random() % 2000000) / 100000 -
                         1e-9 * static_cast<double>(random() % 1000);
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    const double parsed = Parse(std::string(text, end.ptr));
    const auto units = std::abs(
        static_cast<int64_t>(std::bit_cast<uint64_t>(parsed) - std::bit_cast<uint64_t>(value)));
    EXPECT_LE(units, 2) << std::string(text, end.ptr);
  }
}

TEST(SerdeNumber, Forms) {
  EXPECT_EQ(Parse("0"), 0.0);
  EXPECT_FALSE(std::signbit(Parse("0")));
  EXPECT_TRUE(std::signbit(Parse("-0")));
  EXPECT_TRUE(std::signbit(Parse("-0.0")));
  EXPECT_EQ(Parse("-10"), -10.0);
  EXPECT_EQ(Parse("1E5"), 1e5);
  EXPECT_EQ(Parse("1e+5"), 1e5);
  EXPECT_EQ(Parse("125e-2"), 1.25);
  EXPECT_EQ(Parse("1e-400"), 0.0);
  EXPECT_EQ(Parse("0e99999999999"), 0.0);
  EXPECT_EQ(Parse("1e-99999999999"), 0.0);
  EXPECT_EQ(Parse("18446744073709551615"), 18446744073709551615.0);
  EXPECT_EQ(Parse("100000000000000000000000"), 1e23);
}

// More rows from the wheel: digits past 64 bits, subnormals, extremes.
TEST(SerdeNumber, TheWheelOnLongAndExtremeNumbers) {
  EXPECT_EQ(Parse("18446744073709551616"), 1.8446744073709552e+19);
  EXPECT_EQ(Parse("18446744073709551619.5"), 1.8446744073709552e+19);
  EXPECT_EQ(Parse("99999999999999999999.5"), 1e+20);
  EXPECT_EQ(Parse("1844674407370955161.65"), 1.8446744073709553e+18);
  EXPECT_EQ(Parse("123456789012345678901234567890.125e-10"), 1.2345678901234567e+19);
  EXPECT_EQ(Parse("5e-324"), 5e-324);
  EXPECT_EQ(Parse("2.2250738585072014e-308"), 2.2250738585072014e-308);
  EXPECT_EQ(Parse("0.1e-330"), 0.0);
  EXPECT_EQ(Parse("123456789e-320"), 1.23456789e-312);
  EXPECT_EQ(Parse("-1.7976931348623157e308"), -1.7976931348623157e+308);
  EXPECT_EQ(Parse("999999999999999999999999999999e-29"), 10.0);
}

TEST(SerdeNumber, OutOfRange) {
  double value;
  EXPECT_FALSE(ParseSerdeNumber("1e400", &value));
  EXPECT_FALSE(ParseSerdeNumber("-1e309", &value));
  EXPECT_FALSE(ParseSerdeNumber("1e99999999999", &value));
  EXPECT_FALSE(ParseSerdeNumber(std::string(400, '9'), &value));
}

}  // namespace
}  // namespace rankfeed::builder
