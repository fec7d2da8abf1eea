// SPDX-License-Identifier: MIT
// encode/code_points.h: byte offsets to code points.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"

namespace rankfeed::encode {

// By walking from each offset to the next, in either direction: offsets rise from token to token
// (fall after SentencePiece's "reverse"), apart from short steps back where a normalizer reorders
// marks and the (0, 0) of bos and eos. O(text) plus those steps.
class CodePointCursor {
 public:
  // In SentencePiece parity each ill-formed byte is a character, as its normalizer has it; in
  // HuggingFace parity each maximal subpart.
  CodePointCursor(std::string_view text, bool huggingface)
      : text_(text), huggingface_(huggingface) {}

  void Convert(uint32_t* offsets, uint32_t count) {
    byte_ = characters_ = 0;
    for (uint32_t i = 0; i < count; ++i) offsets[i] = At(offsets[i]);
  }

 private:
  // Offsets are at character boundaries, so a stretch has as many characters walked either way.
  uint32_t At(uint32_t byte) {
    if (byte < byte_) {
      characters_ -= Characters(byte, byte_);
    } else {
      characters_ += Characters(byte_, byte);
    }
    byte_ = byte;
    return characters_;
  }

  uint32_t Characters(uint32_t begin, uint32_t end) const {
    uint32_t n = 0;
    for (; begin < end; ++n) {
      const utf8::Decoded c = utf8::Decode(text_, begin);
      begin += c.valid || huggingface_ ? c.size : 1;
    }
    return n;
  }

  std::string_view text_;
  bool huggingface_;
  uint32_t byte_ = 0, characters_ = 0;
};

}  // namespace rankfeed::encode
