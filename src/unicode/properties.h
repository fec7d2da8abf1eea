// SPDX-License-Identifier: MIT
// unicode/properties.h: questions about one code point, answered from an image's tables or, where Unicode
// promises stability, from constants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "image/model.h"

namespace rankfeed::unicode {

// White_Space (PropList.txt): Rust's char::is_whitespace and \s. The set has not changed since
// Unicode 6.3; U+200B and U+FEFF are not in it.
constexpr bool IsWhiteSpace(char32_t c) {
  if (c < 0x85) return c == ' ' || (c >= 9 && c <= 13);
  if (c < 0x1680) return c == 0x85 || c == 0xa0;
  return c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

// Whether it has any of these (image::UnicodeProp).
inline bool HasProp(const Model& model, char32_t c, uint32_t props) {
  return (model.props[c] & props) != 0;
}

// The code points that c maps to, a range of map_pool; empty when it maps to itself.
inline std::span<const uint32_t> Mapping(const Model& model, const CodePointTable<uint32_t>& table,
                                         char32_t c) {
  const uint32_t entry = table[c];
  return model.map_pool.subspan(entry >> 8, entry & 0xff);
}

}  // namespace rankfeed::unicode
