// SPDX-License-Identifier: MIT
// Base64 as tokenizer.json files hold precompiled_charsmap: padded, without line breaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rankfeed::test {

inline std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

}  // namespace rankfeed::test
