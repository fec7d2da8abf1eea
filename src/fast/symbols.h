// SPDX-License-Identifier: MIT
// fast/symbols.h: user-defined symbols of SentencePiece, which its normalizer looks for in raw
// text and leaves as they are (normalizer.cc, NormalizePrefix). Their characters normalize to
// themselves (builder/models/unigram/segment_tables.cc), so a symbol is a piece like others but for one thing: its
// last character is not read together with what follows it. A text where that matters leaves the
// fast road.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "image/model.h"
#include "normalize/sp_normalize.h"

namespace rankfeed::fast {

class Symbols {
 public:
  // The model takes the fast road.
  explicit Symbols(const Model& model) {
    if (model.huggingface() || model.user_defined.empty()) return;
    normalizer_ = normalize::SpNormalizerOf(model);
    for (uint32_t id = 0; id < model.config->id_count; ++id) {
      constexpr auto kSymbol = static_cast<uint8_t>(image::PieceType::kUserDefined);
      if ((model.id_flags[id] & image::kIdTypeMask) != kSymbol) continue;
      const std::string_view text = model.piece(id);
      if (text.empty()) continue;  // of a forged image
      const size_t last = utf8::Previous(text, text.size());
      // One of a single character is within the group that it begins, and found there.
      if (last == 0) continue;
      most_bytes_ = std::max(most_bytes_, text.size());
      const image::CharInfo info = model.segment.char_info[utf8::CodePointAt(text, last)];
      if (info.bases() != 0) last_begins_.set(static_cast<uint8_t>(text[last]));
    }
  }

  // Returns whether a symbol may end with the character at `at`, of those that others are read together
  // with. text: a segment. O(longest symbol squared) at worst.
  bool MayEndAt(std::string_view text, size_t at) const {
    return last_begins_[static_cast<uint8_t>(text[at])] && FindEndAt(text, at);
  }

 private:
  [[gnu::noinline]] bool FindEndAt(std::string_view text, size_t at) const {
    const size_t end = at + utf8::Decode(text, at).size;
    for (size_t begin = end - std::min(end, most_bytes_); begin < at; ++begin) {
      const std::string_view symbol(text.data() + begin, end - begin);
      if (normalize::LongestSpSymbol(normalizer_, symbol) == symbol.size()) return true;
    }
    return false;
  }

  normalize::SpNormalizer normalizer_;
  // First bytes of the last characters of symbols of several characters, if others are read
  // with, and the bytes of the longest.
  std::bitset<256> last_begins_;
  size_t most_bytes_ = 0;
};

}  // namespace rankfeed::fast
