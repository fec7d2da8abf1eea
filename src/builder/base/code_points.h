// SPDX-License-Identifier: MIT
// builder/base/code_points.h: strings as code points, for the readers and the writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace rankfeed::builder {

// Decodes the code point at *at and moves past it; false (and *at unchanged) at the end and where
// the bytes are not valid UTF-8.
inline bool NextCodePoint(std::string_view text, size_t* at, uint32_t* cp) {
  if (*at >= text.size()) return false;
  const utf8::Decoded decoded = utf8::Decode(text, *at);
  if (!decoded.valid) return false;
  *cp = decoded.code_point;
  *at += decoded.size;
  return true;
}

// Appends the code points of text; false at the first invalid byte.
inline bool DecodeUtf8(std::string_view text, std::vector<uint32_t>* out) {
  for (size_t at = 0; at < text.size();) {
    uint32_t cp;
    if (!NextCodePoint(text, &at, &cp)) return false;
    out->push_back(cp);
  }
  return true;
}

inline void AppendUtf8(uint32_t cp, std::string* out) {
  char bytes[4];
  out->append(bytes, utf8::Encode(cp, bytes));
}

// The byte of a piece "<0xHH>" (upper case), or -1.
inline int ByteOfPiece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  int value = 0;
  for (const char c : piece.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace rankfeed::builder
