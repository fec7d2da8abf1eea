// SPDX-License-Identifier: MIT
// builder/charsmap_check.h: validates a precompiled charsmap blob and lists its rules.
//
// Layout (sentencepiece 0.1.97 normalizer.cc, EncodePrecompiledCharsMap): u32 trie size in bytes,
// Darts-clone units, then NUL-terminated replacements. libsentencepiece trusts the trie and
// spm_precompiled panics on a bad index; here every unit is bounded before anything follows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "builder/model_spec.h"

namespace rankfeed::builder {

struct CharsmapView {
  std::vector<uint32_t> units;
  std::string_view pool;  // into the blob
};

// Splits and checks a blob; where names it in messages. Checks, in linear time: sizes; every unit's
// children inside the array; no cycle; every value the start of a replacement; the pool valid UTF-8
// and NUL-terminated; every key valid UTF-8 without NUL. RANKFEED_PARITY_SENTENCEPIECE adds: at
// most 32 keys on one path (kMaxTrieResultsSize). Throws BuildError(PARSE, UNSUPPORTED, LIMIT).
CharsmapView CheckCharsmap(std::string_view blob, uint32_t parity, const std::string& where);

// Calls rule(key, replacement) for every key in byte order. The view must have passed the check,
// which bounds the number of keys by kMaxCharsmapRules.
inline constexpr uint64_t kMaxCharsmapRules = 4u << 20;
void ForEachRule(const CharsmapView& charsmap,
                 const std::function<void(std::string_view, std::string_view)>& rule);

}  // namespace rankfeed::builder
