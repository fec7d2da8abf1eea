// SPDX-License-Identifier: MIT
// stretch/normalized_tokens.h: whether a text may hold an added token that is looked for in
// normalized text ("normalized": true), or have one next to a separator. Only for those of two and
// more ASCII characters that pieces hold too (builder/models/unigram/segment_tables.cc).
//
// From each raw byte that may begin a token the text is followed to what its characters become
// alone. Where that is in doubt, as with marks and with what vanishes, the answer is yes. Other
// characters that become what a token begins with leave the fast road (builder/fast/characters.cc).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/byte_set.h"
#include "base/utf8.h"
#include "image/model.h"

namespace rankfeed {

class NormalizedTokens {
 public:
  // A model that does not take the fast road has none.
  explicit NormalizedTokens(const Model& model);

  bool empty() const { return first_count_ == 0; }
  // Bytes of a text that such a token may begin with.
  const ByteSet& first_bytes() const { return first_bytes_; }
  // Returns whether a part of normalized text holds one, or may end with the begin of one.
  bool MayBeginIn(std::string_view normalized) const;
  // Returns false only if none occurs in a text. O(text bytes * (first bytes + longest token)) at worst.
  bool MayOccurIn(std::string_view text) const;
  // Returns whether one may end right before the separator at `at` of a text, or begin right after it. The
  // characters beside it stand alone (spans.h).
  bool MayTouch(std::string_view text, size_t at) const;

 private:
  enum class Answer : uint8_t { kNo, kYes, kGoesOn };
  Answer Step(uint8_t byte, trie::Unit* unit) const;
  Answer StepCharacter(const utf8::Decoded& c, trie::Unit* unit) const;
  bool MayGoOn(std::string_view text) const;
  uint8_t AsciiOf(uint32_t code) const;
  uint8_t Becomes(uint8_t byte) const;

  // A character that no token holds, and the mark of one that is in doubt.
  static constexpr uint8_t kOther = ' ', kDoubt = 0;

  const Model& model_;
  uint8_t becomes_[128] = {};  // the ASCII character that a raw one becomes, or one of the above
  ByteSet first_bytes_ = {};   // of raw text
  ByteSet last_bytes_ = {};    // of tokens
  char first_[128] = {};       // first_bytes_ in order
  uint32_t first_count_ = 0;
};

}  // namespace rankfeed
