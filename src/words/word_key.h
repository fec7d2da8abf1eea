// SPDX-License-Identifier: MIT
// words/word_key.h: the raw bytes of a segment as a fixed-size, zero-padded key with a hash. The
// same code makes the keys of the image's word table (builder) and looks them up.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "image/format.h"

namespace rankfeed::words {

// Longest segment that has a key. 32 bytes hold 99.9 % of the words of the twelve XQuAD languages
// that are written with spaces, and two keys with their ids fill two cache lines.
inline constexpr uint32_t kMaxKeyBytes = 32;

// 32 bytes of ones, then 32 of zeros: loading at kKeyMask + 32 - size keeps size bytes.
struct alignas(64) KeyMask {
  uint8_t bytes[2 * kMaxKeyBytes];
  constexpr KeyMask() : bytes() {
    for (uint32_t i = 0; i < kMaxKeyBytes; ++i) bytes[i] = 0xff;
  }
};
inline constexpr KeyMask kKeyMask;

struct WordKey {
  uint64_t part[4];  // bytes in memory order, zero padded
  uint32_t tag;      // size, | kEntryWordStart when a U+2581 stands before it

  // size <= kMaxKeyBytes. readable: bytes from data on that may be read, at least size.
  static WordKey Make(const char* data, uint32_t size, bool word_start, size_t readable) {
    WordKey key;
    key.tag = size | (word_start ? uint32_t{image::kEntryWordStart} : 0);
    if (readable >= kMaxKeyBytes) {
      uint64_t mask[4];
      std::memcpy(key.part, data, sizeof(key.part));
      std::memcpy(mask, kKeyMask.bytes + kMaxKeyBytes - size, sizeof(mask));
      for (int i = 0; i < 4; ++i) key.part[i] &= mask[i];
    } else {
      std::memset(key.part, 0, sizeof(key.part));
      std::memcpy(key.part, data, size);
    }
    return key;
  }

  // Multiplicative mixing: three odd constants from the fractional digits of pi (hexadecimal). The
  // low bits index the static table, the high bits the cache.
  uint64_t Hash() const {
    uint64_t h = (part[0] ^ tag) * 0x243f6a8885a308d3u;
    h = (std::rotl(h, 29) ^ part[1]) * 0x13198a2e03707345u;
    h = (std::rotl(h, 29) ^ part[2] ^ std::rotl(part[3], 17)) * 0xa4093822299f31d1u;
    return h ^ h >> 32;
  }
};

}  // namespace rankfeed::words
