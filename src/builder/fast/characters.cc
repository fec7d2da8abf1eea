// SPDX-License-Identifier: MIT
// builder/fast/characters.cc: see characters.h.
//
// A raw byte separates words when it is ASCII and normalizes to one space on its own.
//
// Normalization by single characters is exact because a character is marked when it could be read
// together with the one before it (normalized_characters.h). HuggingFace's Precompiled works on
// grapheme clusters (tokenizers 0.23.2 normalizers/precompiled.rs): clusters shorter than 6 bytes
// are replaced as a whole when a key is a prefix of them. A mark sends its segment through the
// normalizer if that may happen to it and the character before it (CharInfo::Joins): if that is a key, or
// begins some and the mark stands later in some, and both are short enough together. A separator
// begins no longer key, and where it is a key itself it is a control, which marks do not join.
// SentencePiece takes the longest key there is, so there every character that stands second or later
// in a key plays the mark's part.
#include "builder/fast/characters.h"

#include <algorithm>

#include "base/narrow.h"
#include "base/utf8.h"
#include "builder/fast/piece_neighbours.h"
#include "unicode/properties.h"

namespace rankfeed::builder {

using image::CharInfo;
using image::FastRoadReason;

void CharacterTable::AddSections(std::vector<SectionData>* out) const {
  std::vector<uint16_t> blocks;
  std::vector<CharInfo> chars;
  std::map<std::vector<CharInfo>, uint16_t> known;
  for (size_t block = 0; block < image::kCodePointBlocks; ++block) {
    const std::vector<CharInfo> content(info_.begin() + static_cast<ptrdiff_t>(block * 256),
                                        info_.begin() + static_cast<ptrdiff_t>(block * 256 + 256));
    const auto next = static_cast<uint16_t>(chars.size() / 256);
    const auto [it, added] = known.try_emplace(content, next);
    const bool basic = block < image::kBasicBlocks;
    if (added || basic) chars.insert(chars.end(), content.begin(), content.end());
    blocks.push_back(basic ? next : it->second);
  }
  out->emplace_back(image::SectionId::kCharInfoBlocks, std::move(blocks));
  out->emplace_back(image::SectionId::kCharInfo, std::move(chars));
  out->emplace_back(image::SectionId::kExpansions, lists_);
}

bool CharacterTable::IsSign(char32_t cp) const {
  return has_signs_ && unicode::HasProp(model_, cp, image::kPunctuationProp);
}

bool CharacterTable::MayBeginToken(std::string_view normal) const {
  return !model_.added_normalized.empty() && std::any_of(normal.begin(), normal.end(), [&](char c) {
    trie::Unit unit = model_.added_normalized.root();
    return model_.added_normalized.Step(unit, Byte(c) + 1u);
  });
}

uint16_t CharacterTable::CodeOf(char32_t cp) const {
  const uint32_t code = model_.codes[cp];
  return static_cast<uint16_t>(code != 0 ? code : model_.config->code_count);
}

CharInfo CharacterTable::AddList(bool ends_word) {
  if (list_.size() > image::kMaxExpansionCodes + 1) return CharInfo::OfNormalizer();
  const auto [at, added] = known_.try_emplace(list_, Size32(lists_));
  if (added && lists_.size() + list_.size() > CharInfo::kLastList) {
    known_.erase(at);
    return CharInfo::OfNormalizer();
  }
  if (added) lists_.insert(lists_.end(), list_.begin(), list_.end());
  const CharInfo info = CharInfo::OfList(at->second);
  return ends_word ? info | CharInfo::OfSpace() : info;
}

// Returns whether stretch/normalized_tokens.h can look for the text: several ASCII characters that
// pieces hold too.
static bool CanBeFound(const Model& model, std::string_view text) {
  return text.size() != 1 && std::all_of(text.begin(), text.end(), [&](char c) {
    return Byte(c) < 0x80 && c > ' ' && model.codes[c] != 0;
  });
}
bool NormalizedTokensCanBeFound(const Model& model) {
  for (const image::AddedToken& token : model.added_tokens) {
    if ((token.flags & image::kNormalized) == 0) continue;
    if (!CanBeFound(model, model.text(token.normalized))) return false;
  }
  return true;
}

FastRoadReason Characters::Classify() {
  for (const uint32_t id : PieceIds(model_)) {
    if (!IsUserDefined(model_, id)) continue;
    const std::string_view piece = model_.piece(id);
    const utf8::Decoded first = utf8::Decode(piece, 0);
    if (first.size == piece.size()) symbols_.insert(first.code_point);
  }
  if (const FastRoadReason reason = FindSeparators(); reason != FastRoadReason::kNone)
    return reason;
  Fill([&](char32_t cp) { return Joins(cp); }, [&](char32_t cp) { return Meaning(cp); });
  return FastRoadReason::kNone;
}

FastRoadReason Characters::FindSeparators() {
  for (uint8_t b = 1; b < 128; ++b) {
    if (const FastRoadReason reason = ClassifySeparator(b); reason != FastRoadReason::kNone) {
      return reason;
    }
  }
  // CR and LF are one cluster, which is replaced as a whole.
  const bool cluster = !pipeline_.sentencepiece && normalized_.JoinsLineEnds();
  const bool cr = separators_.Has('\r'), lf = separators_.Has('\n');
  const bool replaced = cr != lf || (!cr && keys_.Replaces("\r\n"));
  return cluster && replaced ? FastRoadReason::kLineEnds : FastRoadReason::kNone;
}

FastRoadReason Characters::ClassifySeparator(uint8_t byte) {
  char room[4], before_room[4];
  const std::string_view normal = Normalized(byte, room);
  const bool unchanged_space = normal.size() == 1 && normal[0] == static_cast<char>(byte) &&
                               IsWhiteSpace(byte) && pipeline_.words == Words::kSplitAtWhiteSpace;
  if (normal != " " && !unchanged_space) return FastRoadReason::kNone;
  separators_.Add(byte);
  if (pipeline_.sentencepiece) {
    const char c = static_cast<char>(byte);
    const bool joins = keys_.SomeLonger({&c, 1}) || keys_.IsLater(byte);
    return joins ? FastRoadReason::kSeparatorKeys : FastRoadReason::kNone;
  }
  constexpr uint32_t kPatterns = image::kMarkInPattern | image::kMarkReorders;
  const CharInfo joins = normalized_.joins(byte);
  if (((joins.marks() | joins.bases()) & kPatterns) != 0) {
    return FastRoadReason::kSeparatorPatterns;
  }
  const std::string_view before = normalized_.BeforeCharsmap(byte, before_room);
  // A byte that is a key would replace a mark after it too.
  const bool replaces_more = before.size() != 1 || keys_.SomeLonger(before) ||
                             (keys_.Replaces(before) && !BreaksClusters(before[0]));
  return replaces_more ? FastRoadReason::kSeparatorKeys : FastRoadReason::kNone;
}

// Returns the text that a character alone becomes; room is where it may lie.
std::string_view Characters::Normalized(char32_t cp, char (&room)[4]) const {
  if (!pipeline_.sentencepiece) return normalized_.Of(cp, room);
  const std::string_view c(room, utf8::Encode(cp, room));
  return symbols_.contains(cp) ? c : keys_.Normalized(c);
}

bool Characters::IsWhiteSpace(char32_t cp) const {
  return !pipeline_.sentencepiece && unicode::HasProp(model_, cp, image::kWhiteSpace);
}

bool Characters::BreaksClusters(char32_t cp) const {
  const uint32_t grapheme = model_.props[cp] & image::kGraphemeMask;
  return grapheme == image::kGraphemeControl || grapheme == image::kGraphemeCr || grapheme == image::kGraphemeLf;
}

CharInfo Characters::CharOf(char32_t cp) const {
  const CharInfo code = CharInfo::OfCode(CodeOf(cp));
  return IsPiece(model_, cp) ? code : code.AsUnknown();
}

CharInfo Characters::Joins(char32_t cp) const {
  if (!pipeline_.sentencepiece) return normalized_.joins(cp);
  return CharInfo::OfMarks(keys_.IsLater(cp) ? image::kMarkAfterKey : 0u) |
         CharInfo::OfBases(keys_.IsFirst(cp) ? image::kMarkAfterKey : 0u);
}

CharInfo Characters::Meaning(char32_t cp) {
  // Ends keys, in no reference's tests.
  if (cp == 0 && pipeline_.sentencepiece) return CharInfo::OfGeneralPath();
  char room[4], own[4];
  const std::string_view normal = Normalized(cp, room), c(own, utf8::Encode(cp, own));
  const bool separator = cp < 0x80 && separators_.Has(static_cast<uint8_t>(cp));
  constexpr uint32_t kMakeWords = image::kEverySpaceIsWord | image::kSpaceBeforeSignIsWord;
  if (separator && (pipeline_.rules & kMakeWords) != 0) return CharOf(WordStart(model_));
  // Only ASCII characters are looked at for such tokens (stretch/normalized_tokens.h).
  if (!(cp < 0x80 && normal.size() == 1) && MayBeginToken(normal)) return CharInfo::OfGeneralPath();
  // Next to other white space it is part of a run.
  if (!pipeline_.sentencepiece && normalized_.JoinsRuns(cp)) {
    return normal == c ? CharInfo::OfGeneralPath() | CharOf(cp) : CharInfo::OfGeneralPath();
  }
  if (normal != c) return normal == " " ? CharInfo::OfSpace() : Expansion(cp, normal);
  if (cp == kMetaspace) return CharInfo::OfGeneralPath();
  if (IsWhiteSpace(cp) && pipeline_.words == Words::kSplitAtWhiteSpace) {
    return CharInfo::OfSpace();
  }
  // Signs of ASCII are common bytes.
  if (cp >= 0x80 && IsSign(cp)) return Expansion(cp, normal);
  return CharOf(cp);
}

// Returns the info of a character that becomes something else, or is a sign.
CharInfo Characters::Expansion(char32_t cp, std::string_view normal) {
  for (const utf8::Decoded c : utf8::Characters(normal)) {
    if (c.code_point == kMetaspace || (c.code_point != ' ' && IsWhiteSpace(c.code_point))) {
      return CharInfo::OfGeneralPath();
    }
  }
  const bool ends_word = ListCodes(normal, [](char32_t c) { return c == ' '; });
  // ASCII bytes that change are lists, so that no common byte is one of them (boundaries.cc), but
  // for letters, which never are.
  if (list_.size() == 2 && !ends_word && (cp >= 0x80 || IsAsciiLetter(cp))) {
    return CharOf(utf8::Decode(normal, 0).code_point);
  }
  return AddList(ends_word);
}

}  // namespace rankfeed::builder
