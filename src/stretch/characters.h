// SPDX-License-Identifier: MIT
// stretch/characters.h: the characters of a raw text and what each of them means to a model on the fast road. The
// meaning itself is image::CharInfo.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/byte_set.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "image/model.h"
#include "unicode/properties.h"

namespace rankfeed {

// A character of a raw text, or a bad sequence, and what it means: every reader of raw text outside
// of the kernels reads it here.
struct Character : utf8::Decoded {
  image::CharInfo info;
};
inline Character CharacterAt(const SegmentTables& tables, std::string_view text, size_t at) {
  const utf8::Decoded c = utf8::DecodeInline(text, at);
  return {c, tables.char_info[c.code_point]};
}

// Returns whether a byte of a raw text is a separator.
inline bool IsSeparator(const SegmentTables& tables, char byte) {
  return ByteSet::Has(tables.config->separators, Byte(byte));
}

// Returns whether a character is itself, or another one, in any company of such and of separators, and at
// the ends of a text, which may lose white space.
inline bool StandsAlone(const Character& c) {
  return c.valid && c.info.StandsAlone() && !unicode::IsWhiteSpace(c.code_point);
}

// Returns how many codes a list of SegmentTables::expansions has. Bounded also in an image that is written
// to while it is mapped, as all loops here are, so that no call goes on without end.
inline uint32_t ExpansionCount(const uint16_t* list) {
  return std::min<uint32_t>(list[0], image::kMaxExpansionCodes);
}

// Returns the codes that a character with that info is replaced by; none if it is not replaced, or vanishes.
inline std::span<const uint16_t> ExpansionOf(const SegmentTables& tables, image::CharInfo info) {
  if (!info.Expands()) return {};
  const uint16_t* const list = tables.expansions.data() + info.code();
  return {list + 1, ExpansionCount(list)};
}
inline bool Vanishes(const SegmentTables& tables, image::CharInfo info) {
  return info.Expands() && ExpansionOf(tables, info).empty();
}
// Returns whether what it becomes begins, or ends, with a code: neither with a space nor empty.
inline bool HasCodeAtEnd(const SegmentTables& tables, image::CharInfo info, bool begin) {
  if (!info.Expands()) return !info.EndsWord();
  const std::span<const uint16_t> codes = ExpansionOf(tables, info);
  return !codes.empty() && (begin ? codes.front() : codes.back()) != 0;
}

}  // namespace rankfeed
