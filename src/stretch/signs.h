// SPDX-License-Identifier: MIT
// stretch/signs.h: signs, the punctuation characters that are words of their own where a pipeline
// isolates them (image::kPunctuationIsWord). What a character normalizes to says whether it is one,
// whatever is next to it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "base/narrow.h"
#include "base/utf8.h"
#include "stretch/characters.h"
#include "image/model.h"

namespace rankfeed {

class Signs {
 public:
  explicit Signs(const Model& model)
      : model_(model), rules_(model.segment.config.has_value() ? model.segment.config->rules : 0) {}

  bool any() const { return (rules_ & image::kPunctuationIsWord) != 0; }
  // Returns whether spaces before a sign are a word.
  bool after_space() const { return (rules_ & image::kSpaceBeforeSignIsWord) != 0; }

  // Returns whether a raw byte is a sign of ASCII, which stays what it is whatever comes before it.
  bool Has(char byte) const {
    return any() && ByteSet::Has(model_.segment.config->common, Byte(byte));
  }
  // Returns whether a character of normalized text is a sign.
  bool Is(char32_t c) const {
    return any() && (model_.props[c] & image::kPunctuationProp) != 0;
  }

  // Returns whether the character at `at`, or one after those that vanish from there on, may be read
  // together with the sign of ASCII before it.
  bool MayJoin(std::string_view text, size_t at) const {
    const SegmentTables& tables = model_.segment;
    const image::CharInfo sign = tables.char_info[Byte(text[at - 1])];
    if (sign.bases() == 0) return false;
    // After a character that vanishes, the next one is read with the sign.
    constexpr uint32_t kMostVanishing = 8;
    for (uint32_t n = 0; at < text.size(); ++n) {
      const Character c = CharacterAt(tables, text, at);
      if (c.info.NormalizesAfter(sign) || n == kMostVanishing) return true;
      if (!Vanishes(tables, c.info)) return false;
      at += c.size;
    }
    return false;
  }

 private:
  const Model& model_;
  const uint32_t rules_;  // image::SegmentRule
};

}  // namespace rankfeed
