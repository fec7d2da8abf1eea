// SPDX-License-Identifier: MIT
// builder/characters.cc: see characters.h.
//
// A raw byte separates words when it is ASCII and normalizes to one space on its own.
//
// Normalization by single characters is exact because a character is marked when it could be read
// together with the one before it. HuggingFace's Precompiled works on grapheme clusters (tokenizers
// 0.23.2 normalizers/precompiled.rs): clusters shorter than 6 bytes are replaced as a whole when a
// key is a prefix of them. A mark sends its segment through the normalizer if that may happen to it
// and the character before it (kCharMarks): if that is a key, or begins some and the mark stands
// later in some, and both are short enough together. A separator begins no longer key, and where it
// is a key itself it is a control, which marks do not join. SentencePiece takes the longest key
// there is, so there every character that stands second or later in a key plays the mark's part.
#include "builder/characters.h"

#include "base/utf8.h"
#include "builder/piece_neighbours.h"
#include "normalize/precompiled.h"

namespace rankfeed::builder {

using image::FastRoadReason;

FastRoadReason Characters::Classify() {
  if (const FastRoadReason reason = FindSeparators(); reason != FastRoadReason::kNone)
    return reason;
  info_.assign(0x110000, 0);
  for (char32_t cp = 0; cp < 0x110000; ++cp) {
    if (cp >= 0xd800 && cp < 0xe000) {  // not in any text, but in three bytes that are no UTF-8
      info_[cp] = image::kCharGeneralPath;
      continue;
    }
    char bytes[4];
    const std::string_view c(bytes, utf8::Encode(cp, bytes));
    uint32_t info = pipeline_.precompiled ? JoinFlags(cp, c) : 0;
    // A cluster may join a Prepend character with a separator after it.
    if (!pipeline_.sentencepiece() && pipeline_.precompiled &&
        GraphemeOf(cp) == image::kGraphemePrepend) {
      if (keys_.SomeBegin(c)) return FastRoadReason::kPrependKeys;
      info |= image::kCharNormalizes;
    }
    info_[cp] = info | Meaning(cp, c);
  }
  return FastRoadReason::kNone;
}

FastRoadReason Characters::FindSeparators() {
  for (uint8_t b = 1; b < 128; ++b) {
    const char byte = static_cast<char>(b);
    const std::string_view c(&byte, 1);
    const std::string_view normal = keys_.Normalized(c);
    const bool unchanged_space =
        normal == c && WhiteSpace(b) && pipeline_.form == Form::kWhitespaceSplit;
    if (normal != " " && !unchanged_space) continue;
    if (keys_.SomeLonger(c)) return FastRoadReason::kSeparatorKeys;
    if (pipeline_.sentencepiece()) {
      if (keys_.later().contains(b)) return FastRoadReason::kSeparatorKeys;
    } else if (keys_.Replaces(c) && !BreaksClusters(b)) {
      return FastRoadReason::kSeparatorKeys;  // it would replace a mark behind it too
    }
    separators_.Add(b);
  }
  // CR LF is one cluster and becomes what CR becomes.
  return separators_.Has('\r') == separators_.Has('\n') ? FastRoadReason::kNone
                                                        : FastRoadReason::kLineEnds;
}

bool Characters::WhiteSpace(char32_t cp) const {
  return model_.props.present() && (model_.props[cp] & image::kWhiteSpace) != 0;
}

uint32_t Characters::GraphemeOf(char32_t cp) const {
  return model_.props[cp] & image::kGraphemeMask;
}

bool Characters::BreaksClusters(char32_t cp) const {
  const uint32_t is = GraphemeOf(cp);
  return is == image::kGraphemeControl || is == image::kGraphemeCr || is == image::kGraphemeLf;
}

uint32_t Characters::CodeOf(char32_t cp) const {
  const uint32_t code = model_.codes[cp];
  return code != 0 ? code : model_.config->code_count;
}

// The same as a CharInfo.
uint32_t Characters::CharOf(char32_t cp) const {
  return CodeOf(cp) | (IsPiece(model_, cp) ? 0 : uint32_t{image::kCharUnknown});
}

uint32_t Characters::JoinFlags(char32_t cp, std::string_view c) const {
  uint32_t marks = keys_.later().contains(cp) ? uint32_t{image::kMarkAfterKey} : 0;
  uint32_t bases = keys_.first().contains(cp) ? uint32_t{image::kMarkAfterKey} : 0;
  if (pipeline_.sentencepiece()) return marks | bases << image::kCharBaseShift;
  // The shortest key that a cluster begins with replaces all of it, the marks behind that too.
  marks |= c.size() <= 2 ? image::kMarkOfTwoBytes : image::kMarkOfMoreBytes;
  if (keys_.Replaces(c)) {
    if (c.size() + 2 < normalize::kWholeClusterBytes) bases |= image::kMarkOfTwoBytes;
    if (c.size() + 3 < normalize::kWholeClusterBytes) bases |= image::kMarkOfMoreBytes;
  }
  const uint32_t info = bases << image::kCharBaseShift;
  switch (GraphemeOf(cp)) {
    case image::kGraphemeExtend:
    case image::kGraphemeZwj:
    case image::kGraphemeSpacingMark:
    case image::kGraphemeLinker:
    case image::kGraphemeZwnj:
      return info | marks;
  }
  return info;
}

uint32_t Characters::Meaning(char32_t cp, std::string_view c) {
  // Ends keys, in no reference's tests.
  if (cp == 0 && pipeline_.sentencepiece()) return image::kCharGeneralPath;
  const std::string_view normal = keys_.Normalized(c);
  if (normal != c) return normal == " " ? image::kCharSpace : Expansion(cp, normal);
  if (cp == kMetaspace) return image::kCharGeneralPath;
  if (!pipeline_.sentencepiece() && WhiteSpace(cp)) {
    if (pipeline_.form == Form::kWhitespaceSplit) return image::kCharSpace;
    // May be stripped from the end of the text: leave it to the general path.
    if (pipeline_.form == Form::kStripped) return image::kCharGeneralPath;
  }
  return CharOf(cp);
}

// Of a character that becomes something else.
uint32_t Characters::Expansion(char32_t cp, std::string_view normal) {
  std::vector<uint16_t> list = {0};
  bool spaces = false;
  for (size_t at = 0; at < normal.size();) {
    const utf8::Decoded out = utf8::Decode(normal, at);
    at += out.size;
    if (out.code_point == ' ') {
      list.push_back(0);
      spaces = true;
      continue;
    }
    if (out.code_point == kMetaspace ||
        (!pipeline_.sentencepiece() && WhiteSpace(out.code_point))) {
      return image::kCharGeneralPath;
    }
    list.push_back(static_cast<uint16_t>(CodeOf(out.code_point)));
  }
  // ASCII bytes that change are lists, so that no common byte is one of them (boundaries.cc).
  if (list.size() == 2 && cp >= 0x80) return CharOf(utf8::Decode(normal, 0).code_point);
  list[0] = static_cast<uint16_t>(list.size() - 1);
  if (list[0] > image::kMaxExpansionCodes) return image::kCharNormalizes;
  const uint32_t at = AddExpansion(list);
  if (at > image::kCharCodeMask) return image::kCharNormalizes;
  return image::kCharExpands | (spaces ? uint32_t{image::kCharSpace} : 0) | at;
}

// Where the list begins; beyond image::kCharCodeMask when there is no room.
uint32_t Characters::AddExpansion(const std::vector<uint16_t>& list) {
  if (const auto known = known_.find(list); known != known_.end()) return known->second;
  if (expansions_.size() + list.size() > image::kCharCodeMask) return image::kCharCodeMask + 1;
  const auto at = static_cast<uint32_t>(expansions_.size());
  known_.emplace(list, at);
  expansions_.insert(expansions_.end(), list.begin(), list.end());
  return at;
}

}  // namespace rankfeed::builder
