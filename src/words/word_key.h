// SPDX-License-Identifier: MIT
// words/word_key.h: the raw bytes of a word as a fixed-size, zero-padded key with a hash. The same
// code makes the keys of the image's word table (builder) and looks them up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace rankfeed::words {

// Longest word that has a key. 32 bytes hold 99.9 % of the words of the twelve XQuAD languages that
// are written with spaces, and two keys with their ids fill two cache lines.
inline constexpr uint32_t kMaxKeyBytes = 32;

struct WordKey {
  uint64_t part[4];  // bytes in memory order, zero padded
  uint32_t size;

  // size <= kMaxKeyBytes. readable: bytes from data on that may be read, at least size.
  static WordKey Make(const char* data, uint32_t size, size_t readable) {
    WordKey key;
    key.size = size;
    if (readable >= kMaxKeyBytes) {
      std::memcpy(key.part, data, sizeof(key.part));
      for (uint32_t i = 0; i < 4; ++i) {
        // Bytes of this part that belong to the word; a shift by 64 is undefined, so halve it.
        const uint32_t bits = 8 * std::clamp<int32_t>(static_cast<int32_t>(size) - 8 * static_cast<int32_t>(i), 0, 8);
        key.part[i] &= ~(~uint64_t{0} << (bits / 2) << (bits - bits / 2));
      }
    } else {
      std::memset(key.part, 0, sizeof(key.part));
      std::memcpy(key.part, data, size);
    }
    return key;
  }

  // Multiplicative mixing: three odd constants from the fractional digits of pi (hexadecimal). The
  // low bits index the static table, the high bits the cache.
  uint64_t Hash() const {
    uint64_t h = (part[0] ^ size) * 0x243f6a8885a308d3u;
    h = (std::rotl(h, 29) ^ part[1]) * 0x13198a2e03707345u;
    h = (std::rotl(h, 29) ^ part[2] ^ std::rotl(part[3], 17)) * 0xa4093822299f31d1u;
    return h ^ h >> 32;
  }

  bool Equals(const uint64_t other[4]) const {
    return ((part[0] ^ other[0]) | (part[1] ^ other[1]) | (part[2] ^ other[2]) |
            (part[3] ^ other[3])) == 0;
  }
};

}  // namespace rankfeed::words
