// SPDX-License-Identifier: MIT
// plain/charsmap_rules.h: a precompiled charsmap unfolded to a plain map of its rules.
//
// The blob (spm_precompiled 0.1.4, sentencepiece 0.1.97 normalizer.cc): u32 trie bytes, Darts-clone
// units, NUL-separated replacements. Everything after unfolding works on std::map, so that no trie
// walk is shared with the engine. Only for well-formed blobs; throws otherwise. O(keys * length).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace rankfeed::plain {

class CharsmapRules {
 public:
  CharsmapRules() = default;
  explicit CharsmapRules(std::string_view blob);
  explicit CharsmapRules(std::map<std::string, std::string, std::less<>> rules);

  // Rules whose key is the shortest (HuggingFace) or longest (SentencePiece) prefix of text; null
  // when there is none. *size gets the bytes of the key.
  const std::string* Shortest(std::string_view text, size_t* size) const;
  const std::string* Longest(std::string_view text, size_t* size) const;

  const std::map<std::string, std::string, std::less<>>& rules() const { return rules_; }

 private:
  std::map<std::string, std::string, std::less<>> rules_;
  size_t longest_key_ = 0;
};

}  // namespace rankfeed::plain
