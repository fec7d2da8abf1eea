// SPDX-License-Identifier: MIT
// fast/word_cuts.h: where the tokens of a word lie, in the 16 bits that the cache has for it. They are worked out when a
// call first wants them and kept beside the ids, so that a word seen before is placed by additions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/token_sink.h"
#include "fast/key.h"
#include "fast/spelling.h"

namespace rankfeed::fast {

// Cuts of a word whose tokens lie one behind the other and have all its bytes between them: bytes before each token but
// the first, five bits each. Words of more tokens, and of others, have none, and each is placed anew.
class WordCuts {
 public:
  static constexpr uint32_t kMostTokens = 4;

  // bits: of PathInfo. 0: there are none, or they are not known.
  explicit WordCuts(uint16_t bits) : bits_(bits) {}
  bool known() const { return bits_ != 0; }

  // Returns the bits of a word's tokens, at most kMostTokens, which are in the sink, with places in the word; 0 if there
  // are none. trims: the space that a word begins with is not of its first token's place.
  static uint16_t Of(std::string_view word, bool trims, const TokenSink& tokens) {
    uint32_t at = Front(word, trims), bits = tokens.count == 1;
    for (uint32_t k = 0; k < tokens.count; at = tokens.end[k++]) {
      if (tokens.begin[k] != at || tokens.end[k] < at) return 0;
      if (k != 0) bits |= at << kBits * (k - 1);
    }
    return at == word.size() && at <= SegmentKey::kMaxBytes ? static_cast<uint16_t>(bits) : uint16_t{0};
  }

  // Writes the places of tokens [first, first + count) of a word that begins at an offset of its text. There must be room.
  void Place(std::string_view word, bool trims, uint32_t offset, uint32_t first, uint32_t count, const TokenSink& sink) const {
    uint32_t cuts = count == 1 ? 0 : bits_, begin = offset + Front(word, trims);
    for (uint32_t k = first; k < first + count; ++k, cuts >>= kBits) {
      const uint32_t end = offset + (k + 1 == first + count ? static_cast<uint32_t>(word.size()) : cuts % (1u << kBits));
      if (sink.begin != nullptr) sink.begin[k] = begin;
      if (sink.end != nullptr) sink.end[k] = end;
      begin = end;
    }
  }

 private:
  static constexpr uint32_t kBits = 5;

  static uint32_t Front(std::string_view word, bool trims) { return trims && word[0] == ' '; }

  const uint16_t bits_;
};

}  // namespace rankfeed::fast
