// SPDX-License-Identifier: MIT
// segment/symbols.h: user-defined symbols of SentencePiece, which its normalizer looks for in raw
// text and leaves as they are (normalizer.cc, NormalizePrefix). Their characters are those that
// normalize to themselves (builder/segment_tables.cc), so a symbol is a piece like others but for
// one thing: its last character is not read together with what follows it.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "image/model.h"
#include "normalize/sp_normalize.h"

namespace rankfeed::segment {

class Symbols {
 public:
  // Of a model that takes the fast road.
  explicit Symbols(const Model& model) : char_info_(model.segment.char_info) {
    if (model.huggingface() || model.user_defined.empty()) return;
    normalizer_ = normalize::SpNormalizerOf(model);
    for (uint32_t id = 0; id < model.config->id_count; ++id) {
      constexpr auto kSymbol = static_cast<uint8_t>(image::PieceType::kUserDefined);
      if ((model.id_flags[id] & image::kIdTypeMask) != kSymbol) continue;
      const std::string_view text = model.piece(id);
      const size_t last = utf8::Previous(text, text.size());
      // One of a single character is within the group that it begins, and found there.
      if (last == 0) continue;
      most_bytes_ = std::max(most_bytes_, text.size());
      begins_.set(static_cast<uint8_t>(text[0]));
      const uint32_t info = char_info_[utf8::CodePointAt(text, last)];
      if (image::JoiningMarks(info) != 0) last_begins_.set(static_cast<uint8_t>(text[last]));
    }
  }

  // Whether the normalizer finds a symbol that ends with the character at `at`, of those that
  // others are read together with. text: a segment. O(longest symbol squared) at worst.
  enum class Answer : uint8_t { kNo, kYes, kNotKnown };
  Answer EndAt(std::string_view text, size_t at) const {
    return last_begins_[static_cast<uint8_t>(text[at])] ? FindEndAt(text, at) : Answer::kNo;
  }

 private:
  [[gnu::noinline]] Answer FindEndAt(std::string_view text, size_t at) const {
    const size_t end = at + utf8::Decode(text, at).size;
    Answer answer = Answer::kNo;
    for (size_t begin = end - std::min(end, most_bytes_); begin < at; ++begin) {
      if (!IsSymbol({text.data() + begin, end - begin})) continue;
      if (begin + Longest(text, begin) == end && IsStep(text, begin)) return Answer::kYes;
      answer = Answer::kNotKnown;
    }
    return answer;
  }

  size_t Longest(std::string_view text, size_t at) const {
    if (!begins_[static_cast<uint8_t>(text[at])]) return 0;
    return normalize::LongestSpSymbol(normalizer_, {text.data() + at, text.size() - at});
  }
  bool IsSymbol(std::string_view text) const { return Longest(text, 0) == text.size(); }

  // Whether a step of the normalizer begins there, as no symbol and no key of the charsmap that
  // begins before it may go on.
  bool IsStep(std::string_view text, size_t at) const {
    if (at == 0) return true;
    const uint32_t before = char_info_[utf8::CodePointAt(text, utf8::Previous(text, at))];
    if ((char_info_[utf8::CodePointAt(text, at)] & image::JoiningMarks(before)) != 0) return false;
    for (size_t begin = at - std::min(at, most_bytes_); begin < at; ++begin) {
      if (begin + Longest(text, begin) > at) return false;
    }
    return true;
  }

  const CodePointTable<uint32_t> char_info_;
  normalize::SpNormalizer normalizer_;
  // Of symbols of several characters.
  std::bitset<256> begins_;       // first bytes
  std::bitset<256> last_begins_;  // those of the last characters that others are read with
  size_t most_bytes_ = 0;
};

}  // namespace rankfeed::segment
