// SPDX-License-Identifier: MIT
// base/narrow.h: numbers in the types that texts and tables have for them.
#pragma once

#include <cstdint>

namespace rankfeed {

// Returns a byte of a text as a number.
constexpr uint8_t Byte(char c) {
  return static_cast<uint8_t>(c);
}

// Returns how many elements there are, of which limits allow fewer than 2^32.
template <class Elements>
constexpr uint32_t Size32(const Elements& elements) {
  return static_cast<uint32_t>(elements.size());
}

}  // namespace rankfeed
