// SPDX-License-Identifier: MIT
// fast/spans.h: spans of character codes, and what the loops that decode text to them share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/layout.h"
#include "base/utf8.h"
#include "fast/key.h"
#include "image/model.h"
#include "models/spans.h"
#include "stretch/characters.h"

namespace rankfeed::fast {

// A segment that was decoded to spans [first, last), by their numbers in SpanPaths.
struct Decoded {
  uint16_t segment, first, last;
  bool cacheable;           // one span, of the segment's own characters, that a key can stand for
  bool trailing_space : 1;  // ends with characters that normalize to a space
  bool word_first : 1;      // begins with a sign: a space before it is a word
};

// Arrays that short segments are decoded to, one span each: codes and spans are appended up to limits
// that leave room for one more.
struct ShortDecode {
  // Bytes of a segment. After them the key has a 0, so that no character is read beyond it.
  static constexpr uint32_t kMaxBytes = SegmentKey::kMaxBytes - 1;

  const image::CharInfo* basic;  // by code point, of the first 65,536
  uint16_t* codes;
  Span* spans;
  Decoded* decoded;      // one for each segment done
  uint32_t size, count;  // of codes and spans, moved on
  uint32_t size_limit, count_limit;
  uint16_t metaspace;  // the code of U+2581
};

// Ends the span at *size of to.codes, which a segment of char_count characters has become; *size
// and *count are moved on.
inline Decoded EndShort(const ShortDecode& to, uint16_t segment, bool word_start,
                        uint32_t char_count, uint32_t* size, uint32_t* count) {
  const uint32_t end = *size + word_start + char_count;
  to.codes[end] = 0;
  to.spans[*count] = {static_cast<uint16_t>(*size), static_cast<uint16_t>(end), word_start};
  *size = end + 1;
  const auto span = static_cast<uint16_t>((*count)++);
  return {segment, span, static_cast<uint16_t>(span + 1), true, false, false};
}

// Arrays that other segments are decoded to: spans that lie one after the other, and the one that is
// open after them. A U+2581 begins a span wherever it stands.
struct RunDecode : SpanList {
  // In most scripts spans are cut from this length on: shorter ones gain nothing, and the pieces'
  // own cuts in alphabetic words would only make more of them.
  static constexpr uint32_t kCutFrom = 40;

  const image::CharInfo* basic;  // as above
  const uint16_t* direct;      // SegmentTables::direct_codes
  const uint64_t* pairs;       // SegmentTables::spanned_pairs
  const uint16_t* expansions;  // SegmentTables::expansions
  uint32_t size_limit = 0;
  image::CharInfo previous;        // of the last character
  const char* end = nullptr;       // of the segment
  const char* readable = nullptr;  // four bytes can be read at places before it

  uint32_t open() const { return begins[count]; }
  // The next code begins another span; there is at least one in this one.
  void Cut() { begins[++count] = static_cast<uint16_t>(size); }
};

// Returns whether a span may end between two characters, of which one knows last_code and previous, info.
// Unknown characters next to each other are one token, so two that are no pieces of their own stay
// together, even if longer pieces hold them. pairs: SegmentTables::spanned_pairs.
inline bool MayEndBetween(const uint64_t* pairs, uint32_t last_code, image::CharInfo previous,
                          image::CharInfo info) {
  return !image::Spanned(pairs, last_code, info.code()) && !info.IsUnknownAfter(previous);
}

// Appends what a character is replaced by, if nothing but that has to be done with it; false if so,
// or if it vanishes.
inline bool AppendExpansion(image::CharInfo info, RunDecode* to) {
  if (!info.IsListAfter(to->previous)) return false;
  const uint16_t* const list = to->expansions + info.code();
  const uint32_t count = ExpansionCount(list);
  if (count == 0) return false;
  for (uint32_t i = 0; i < count; ++i) to->codes[to->size++] = list[1 + i];
  to->previous = info.AsUnknown();  // the last code may be
  return true;
}

// The same for the character of three bytes at text, of which four are read.
inline bool AppendExpansion(const char* text, RunDecode* to) {
  const uint32_t word = utf8::LoadThree(text), c = utf8::CodePointOfThree(word);
  if (!utf8::IsThree(word) || c < 0x800) return false;
  return AppendExpansion(to->basic[c], to);
}

}  // namespace rankfeed::fast
