// SPDX-License-Identifier: MIT
// segment/split_masks.h: what split_blocks.h tells 64 bytes apart by.
#pragma once

#include <cstdint>

namespace rankfeed::segment {

// A bit for each byte. From the kernel: classes of ASCII bytes, blanks and newlines are spaces too; and
// bytes outside ASCII.
struct SplitMasks {
  uint64_t letters, digits, spaces, blanks, newlines, apostrophes;
  uint64_t beyond_ascii;
  // Found later: bytes of a character after its first, places where characters of three bytes part,
  // blanks of tokens, begins that classes do not show, and places that are no begins.
  uint64_t inner, parts, runs, begins, joined;
};

// Of bytes outside ASCII: those that continue a character; those that begin one of two bytes or more, of
// three or more, of four or more; and those that begin none but what a set holds (LeadSet).
struct LeadMasks {
  uint64_t inner, leads, threes, fours, plain;
};

// A set of first bytes, for vectors to look bytes up in, as ByteSet.
struct alignas(16) LeadSet {
  uint8_t low[16] = {};
  uint8_t high[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8};

  constexpr void Add(uint8_t byte) { low[byte & 15] |= high[byte >> 4]; }
  constexpr bool Has(uint8_t byte) const { return (low[byte & 15] & high[byte >> 4]) != 0; }
};

}  // namespace rankfeed::segment
