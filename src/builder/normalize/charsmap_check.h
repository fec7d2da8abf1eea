// SPDX-License-Identifier: MIT
// builder/normalize/charsmap_check.h: validates a precompiled charsmap blob and lists its rules.
//
// Layout (sentencepiece 0.1.97 normalizer.cc, EncodePrecompiledCharsMap): u32 trie size in bytes,
// Darts-clone units, then NUL-terminated replacements. libsentencepiece trusts the trie and
// spm_precompiled panics on a bad index; here every unit is bounded before anything follows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {

struct CharsmapRule {
  std::string_view key, replacement;
};

struct CharsmapView {
  std::vector<uint32_t> units;
  std::string_view pool;            // into the blob
  std::vector<CharsmapRule> rules;  // by key, in byte order
  std::string keys;                 // the rules' keys, one after the other
  CharsmapView() = default;
  CharsmapView(CharsmapView&&) = default;
  CharsmapView(const CharsmapView&) = delete;  // rules point into keys
};

// Most rules a charsmap may have; published ones have about 225,000. Subtrees of the trie may be
// shared, so a small blob can stand for very many.
inline constexpr uint32_t kMaxCharsmapRules = 1u << 20;

// Splits and checks a blob; where names it in messages. Checks, in linear time: sizes; every unit's
// children inside the array; no cycle; every value the start of a replacement; the pool valid UTF-8
// and NUL-terminated; every key valid UTF-8 without NUL. SentencePiece parity adds: at
// most 32 keys on one path (kMaxTrieResultsSize). Throws BuildError(PARSE, UNSUPPORTED, LIMIT).
CharsmapView CheckCharsmap(std::string_view blob, uint32_t parity, const std::string& where);

}  // namespace rankfeed::builder
