// SPDX-License-Identifier: MIT
// segment/split_masks.h: what split_blocks.h tells 64 bytes apart by.
#pragma once

#include <cstdint>

namespace rankfeed::segment {

// A bit for each byte. From the kernel: classes of ASCII bytes, blanks and newlines are spaces too; bytes
// outside ASCII, and of them those after the first of a character.
struct SplitMasks {
  uint64_t letters, digits, spaces, blanks, newlines, apostrophes;
  uint64_t beyond_ascii, inner;
  // Found one by one: places where characters of three bytes part, blanks of tokens, begins that classes
  // do not show, and places that are no begins.
  uint64_t parts, runs, begins, joined;
};

}  // namespace rankfeed::segment
