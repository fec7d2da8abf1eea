// SPDX-License-Identifier: MIT
// segment/segments.h: segments of a text by number.
#pragma once

#include <cstdint>
#include <string_view>

namespace rankfeed::segment {

// Segments by number: bytes [begin, end) of their text, begin < end.
struct Segments {
  // In begins: a U+2581 stands before it.
  static constexpr uint32_t kWordStart = 1u << 31;
  uint32_t* begins;
  uint32_t* ends;

  Segments From(uint32_t i) const { return {begins + i, ends + i}; }
  uint32_t begin(uint32_t i) const { return begins[i] & ~kWordStart; }
  uint32_t size(uint32_t i) const { return ends[i] - begin(i); }
  bool word_start(uint32_t i) const { return begins[i] >= kWordStart; }
  std::string_view Bytes(std::string_view text, uint32_t i) const {
    return {text.data() + begin(i), size(i)};
  }
};

// Of 64 bytes, a bit each: where segments begin, where they end, and of those that begin which are the
// beginning of a word.
struct BoundaryMasks {
  uint64_t starts, stops, word_starts;
};

}  // namespace rankfeed::segment
