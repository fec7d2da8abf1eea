// SPDX-License-Identifier: MIT
// base/token_sink.h: where the encoders put tokens: the caller's columns, counted past capacity.
#pragma once

#include <cstdint>

namespace rankfeed {

// Writes while there is room and keeps counting afterwards, so that a too small output still
// reports its exact need. Offsets are bytes in the original text.
struct TokenSink {
  // The greatest 32-bit count, less the tokens written between two checks of it.
  static constexpr uint32_t kMost = ~uint32_t{0} - (1u << 20);

  int32_t* ids = nullptr;
  uint32_t* begin = nullptr;  // null: no offsets wanted
  uint32_t* end = nullptr;
  uint32_t capacity = 0;
  uint32_t count = 0;

  void Push(uint32_t id, uint32_t b, uint32_t e) {
    if (count < capacity) {
      ids[count] = static_cast<int32_t>(id);
      if (begin != nullptr) begin[count] = b;
      if (end != nullptr) end[count] = e;
    }
    ++count;
  }
};

// Place of a special token in a text, in bytes.
struct SpecialPlace {
  uint32_t id, begin, end;
};

}  // namespace rankfeed
