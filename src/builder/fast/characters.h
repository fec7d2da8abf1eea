// SPDX-License-Identifier: MIT
// builder/fast/characters.h: what each raw character means on the fast road (image/char_info.h), and which ASCII
// bytes separate words.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_set.h"
#include "builder/fast/charsmap_keys.h"
#include "builder/fast/eligibility.h"
#include "builder/fast/normalized_characters.h"
#include "builder/image/sections.h"
#include "image/fast_road.h"
#include "image/model.h"

namespace rankfeed::builder {

// Appends the sections of a table by code point.
void AddCharInfo(const std::vector<image::CharInfo>& info, std::vector<SectionData>* out);

// Returns whether stretch/normalized_tokens.h can look for the added tokens of normalized text.
bool NormalizedTokensCanBeFound(const Model& model);

// The lists of kExpansions, each once.
class ExpansionLists {
 public:
  // This returns the info of a character that becomes the list: a count, and the codes. Without room for the
  // list, or with too many codes, the character has to go through the normalizer.
  image::CharInfo Add(const std::vector<uint16_t>& list);
  const std::vector<uint16_t>& all() const { return all_; }

 private:
  std::vector<uint16_t> all_;
  std::map<std::vector<uint16_t>, uint32_t> known_;  // where in all_ each begins
};

class Characters {
 public:
  // All outlive it. normalized: of HuggingFace pipelines.
  Characters(const Model& model, const Pipeline& pipeline, const CharsmapKeys& keys,
             const NormalizedCharacters& normalized)
      : model_(model), pipeline_(pipeline), keys_(keys), normalized_(normalized) {}

  // kNone, or why no text can take the fast road. O(characters * log characters).
  image::FastRoadReason Classify();

  const ByteSet& separators() const { return separators_; }
  image::CharInfo info(char32_t cp) const { return info_[cp]; }
  const std::vector<image::CharInfo>& info() const { return info_; }
  const std::vector<uint16_t>& expansions() const { return expansions_.all(); }
  void Forbid(char32_t cp) { info_[cp] |= image::CharInfo::OfNoBoundary(); }

 private:
  void FindTokenBegins();
  image::FastRoadReason FindSeparators();
  image::FastRoadReason ClassifySeparator(uint8_t byte);
  std::string_view Normalized(char32_t cp, char (&room)[4]) const;
  bool WhiteSpace(char32_t cp) const;
  bool IsSign(char32_t cp) const;
  uint32_t GraphemeOf(char32_t cp) const;
  bool BreaksClusters(char32_t cp) const;
  uint32_t CodeOf(char32_t cp) const;
  image::CharInfo CharOf(char32_t cp) const;
  image::CharInfo Joins(char32_t cp) const;
  image::CharInfo Meaning(char32_t cp);
  image::CharInfo Expansion(char32_t cp, std::string_view normal);

  const Model& model_;
  const Pipeline& pipeline_;
  const CharsmapKeys& keys_;
  const NormalizedCharacters& normalized_;
  ByteSet separators_;
  std::set<char32_t> symbols_;  // user-defined ones of one character
  ByteSet token_begins_;
  bool has_token_begins_ = false;
  std::vector<image::CharInfo> info_;  // by code point
  ExpansionLists expansions_;
};

}  // namespace rankfeed::builder
