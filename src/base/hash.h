// SPDX-License-Identifier: MIT
// base/hash.h: products that spread the bits of short strings. Of 64 bits, as vectors have them too;
// the high bits are the good ones. Not against an adversary: what uses it is bounded without.
#pragma once

#include <cstdint>

namespace rankfeed {

// The first fractional digits of pi (hexadecimal; the second made odd).
inline constexpr uint64_t kHashFactor0 = 0x243f6a8885a308d3, kHashFactor1 = 0x13198a2e03707345;

// The hash of a string of `size` elements by its first eight bytes and its last ones.
constexpr uint64_t HashEnds(uint32_t size, uint64_t front, uint64_t back) {
  return (front ^ size) * kHashFactor0 + back * kHashFactor1;
}

}  // namespace rankfeed
