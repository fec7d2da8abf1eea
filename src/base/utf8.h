// SPDX-License-Identifier: MIT
// base/utf8.h: UTF-8 decoding and encoding.
//
// Strict as Unicode's table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF. An
// ill-formed sequence decodes to U+FFFD and consumes its maximal subpart, which is what Python's
// bytes.decode("utf-8", "replace") and Rust's String::from_utf8_lossy do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/narrow.h"

namespace rankfeed::utf8 {

inline constexpr char32_t kReplacement = 0xfffd;
inline constexpr char32_t kMaxCodePoint = 0x10ffff;

struct Decoded {
  char32_t code_point;
  uint32_t size;  // bytes consumed, at least 1
  bool valid;
};

// The first place from pos on that holds no ASCII character, text.size() if there is none.
inline uint32_t SkipAscii(std::string_view text, uint32_t pos) {
  for (uint64_t eight; text.size() - pos >= sizeof(eight); pos += sizeof(eight)) {
    std::memcpy(&eight, text.data() + pos, sizeof(eight));
    const uint64_t high = eight & 0x8080808080808080;
    if (high != 0) return pos + static_cast<uint32_t>(std::countr_zero(high)) / 8;
  }
  while (pos < text.size() && Byte(text[pos]) < 0x80) ++pos;
  return pos;
}

// Decodes the character at text[pos], which is not ASCII; pos < text.size().
constexpr Decoded DecodeBeyondAscii(std::string_view text, size_t pos) {
  const auto byte = [&](size_t i) { return Byte(text[pos + i]); };
  const size_t left = text.size() - pos;
  const unsigned char lead = byte(0);
  // Well-formed sequences of two and three bytes, which is most of what is not ASCII.
  if ((lead & 0xf0) == 0xe0 && left >= 3 && (((byte(1) ^ 0x80u) | (byte(2) ^ 0x80u)) & 0xc0) == 0) {
    const char32_t cp = (lead & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    if (cp >= 0x800 && (cp & 0xf800) != 0xd800) return {cp, 3, true};
  }
  if (lead >= 0xc2 && lead < 0xe0 && left >= 2 && (byte(1) & 0xc0) == 0x80) {
    return {(lead & 0x1fu) << 6 | (byte(1) & 0x3fu), 2, true};
  }
  // Bounds of the second byte: they exclude overlong forms, surrogates and too large values.
  uint32_t size = 0;
  unsigned char low = 0x80, high = 0xbf;
  char32_t cp = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    size = 2;
    cp = lead & 0x1fu;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    size = 3;
    cp = lead & 0x0fu;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    size = 4;
    cp = lead & 0x07u;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return {kReplacement, 1, false};
  }
  for (uint32_t i = 1; i < size; ++i) {
    if (i >= left || byte(i) < low || byte(i) > high) return {kReplacement, i, false};
    cp = cp << 6 | (byte(i) & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return {cp, size, true};
}

// Does what the function above does, for a character of any size.
constexpr Decoded Decode(std::string_view text, size_t pos) {
  const auto lead = Byte(text[pos]);
  if (lead < 0x80) return {lead, 1, true};
  return DecodeBeyondAscii(text, pos);
}

// The characters of a text in their order, decoded as Decode does: for (const Decoded c : Characters(text)).
class Characters {
 public:
  struct End {};
  constexpr explicit Characters(std::string_view text) : rest_(text) {}
  constexpr Characters begin() const { return *this; }
  constexpr End end() const { return {}; }
  constexpr Decoded operator*() {
    const Decoded c = Decode(rest_, 0);
    size_ = c.size;
    return c;
  }
  constexpr void operator++() { rest_.remove_prefix(size_); }
  constexpr bool operator!=(End) const { return !rest_.empty(); }

 private:
  std::string_view rest_;
  uint32_t size_ = 0;
};

// Decodes as Decode does; meant to be inlined, with a short way for characters of one to three
// bytes.
inline Decoded DecodeInline(std::string_view text, size_t pos) {
  const auto byte = [&](size_t i) { return Byte(text[pos + i]); };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t left = text.size() - pos;
  if (lead >= 0xc2 && lead < 0xe0 && left >= 2 && continues(1)) {
    return {(lead & 0x1fu) << 6 | (byte(1) & 0x3fu), 2, true};
  }
  // Not E0 and ED, which not every byte may follow.
  if (lead > 0xe0 && lead < 0xf0 && lead != 0xed && left >= 3 && continues(1) && continues(2)) {
    return {(lead & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu), 3, true};
  }
  return DecodeBeyondAscii(text, pos);
}

// The code point that it gives, where one character is looked at here and there.
inline char32_t CodePointAt(std::string_view text, size_t pos) {
  return DecodeInline(text, pos).code_point;
}

// Decodes a character of text that is known to be valid.
constexpr char32_t DecodeValid(const char* p, uint32_t* size) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(Byte(p[i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) {
    *size = 1;
    return lead;
  }
  if (lead < 0xe0) {
    *size = 2;
    return (lead & 0x1f) << 6 | (byte(1) & 0x3f);
  }
  if (lead < 0xf0) {
    *size = 3;
    return (lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  }
  *size = 4;
  return (lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

// Bytes of the character that starts with lead, in valid text.
constexpr uint32_t SizeFromLead(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

constexpr uint32_t EncodedSize(char32_t cp) {
  return cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
}

// Writes EncodedSize(cp) bytes; cp is a scalar value.
constexpr uint32_t Encode(char32_t cp, char* out) {
  const auto put = [&](size_t i, char32_t v) {
    out[i] = static_cast<char>(static_cast<unsigned char>(v));
  };
  if (cp < 0x80) {
    put(0, cp);
    return 1;
  }
  if (cp < 0x800) {
    put(0, 0xc0 | cp >> 6);
    put(1, 0x80 | (cp & 0x3f));
    return 2;
  }
  if (cp < 0x10000) {
    put(0, 0xe0 | cp >> 12);
    put(1, 0x80 | (cp >> 6 & 0x3f));
    put(2, 0x80 | (cp & 0x3f));
    return 3;
  }
  put(0, 0xf0 | cp >> 18);
  put(1, 0x80 | (cp >> 12 & 0x3f));
  put(2, 0x80 | (cp >> 6 & 0x3f));
  put(3, 0x80 | (cp & 0x3f));
  return 4;
}

// A character of three bytes as one little-endian word: whether it is 1110xxxx 10xxxxxx 10xxxxxx,
// and its code point then, which may be overlong or a surrogate. Four bytes are read.
inline uint32_t LoadThree(const char* text) {
  uint32_t word;
  std::memcpy(&word, text, sizeof(word));
  return word;
}
constexpr bool IsThree(uint32_t word) {
  return (word & 0xc0c0f0) == 0x8080e0;
}
constexpr uint32_t CodePointOfThree(uint32_t word) {
  return (word & 0x0f) << 12 | (word >> 2 & 0xfc0) | (word >> 16 & 0x3f);
}

constexpr bool IsContinuation(char c) {
  return (Byte(c) & 0xc0) == 0x80;
}

// Returns the begin of the character, or bad sequence, that ends at pos; 0 < pos <= text.size(),
// and pos is such an end. A byte that is no continuation always begins one, so only four bytes
// matter.
constexpr size_t Previous(std::string_view text, size_t pos) {
  const size_t limit = pos > 4 ? pos - 4 : 0;
  for (size_t start = pos; start > limit;) {
    --start;
    if (IsContinuation(text[start])) continue;
    while (start + Decode(text, start).size < pos) start += Decode(text, start).size;
    return start;
  }
  return pos - 1;
}

// True when all of text is well formed. O(text.size()).
constexpr bool IsValid(std::string_view text) {
  for (const Decoded c : Characters(text)) {
    if (!c.valid) return false;
  }
  return true;
}

}  // namespace rankfeed::utf8
