// SPDX-License-Identifier: MIT
// stretch/normalized_tokens.cc: see normalized_tokens.h.
#include "stretch/normalized_tokens.h"

#include <algorithm>
#include <span>

#include "base/narrow.h"
#include "stretch/characters.h"

namespace rankfeed {

NormalizedTokens::NormalizedTokens(const Model& model) : model_(model) {
  if (model.added_normalized.empty() || !model.segment.config.has_value()) return;
  for (const image::AddedToken& token : model.added_tokens) {
    const bool counts = (token.flags & image::kNormalized) != 0;
    const std::string_view text = counts ? model.text(token.normalized) : std::string_view();
    if (text.find_first_not_of(' ') != text.npos) last_bytes_.Add(Byte(text.back()));
  }
  for (uint8_t b = 0; b < 128; ++b) {
    becomes_[b] = model.bpe() ? b : Becomes(b);
    // Runs of spaces are segments of the scanner.
    if (model.bpe() && b == ' ') continue;
    trie::Unit unit = model.added_normalized.root();
    if (becomes_[b] == kDoubt || !model.added_normalized.Step(unit, becomes_[b] + 1u)) continue;
    first_bytes_.Add(b);
    first_[first_count_++] = static_cast<char>(b);
  }
}

// Returns the ASCII character that has a code; kOther if none has.
uint8_t NormalizedTokens::AsciiOf(uint32_t code) const {
  for (uint8_t b = 1; b < 128 && code != 0; ++b) {
    if (model_.codes[b] == code) return b;
  }
  return kOther;
}

uint8_t NormalizedTokens::Becomes(uint8_t byte) const {
  const image::CharInfo info = model_.segment.char_info[byte];
  if (info.Normalizes() || info.TakesGeneralPath()) return kDoubt;
  // White space has no code.
  if (!info.Expands()) return AsciiOf(info.code());
  const std::span<const uint16_t> codes = ExpansionOf(model_.segment, info);
  const bool one = codes.size() == 1 || (codes.size() == 2 && codes[0] == image::kSign);
  return one ? AsciiOf(codes.back()) : kDoubt;
}

NormalizedTokens::Answer NormalizedTokens::Step(uint8_t byte, trie::Unit* unit) const {
  if (!model_.added_normalized.Step(*unit, byte + 1u)) return Answer::kNo;
  return trie::Value(*unit) != trie::kNoValue ? Answer::kYes : Answer::kGoesOn;
}

NormalizedTokens::Answer NormalizedTokens::StepCharacter(const utf8::Decoded& c, trie::Unit* unit) const {
  if (c.code_point < 0x80) {
    const uint8_t byte = becomes_[c.code_point];
    return byte != kDoubt ? Step(byte, unit) : Answer::kYes;
  }
  // A character that NFC makes another one takes the general path, where tokens are looked for too.
  if (model_.bpe()) return Answer::kNo;
  const image::CharInfo info = model_.segment.char_info[c.code_point];
  if (!c.valid || info.IsDoubtful() || info.EndsWord()) return Answer::kYes;
  const auto code = static_cast<uint16_t>(info.code());
  std::span<const uint16_t> codes{&code, 1};
  if (info.Expands()) codes = ExpansionOf(model_.segment, info);
  if (codes.empty()) return Answer::kYes;
  Answer answer = Answer::kGoesOn;
  for (size_t i = 0; i < codes.size() && answer == Answer::kGoesOn; ++i) {
    if (codes[i] != image::kSign) answer = Step(AsciiOf(codes[i]), unit);
  }
  return answer;
}

bool NormalizedTokens::MayBeginIn(std::string_view normalized) const {
  for (size_t at = 0; at < normalized.size() && !empty(); ++at) {
    trie::Unit unit = model_.added_normalized.root();
    Answer answer = Answer::kGoesOn;
    // Not substr, which throws in code that the compiler cannot prove unused.
    const size_t size = std::min<size_t>(normalized.size() - at, model_.max_added_bytes);
    for (const char byte : std::string_view(normalized.data() + at, size)) {
      answer = Step(Byte(byte), &unit);
      if (answer != Answer::kGoesOn) break;
    }
    if (answer != Answer::kNo) return true;
  }
  return false;
}

bool NormalizedTokens::MayOccurIn(std::string_view text) const {
  // A pass for each byte: the library finds one byte much faster than one of several.
  for (const char first : std::string_view(first_, first_count_)) {
    for (size_t at = 0; (at = text.find(first, at)) != text.npos; ++at) {
      if (MayGoOn({text.data() + at, text.size() - at})) return true;
    }
  }
  return false;
}

// Returns whether a text may begin with a token.
bool NormalizedTokens::MayGoOn(std::string_view text) const {
  trie::Unit unit = model_.added_normalized.root();
  size_t at = 0;
  for (uint32_t n = 0; n < model_.max_added_bytes && at < text.size(); ++n) {
    const utf8::Decoded c = utf8::DecodeInline(text, at);
    at += c.size;
    // A character with a mark after it may become another one.
    const bool other = c.code_point >= 0x80 && at < text.size() && !model_.bpe();
    if (other && CharacterAt(model_.segment, text, at).info.IsMark()) return true;
    const Answer answer = StepCharacter(c, &unit);
    if (answer != Answer::kGoesOn) return answer == Answer::kYes;
  }
  return false;
}

bool NormalizedTokens::MayTouch(std::string_view text, size_t at) const {
  if (empty()) return false;
  if (model_.bpe()) {
    return last_bytes_.Has(Byte(text[at - 1])) ||
           first_bytes_.Has(Byte(text[at + 1]));
  }
  const Character before = CharacterAt(model_.segment, text, utf8::Previous(text, at));
  if (last_bytes_.Has(AsciiOf(before.info.code()))) return true;
  const utf8::Decoded next = utf8::Decode(text, at + 1);
  if (next.code_point < 0x80 && first_bytes_.Has(static_cast<uint8_t>(next.code_point))) return true;
  // The character may become another one with the one after it.
  const size_t after = at + 1 + next.size;
  return after >= text.size() || (Byte(text[after]) >= 0x80 &&
                                  !StandsAlone(CharacterAt(model_.segment, text, after)));
}

}  // namespace rankfeed
