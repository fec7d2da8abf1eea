// SPDX-License-Identifier: MIT
#include "builder/files/serde_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace rankfeed::builder {
namespace {

constexpr int kMaxPower = 308;

// 1e0 .. 1e308, each the nearest double, as the literals in serde_json's POW10.
const std::array<double, kMaxPower + 1>& Powers() {
  static const std::array<double, kMaxPower + 1> powers = [] {
    std::array<double, kMaxPower + 1> table{};
    for (int i = 0; i <= kMaxPower; ++i) {
      const std::string text = "1e" + std::to_string(i);
      std::from_chars(text.data(), text.data() + text.size(), table[i]);
    }
    return table;
  }();
  return powers;
}

bool Scale(double f, int64_t exponent, double* out) {
  for (;;) {
    if (exponent >= -kMaxPower && exponent <= kMaxPower) {
      if (exponent >= 0) {
        f *= Powers()[exponent];
        if (std::isinf(f)) return false;
      } else {
        f /= Powers()[-exponent];
      }
      break;
    }
    if (f == 0) break;
    if (exponent > 0) return false;
    f /= 1e308;
    exponent += kMaxPower;
  }
  *out = f;
  return true;
}

}  // namespace

bool ParseSerdeNumber(std::string_view token, double* out) {
  size_t i = 0;
  const auto digit = [&] { return i < token.size() && token[i] >= '0' && token[i] <= '9'; };
  const bool negative = i < token.size() && token[i] == '-';
  i += negative;
  uint64_t significand = 0;
  int64_t exponent = 0;
  // Digits past 64 bits are dropped; each integer digit dropped is a power of ten kept.
  const auto append = [&](bool* full) {
    const uint64_t d = static_cast<uint64_t>(token[i] - '0');
    uint64_t next;
    *full = *full || __builtin_mul_overflow(significand, uint64_t{10}, &next) ||
            __builtin_add_overflow(next, d, &next);
    if (!*full) significand = next;
    return !*full;
  };
  bool full = false;
  for (; digit(); ++i) exponent += !append(&full);
  if (i < token.size() && token[i] == '.') {
    full = false;  // parse_decimal tries again: a smaller digit may still fit
    for (++i; digit(); ++i) exponent -= append(&full);
  }
  if (i < token.size() && (token[i] == 'e' || token[i] == 'E')) {
    ++i;
    const bool down = i < token.size() && token[i] == '-';
    if (i < token.size() && (token[i] == '-' || token[i] == '+')) ++i;
    int64_t written = 0;
    for (; digit(); ++i) {
      written = written * 10 + (token[i] - '0');
      if (written > INT32_MAX) {  // parse_exponent_overflow
        if (significand != 0 && !down) return false;
        *out = negative ? -0.0 : 0.0;
        return true;
      }
    }
    exponent += down ? -written : written;
  }
  double value;
  if (!Scale(static_cast<double>(significand), exponent, &value)) return false;
  *out = negative ? -value : value;
  return true;
}

}  // namespace rankfeed::builder
