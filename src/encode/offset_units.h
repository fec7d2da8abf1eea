// SPDX-License-Identifier: MIT
// encode/offset_units.h: offsets in bytes to code points or UTF-16 code units.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/narrow.h"
#include "base/utf8.h"

namespace rankfeed::encode {

// Converts offsets by a walk from each to the next, in either direction: they rise from token to token
// (fall after SentencePiece's "reverse"), apart from short steps back where a normalizer reorders
// marks or tokens share a character, and the 0 of bos. From the begin or the end of the token
// before, whichever is nearer: byte tokens of unknown characters in a row all have the place of the
// whole row. O(text) plus those steps; of a text that is all ASCII one look at it, as every unit is
// a byte there.
class OffsetUnits {
 public:
  // utf16: a character above U+FFFF counts two. In SentencePiece parity each ill-formed byte is a
  // character, as its normalizer has it; in HuggingFace parity each maximal subpart.
  OffsetUnits(std::string_view text, bool utf16, bool huggingface)
      : text_(text), utf16_(utf16), huggingface_(huggingface), bytes_(IsAscii(text)) {}

  // begin and end (both nullable): as many offsets of tokens in order.
  void Convert(uint32_t* begin, uint32_t* end, uint32_t count) {
    if (bytes_) return;
    for (uint32_t i = 0; i < count; ++i) {
      if (begin != nullptr) begin[i] = At(begin[i], &begin_, end_);
      if (end != nullptr) end[i] = At(end[i], &end_, begin_);
    }
  }

 private:
  // Has no way out of the loop, so that it is made of vectors.
  static bool IsAscii(std::string_view text) {
    unsigned char bits = 0;
    for (const char c : text) bits |= Byte(c);
    return bits < 0x80;
  }

  struct Place {
    uint32_t byte = 0, units = 0;
  };
  static uint32_t Distance(uint32_t a, uint32_t b) { return a < b ? b - a : a - b; }

  // Offsets are at character boundaries, so a stretch has as many units walked either way.
  uint32_t At(uint32_t byte, Place* place, const Place& other) const {
    if (Distance(byte, other.byte) < Distance(byte, place->byte)) *place = other;
    if (byte < place->byte) {
      place->units -= Count(byte, place->byte);
    } else {
      place->units += Count(place->byte, byte);
    }
    place->byte = byte;
    return place->units;
  }

  uint32_t Count(uint32_t begin, uint32_t end) const {
    uint32_t n = 0;
    while (begin < end) {
      const utf8::Decoded c = utf8::Decode(text_, begin);
      begin += c.valid || huggingface_ ? c.size : 1;
      n += utf16_ && c.code_point > 0xffff ? 2 : 1;
    }
    return n;
  }

  std::string_view text_;
  bool utf16_, huggingface_, bytes_;
  Place begin_, end_;  // of the last token
};

}  // namespace rankfeed::encode
