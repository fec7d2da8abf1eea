// SPDX-License-Identifier: MIT
// base/byte_alphabet.h: the characters that files of byte-level models spell bytes with (tokenizers
// 0.23.3, pre_tokenizers/byte_level.rs bytes_char): a byte that is a visible character of Latin-1 is
// that character, the other 68 are U+0100 and the characters after it, in order.
#pragma once

#include <cstdint>

namespace rankfeed {

struct ByteAlphabet {
  static constexpr char32_t kEnd = 0x100 + 68;
  char32_t chars[256] = {};
  int16_t bytes[kEnd] = {};  // by character, -1 where it is none of the alphabet
  constexpr ByteAlphabet() {
    for (int16_t& byte : bytes) byte = -1;
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool itself = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
      chars[b] = itself ? static_cast<char32_t>(b) : next++;
      bytes[chars[b]] = static_cast<int16_t>(b);
    }
  }
  // -1: no character of the alphabet.
  constexpr int ByteOf(char32_t c) const { return c < kEnd ? bytes[c] : -1; }
};
inline constexpr ByteAlphabet kByteAlphabet;

}  // namespace rankfeed
