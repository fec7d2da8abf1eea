// SPDX-License-Identifier: MIT
// simd/kernels.h: the few loops over raw bytes that are worth vectors. One source (kernels.cc) is
// compiled for every target Highway offers; Dispatch picks the best one the CPU has, and the tests
// run all of them against the scalar loops of their reference.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rankfeed::simd {

// A set of ASCII bytes, as two 16-entry tables: b < 0x80 is in the set iff
// low[b & 15] & high[b >> 4]. Each high nibble owns one bit, so every ASCII set is exact.
struct alignas(16) ByteSet {
  uint8_t low[16] = {};
  uint8_t high[16] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0};

  constexpr void Add(uint8_t byte) { low[byte & 15] |= static_cast<uint8_t>(1u << (byte >> 4)); }
  constexpr bool Has(uint8_t byte) const { return (low[byte & 15] & high[byte >> 4]) != 0; }
};

// Classes of 64 consecutive bytes, a bit each.
struct ClassMasks {
  uint64_t separator, common, letter;
};

struct Kernels {
  // The classes of text[64 k .. 64 k + 63] go to masks[k], for all k with 64 k < size; bytes from
  // size on count as separators. Reads nothing past the text. Returns whether some byte is in stop_bytes.
  bool (*classify)(const char* text, size_t size, const ByteSet& separators, const ByteSet& common,
                   const ByteSet& letters, const ByteSet& stop_bytes, ClassMasks* masks);
  // Index of the first byte in set, or size.
  size_t (*find_first)(const char* text, size_t size, const ByteSet& set);
};

// The table for this CPU; constant time, any thread. Tests choose other targets through
// hwy::SetSupportedTargetsForTest.
const Kernels& Dispatch();

}  // namespace rankfeed::simd
