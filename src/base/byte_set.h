// SPDX-License-Identifier: MIT
// base/byte_set.h: a set of ASCII bytes that vectors can look bytes up in.
#pragma once

#include <cstdint>

namespace rankfeed {

// Two tables of 16 entries: b < 0x80 is in the set iff low[b & 15] & high[b >> 4]. Each high nibble
// owns one bit, so every ASCII set is exact.
struct alignas(16) ByteSet {
  uint8_t low[16] = {};
  uint8_t high[16] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0};

  constexpr void Add(uint8_t byte) { low[byte & 15] |= static_cast<uint8_t>(1u << (byte >> 4)); }
  // This looks at `low` alone, for callers with no room for the other table. It is false of a byte outside ASCII.
  static constexpr bool Has(const uint8_t* low, uint8_t byte) {
    return (low[byte & 15] >> (byte >> 4) & 1) != 0;
  }
  constexpr bool Has(uint8_t byte) const { return (low[byte & 15] & high[byte >> 4]) != 0; }
};

}  // namespace rankfeed
