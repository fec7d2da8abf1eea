// SPDX-License-Identifier: MIT
// plain/hf_wordpiece.h: the WordPiece model of HuggingFace tokenizers 0.23.3
// (models/wordpiece/mod.rs), said as plainly as possible: at every place the longest entry of the
// vocabulary, after the first place with the prefix in front; a word without one at some place, or
// of too many characters, is the unknown token. O(n^3).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plain/hf_unigram.h"

namespace rankfeed::plain {

class HfWordPiece {
 public:
  using Vocabulary = std::map<std::string, uint32_t, std::less<>>;
  HfWordPiece(Vocabulary vocabulary, std::string prefix, size_t max_input_chars,
              std::optional<uint32_t> unk_id);

  // nullopt: the word is unknown, and there is no unknown token.
  std::optional<std::vector<HfToken>> Encode(std::string_view word) const;

 private:
  const Vocabulary vocabulary_;
  const std::string prefix_;
  const size_t max_input_chars_;
  const std::optional<uint32_t> unk_id_;
};

}  // namespace rankfeed::plain
