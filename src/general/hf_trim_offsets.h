// SPDX-License-Identifier: MIT
// general/hf_trim_offsets.h: RobertaProcessing's trim_offsets (tokenizers 0.23.2,
// pre_tokenizers/byte_level.rs process_offsets), which takes the white space at the ends of a token
// out of its offsets.
//
// The reference counts white space in the token, that is in normalized text, and moves the offsets
// by as many characters of the original text; so does this.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "unicode/properties.h"

namespace rankfeed::general {

struct EndSpaces {
  uint32_t leading = 0, trailing = 0;  // characters
};

// U+0120 stands for a space in byte-level vocabularies and is trimmed in any.
inline EndSpaces CountEndSpaces(std::string_view token) {
  const auto space = [](char32_t c) { return c == 0x120 || unicode::IsWhiteSpace(c); };
  EndSpaces count;
  for (size_t pos = 0; pos < token.size(); ++count.leading) {
    const utf8::Decoded d = utf8::Decode(token, pos);
    if (!space(d.code_point)) break;
    pos += d.size;
  }
  for (size_t end = token.size(); end > 0; ++count.trailing) {
    const size_t pos = utf8::Previous(token, end);
    if (!space(utf8::Decode(token, pos).code_point)) break;
    end = pos;
  }
  return count;
}

// The offset count characters after pos, at most end.
inline uint32_t TrimFront(std::string_view text, uint32_t pos, uint32_t end, uint32_t count) {
  for (; count > 0 && pos < end; --count) pos += utf8::Decode(text, pos).size;
  return pos < end ? pos : end;
}

// The offset count characters before end; end itself when there are fewer before it.
inline uint32_t TrimBack(std::string_view text, uint32_t end, uint32_t count) {
  size_t pos = end;
  for (; count > 0; --count) {
    if (pos == 0) return end;
    pos = utf8::Previous(text, pos);
  }
  return static_cast<uint32_t>(pos);
}

}  // namespace rankfeed::general
