// SPDX-License-Identifier: MIT
// plain/hf_bpe.h: the BPE model of HuggingFace tokenizers 0.23.3 (models/bpe/model.rs), said as
// plainly as possible: a word begins as its characters, and as long as some two neighbours merge, the
// pair of the lowest rank does, the leftmost of equal ones. O(n^2).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plain/hf_unigram.h"

namespace rankfeed::plain {

class HfBpe {
 public:
  using Vocabulary = std::map<std::string, uint32_t, std::less<>>;
  struct Options {
    std::optional<std::string> unk_token;
    bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
  };
  // merges: in the order of their ranks; of equal pairs the last counts.
  HfBpe(Vocabulary vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
        Options options);

  // nullopt: an unknown character, and the unknown token is no piece.
  std::optional<std::vector<HfToken>> Encode(std::string_view word) const;

 private:
  struct Product {
    size_t rank;
    uint32_t id;
  };
  const Vocabulary vocabulary_;
  const Options options_;
  std::map<std::pair<uint32_t, uint32_t>, Product> products_;
};

}  // namespace rankfeed::plain
