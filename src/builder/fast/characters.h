// SPDX-License-Identifier: MIT
// builder/fast/characters.h: what each raw character means on the fast road (image/char_info.h), and which ASCII
// bytes separate words.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/byte_set.h"
#include "base/utf8.h"
#include "builder/fast/charsmap_keys.h"
#include "builder/fast/eligibility.h"
#include "builder/fast/normalized_characters.h"
#include "builder/image/sections.h"
#include "image/fast_road.h"
#include "image/model.h"

namespace rankfeed::builder {

// Returns whether stretch/normalized_tokens.h can look for the added tokens of normalized text.
bool NormalizedTokensCanBeFound(const Model& model);

// The infos of raw characters, and the lists of codes that some become (kExpansions), each once. A kind of
// pipeline says what it makes of each.
class CharacterTable {
 public:
  // has_signs: punctuation is isolated. model outlives it.
  CharacterTable(const Model& model, bool has_signs) : model_(model), has_signs_(has_signs) {}

  image::CharInfo info(char32_t cp) const { return info_[cp]; }
  const std::vector<uint16_t>& expansions() const { return lists_; }
  // Appends the infos by code point, and the lists.
  void AddSections(std::vector<SectionData>* out) const;

 protected:
  // Sets the info of every character: joins(cp) is what it may be read together with, meaning(cp) the rest.
  template <class Joins, class Meaning>
  void Fill(const Joins& joins, const Meaning& meaning) {
    info_.resize(0x110000);
    for (char32_t cp = 0; cp < 0x110000; ++cp) {
      // Surrogates are not in any text, but in three bytes that are no UTF-8.
      const bool surrogate = cp >= 0xd800 && cp < 0xe000;
      const image::CharInfo join = surrogate ? image::CharInfo::OfGeneralPath() : joins(cp);
      info_[cp] = join.TakesGeneralPath() ? image::CharInfo::OfGeneralPath() : join | meaning(cp);
    }
  }

  bool IsSign(char32_t cp) const;
  // Returns whether an added token of normalized text may begin inside of this one.
  bool MayBeginToken(std::string_view normal) const;
  // Returns the code of a character, or that of unknown ones.
  uint16_t CodeOf(char32_t cp) const;
  // Makes list_ of a text: a count, and as many codes: 0 is a character that is_space, and kSign stands in front of
  // a sign. Returns whether there is one of either.
  template <class IsSpace>
  bool ListCodes(std::string_view normal, const IsSpace& is_space) {
    list_.assign(1, 0);
    bool ends_word = false;
    for (const utf8::Decoded c : utf8::Characters(normal)) {
      const bool space = is_space(c.code_point), sign = IsSign(c.code_point);
      ends_word |= space || sign;
      if (sign) list_.push_back(image::kSign);
      list_.push_back(space ? uint16_t{0} : CodeOf(c.code_point));
    }
    list_[0] = static_cast<uint16_t>(list_.size() - 1);
    return ends_word;
  }
  // Returns the info of a character that becomes list_, which ends words or not. Without room for the list, or
  // with too many codes, the character has to go through the normalizer.
  image::CharInfo AddList(bool ends_word);

  const Model& model_;
  const bool has_signs_;
  std::vector<image::CharInfo> info_;  // by code point
  std::vector<uint16_t> list_;         // of the character at hand

 private:
  std::vector<uint16_t> lists_;
  std::map<std::vector<uint16_t>, uint32_t> known_;  // where in lists_ each begins
};

// The characters of Unigram models.
class Characters : public CharacterTable {
 public:
  // All outlive it. normalized: of HuggingFace pipelines.
  Characters(const Model& model, const Pipeline& pipeline, const CharsmapKeys& keys,
             const NormalizedCharacters& normalized)
      : CharacterTable(model, (pipeline.rules & image::kPunctuationIsWord) != 0),
        pipeline_(pipeline), keys_(keys), normalized_(normalized) {}

  // kNone, or why no text can take the fast road. O(characters * log characters).
  image::FastRoadReason Classify();

  const ByteSet& separators() const { return separators_; }
  void Forbid(char32_t cp) { info_[cp] |= image::CharInfo::OfNoBoundary(); }

 private:
  image::FastRoadReason FindSeparators();
  image::FastRoadReason ClassifySeparator(uint8_t byte);
  std::string_view Normalized(char32_t cp, char (&room)[4]) const;
  bool IsWhiteSpace(char32_t cp) const;
  bool BreaksClusters(char32_t cp) const;
  image::CharInfo CharOf(char32_t cp) const;
  image::CharInfo Joins(char32_t cp) const;
  image::CharInfo Meaning(char32_t cp);
  image::CharInfo Expansion(char32_t cp, std::string_view normal);

  const Pipeline& pipeline_;
  const CharsmapKeys& keys_;
  const NormalizedCharacters& normalized_;
  ByteSet separators_;
  std::set<char32_t> symbols_;  // user-defined ones of one character
};

}  // namespace rankfeed::builder
