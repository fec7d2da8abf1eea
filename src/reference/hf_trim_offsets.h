// SPDX-License-Identifier: MIT
// reference/hf_trim_offsets.h: RobertaProcessing's trim_offsets (tokenizers 0.23.2,
// pre_tokenizers/byte_level.rs process_offsets), which takes the white space at the ends of a token
// out of its offsets.
//
// The reference counts white space in the token, that is in normalized text, and moves the offsets
// by as many characters of the original text; so does this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/token_sink.h"
#include "base/utf8.h"
#include "unicode/properties.h"

namespace rankfeed::reference {

struct EndSpaces {
  uint32_t leading = 0, trailing = 0;  // characters
};

// U+0120 stands for a space in byte-level vocabularies and is trimmed in any.
constexpr bool IsTrimmed(char32_t c) {
  return c == 0x120 || unicode::IsWhiteSpace(c);
}

inline EndSpaces CountEndSpaces(std::string_view token) {
  EndSpaces count;
  for (size_t pos = 0; pos < token.size(); ++count.leading) {
    const utf8::Decoded d = utf8::Decode(token, pos);
    if (!IsTrimmed(d.code_point)) break;
    pos += d.size;
  }
  for (size_t end = token.size(); end > 0; ++count.trailing) {
    const size_t pos = utf8::Previous(token, end);
    if (!IsTrimmed(utf8::Decode(token, pos).code_point)) break;
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

// The tokens of a text on their way to the sink, trimmed or not.
class OffsetTrimmer {
 public:
  // on: whether they are. keeps_prefix: as Model::has(image::kTrimKeepsPrefix). first_token: of
  // the text, in the sink.
  OffsetTrimmer(bool on, bool keeps_prefix, uint32_t first_token)
      : on_(on), keeps_prefix_(keeps_prefix), first_token_(first_token) {}

  bool on() const { return on_; }
  // Returns true if so many leading characters stay if no token is before them.
  bool MayKeep(uint32_t leading) const { return leading == 1 && keeps_prefix_; }

  // A token of bytes [begin, end) of the text, before any trimming.
  void Push(TokenSink& sink, std::string_view text, uint32_t id, uint32_t begin, uint32_t end,
            EndSpaces spaces) const {
    if (!on_) return sink.Push(id, begin, end);
    Emit(sink, text, id, begin, TrimBack(text, end, spaces.trailing), spaces.leading, end);
  }

  // A token whose end is trimmed already, with `leading` characters to trim off its front, which
  // reaches whole_end before any trimming. add_prefix_space spares a single one at the very front.
  void Emit(TokenSink& sink, std::string_view text, uint32_t id, uint32_t begin, uint32_t end,
            uint32_t leading, uint32_t whole_end) const {
    const bool first = sink.count == first_token_ || begin == 0;
    if (first && MayKeep(leading)) leading = 0;
    begin = TrimFront(text, begin, whole_end, leading);
    sink.Push(id, begin, std::max(begin, end));
  }

 private:
  const bool on_, keeps_prefix_;
  const uint32_t first_token_;
};

}  // namespace rankfeed::reference
