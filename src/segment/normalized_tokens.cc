// SPDX-License-Identifier: MIT
// segment/normalized_tokens.cc: see normalized_tokens.h.
#include "segment/normalized_tokens.h"

#include <cstring>

#include "base/utf8.h"
#include "segment/spans.h"

namespace rankfeed::segment {

// Whether one that counts begins with that ASCII byte.
bool NormalizedTokens::Begins(uint8_t byte) const {
  trie::Unit first = tokens_.root();
  return tokens_.Step(first, byte + 1u);
}

bool NormalizedTokens::MayComeSecond(uint8_t byte) const {
  for (uint8_t first = 1; first < 128; ++first) {
    Place place{tokens_.root()};
    const Answer answer = begins_[first] ? StepByte(first, &place) : Answer::kNo;
    if (answer == Answer::kYes) return true;
    if (answer == Answer::kGoesOn && StepByte(byte, &place) != Answer::kNo) return true;
  }
  return false;
}

uint32_t NormalizedTokens::ListedCode(uint32_t info) const {
  constexpr uint32_t kNotTold = image::kCharNormalizes | image::kCharGeneralPath;
  if ((info & image::kCharExpands) == 0 || (info & kNotTold) != 0) return 0;
  const uint16_t* const list = expansions_ + (info & image::kCharCodeMask);
  const uint32_t count = ExpansionCount(list);
  const bool sign = count == 2 && list[1] == image::kSign;
  return count == 1 || sign ? list[count] : 0;
}

bool NormalizedTokens::MayBeginIn(std::string_view normalized) const {
  if (empty_) return false;
  for (size_t at = 0; at < normalized.size(); ++at) {
    Place place{tokens_.root()};
    Answer answer = Answer::kGoesOn;
    for (size_t to = at; to < normalized.size() && answer == Answer::kGoesOn; ++to) {
      answer = StepByte(static_cast<uint8_t>(normalized[to]), &place);
    }
    if (answer != Answer::kNo) return true;
  }
  return false;
}

bool NormalizedTokens::MayOccurIn(std::string_view text) const {
  if (only_first_ == 0) return false;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end; ++at) {
    const auto byte = static_cast<uint8_t>(*at);
    if (!first_bytes_.Has(byte)) {
      if (only_first_ == kSeveral) continue;
      at = static_cast<const char*>(std::memchr(at, only_first_, static_cast<size_t>(end - at)));
      if (at == nullptr) return false;
    }
    if (NoneGoesOn(at, end)) continue;
    if (MayGoOn({at, static_cast<size_t>(end - at)})) return true;
  }
  return false;
}

// Whether the character after the first one of a token, or one that may be that, tells at once
// that none goes on with it.
inline bool NormalizedTokens::NoneGoesOn(const char* at, const char* end) const {
  if (at + 1 == end) return true;
  const auto next = static_cast<uint8_t>(at[1]);
  return next < 0x80 && !second_bytes_.Has(next);
}

NormalizedTokens::Answer NormalizedTokens::StepByte(uint8_t byte, Place* place) const {
  if (place->bytes == most_bytes_ || !tokens_.Step(place->unit, byte + 1u)) return Answer::kNo;
  const bool ends = trie::Value(place->unit) != trie::kNoValue;
  ++place->bytes;
  return ends ? Answer::kYes : Answer::kGoesOn;
}

// Tokens hold nothing that is not ASCII, and no spaces, but those may be dropped.
NormalizedTokens::Answer NormalizedTokens::StepCode(uint32_t code, Place* place) const {
  if (code == 0 || code == image::kSign) return Answer::kYes;
  const uint8_t byte = AsciiOf(code);
  if (byte == kSeveral) return Answer::kYes;
  return byte != 0 ? StepByte(byte, place) : Answer::kNo;
}

NormalizedTokens::Answer NormalizedTokens::StepCodes(std::span<const uint16_t> codes,
                                                     Place* place) const {
  for (const uint16_t code : codes) {
    const Answer answer = StepCode(code, place);
    if (answer != Answer::kGoesOn) return answer;
  }
  return Answer::kGoesOn;
}

// The character that text begins with, of so many bytes and that info.
NormalizedTokens::Answer NormalizedTokens::StepCharacter(std::string_view text, uint32_t info,
                                                         size_t size, Place* place) const {
  if ((info & (image::kCharNormalizes | image::kCharGeneralPath)) != 0) return Answer::kYes;
  if (size < text.size()) {
    const utf8::Decoded next = utf8::Decode(text, size);
    if (!next.valid || (char_info_[next.code_point] & image::kCharMarks) != 0) return Answer::kYes;
  }
  const uint32_t code = info & image::kCharCodeMask;
  if ((info & image::kCharExpands) == 0) {
    return StepCode((info & image::kCharSpace) != 0 ? 0 : code, place);
  }
  const uint16_t* const list = expansions_ + code;
  const uint32_t count = ExpansionCount(list);
  if (count == 0) return Answer::kYes;
  return StepCodes({list + 1, count}, place);
}

// Whether a text may begin with a token.
bool NormalizedTokens::MayGoOn(std::string_view text) const {
  Place place{tokens_.root()};
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded c = utf8::Decode(text, at);
    Answer answer = Answer::kYes;
    if (c.code_point < 0x80) {
      if (becomes_[c.code_point] != 0) answer = StepByte(becomes_[c.code_point], &place);
    } else if (const uint32_t info = char_info_[c.code_point];
               c.valid && (info & image::kCharMarks) == 0) {
      answer = StepCharacter({text.data() + at, text.size() - at}, info, c.size, &place);
    }
    if (answer != Answer::kGoesOn) return answer == Answer::kYes;
    at += c.size;
  }
  return false;
}

bool NormalizedTokens::IsToken(const uint8_t* begin, const uint8_t* end) const {
  Place place{tokens_.root()};
  Answer answer = Answer::kNo;
  for (; begin != end; ++begin) {
    answer = StepByte(*begin, &place);
    if (answer == Answer::kNo) return false;
  }
  return answer == Answer::kYes;
}

// Whether one may end at `at`, where a separator stands: the characters before it, as long as each
// stands alone. Of those that are read with others it is not told.
bool NormalizedTokens::MayEndAt(std::string_view text, size_t at) const {
  uint8_t bytes[kCharactersBefore];
  uint8_t *const end = bytes + kCharactersBefore, *begin = end;
  while (at != 0 && end - begin != most_bytes_) {
    const size_t previous = utf8::Previous(text, at);
    const utf8::Decoded c = utf8::Decode(text, previous);
    if (previous + c.size != at) return true;
    if (c.code_point < 0x80 && separators_.Has(static_cast<uint8_t>(c.code_point))) return false;
    const uint32_t info = char_info_[c.code_point];
    if (!StandsAlone(c, info)) return true;
    const uint8_t byte = AsciiOf(info & image::kCharCodeMask);
    if (byte == 0 || (begin == end && byte != kSeveral && !lasts_.Has(byte))) return false;
    if (byte == kSeveral || begin == bytes) return true;
    *--begin = byte;
    if (IsToken(begin, end)) return true;
    at = previous;
  }
  return false;
}

// Whether one may begin at `at`, after a separator. A character is known with the one after it,
// which may change it.
bool NormalizedTokens::MayBeginAt(std::string_view text, size_t at) const {
  Place place{tokens_.root()};
  utf8::Decoded c = utf8::Decode(text, at);
  for (uint32_t n = 0; n < kCharactersAhead; ++n) {
    at += c.size;
    if (!StandsAlone(c, char_info_[c.code_point]) || at >= text.size()) return true;
    const utf8::Decoded next = utf8::Decode(text, at);
    const bool ends =
        next.code_point < 0x80 && separators_.Has(static_cast<uint8_t>(next.code_point));
    if (!ends && !StandsAlone(next, char_info_[next.code_point])) return true;
    const Answer answer = StepCode(char_info_[c.code_point] & image::kCharCodeMask, &place);
    if (answer != Answer::kGoesOn || ends) return answer == Answer::kYes;
    c = next;
  }
  return true;
}

}  // namespace rankfeed::segment
