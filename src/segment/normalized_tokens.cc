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
  if (!tokens_.Step(first, byte + 1u)) return false;
  if (least_bytes_ == 1) return true;
  for (uint32_t next = 1; next < 256; ++next) {
    trie::Unit unit = first;
    if (tokens_.Step(unit, next + 1)) return true;
  }
  return false;
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
    if (MayGoOn({at, static_cast<size_t>(end - at)}, 0, {tokens_.root()}, false)) return true;
  }
  return false;
}

// Whether the character behind the first one of a token, or one that may be that, tells at once
// that none goes on with it.
inline bool NormalizedTokens::NoneGoesOn(const char* at, const char* end) const {
  if (at + 1 == end) return true;
  const auto next = static_cast<uint8_t>(at[1]);
  if (next < 0x80) return !second_bytes_.Has(next);
  if (huggingface_ || end - at < 5) return false;
  const utf8::TwoOrThree c(at + 1);
  if (!c.valid) return false;
  constexpr uint32_t kAsk = image::kCharNormalizes | image::kCharGeneralPath | image::kCharSpace |
                            image::kCharMarks | image::kCharBases;
  const uint32_t info = char_info_.data[c.code_point];
  uint32_t code = info & image::kCharCodeMask;
  if ((info & kAsk) != 0) return false;
  if ((info & image::kCharExpands) != 0) {
    const uint16_t* const list = expansions_ + code;
    if (list[0] == 0) return false;
    code = list[1];
  }
  const uint8_t byte = ascii_[code % kCodeSlots];
  return byte != kSeveral && (byte == 0 || !seconds_.Has(byte));
}

NormalizedTokens::Answer NormalizedTokens::StepByte(uint8_t byte, Place* place) const {
  if (place->bytes == most_bytes_ || !tokens_.Step(place->unit, byte + 1u)) return Answer::kNo;
  const bool ends = trie::Value(place->unit) != trie::kNoValue;
  return ++place->bytes >= least_bytes_ && ends ? Answer::kYes : Answer::kGoesOn;
}

// Tokens hold nothing that is not ASCII, and no spaces, but those HuggingFace may drop.
NormalizedTokens::Answer NormalizedTokens::StepCode(uint32_t code, Place* place) const {
  if (code == 0 || image::MarksSign(code)) return huggingface_ ? Answer::kYes : Answer::kNo;
  if (code >= code_count_) return Answer::kNo;
  const uint8_t byte = ascii_[code % kCodeSlots];
  if (byte == kSeveral) return Answer::kYes;
  return byte != 0 && codes_[byte] == code ? StepByte(byte, place) : Answer::kNo;
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
  if ((info & image::kCharNormalizes) != 0) return Answer::kYes;
  if (size < text.size()) {
    const uint32_t joining = huggingface_ ? image::kCharMarks : image::JoiningMarks(info);
    const utf8::Decoded next = utf8::Decode(text, size);
    if (!next.valid || (char_info_[next.code_point] & joining) != 0) return Answer::kYes;
  }
  const uint32_t code = info & image::kCharCodeMask;
  if ((info & image::kCharGeneralPath) != 0) {
    uint16_t codes[image::kMaxExpansionCodes];
    const uint32_t count = ReplacedAlone(text.substr(0, size), codes);
    return count == 0 ? Answer::kYes : StepCodes({codes, count}, place);
  }
  if ((info & image::kCharExpands) == 0) {
    return StepCode((info & image::kCharSpace) != 0 ? 0 : code, place);
  }
  const uint16_t* const list = expansions_ + code;
  const uint32_t count = ExpansionCount(list);
  if (count == 0 && huggingface_) return Answer::kYes;
  return StepCodes({list + 1, count}, place);
}

// Whether a token may go on in a text from a place in it, behind a character of that info. at_end:
// the answer if the text ends inside the token.
bool NormalizedTokens::MayGoOn(std::string_view text, uint32_t previous, Place place,
                               bool at_end) const {
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded c = utf8::Decode(text, at);
    const uint32_t info = char_info_[c.code_point];
    Answer answer = Answer::kYes;
    if (c.code_point < 0x80) {
      if (becomes_[c.code_point] != 0) answer = StepByte(becomes_[c.code_point], &place);
    } else {
      const uint32_t joining = huggingface_ ? image::kCharMarks : image::JoiningMarks(previous);
      if (c.valid && (info & joining) == 0) {
        answer = StepCharacter({text.data() + at, text.size() - at}, info, c.size, &place);
      }
    }
    if (answer != Answer::kGoesOn) return answer == Answer::kYes;
    previous = info;
    at += c.size;
  }
  return at_end;
}

// What the charsmap makes of a character, if that is no space, nor anything that means one.
uint32_t NormalizedTokens::ReplacedAlone(std::string_view character, uint16_t* codes) const {
  const CharsmapMatch match = charsmap_.Longest(character);
  if (match.key_size != character.size()) return 0;
  uint32_t count = 0;
  for (size_t at = 0; at < match.replacement.size();) {
    const utf8::Decoded c = utf8::Decode(match.replacement, at);
    const bool space = c.code_point <= ' ' || c.code_point == 0x2581;
    if (!c.valid || space || count == image::kMaxExpansionCodes) return 0;
    const uint32_t code = codes_[c.code_point];
    codes[count++] = static_cast<uint16_t>(code != 0 ? code : code_count_);
    at += c.size;
  }
  return count;
}

uint32_t NormalizedTokens::Replaced(std::string_view text, bool ends, uint16_t* codes,
                                    bool* depends) const {
  if (empty_ || text.empty()) return 0;
  const utf8::Decoded c = utf8::Decode(text, 0);
  const uint32_t info = char_info_[c.code_point];
  const std::string_view rest{text.data() + c.size, text.size() - c.size};
  if (!c.valid || charsmap_.empty()) return 0;
  if (!rest.empty()) {
    const utf8::Decoded next = utf8::Decode(rest, 0);
    if ((char_info_[next.code_point] & image::JoiningMarks(info)) != 0) return 0;
  }
  const uint32_t count = ReplacedAlone(text.substr(0, c.size), codes);
  for (uint32_t i = 0; i < count; ++i) {
    Place place{tokens_.root()};
    const Answer answer = StepCodes({codes + i, count - i}, &place);
    if (answer == Answer::kYes) return 0;
    if (answer == Answer::kNo || !MayGoOn(rest, info, place, /*at_end=*/true)) continue;
    if (!ends || MayGoOn(rest, info, place, /*at_end=*/false)) return 0;
    *depends = true;
  }
  return count;
}

}  // namespace rankfeed::segment
