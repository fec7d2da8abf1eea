// SPDX-License-Identifier: MIT
// builder/base/limits.h: how much of each thing a model file may have. Counted where it is read, so that
// a file that asks for too much is refused before anything is spent on it. Far above what published
// files have; SECURITY.md lists them with the reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "image/format.h"

namespace rankfeed::builder {

// Bytes of a piece, an added token, a pattern, a replacement, a name. Every character of a piece is a
// trie node.
inline constexpr size_t kMaxStringBytes = image::kMaxStringBytes;

// Steps of the normalizer, the pre-tokenizer and the decoder each, empty sequences included. Each
// one reads the text again; the published files of XLM-RoBERTa's family have at most 3.
inline constexpr size_t kMaxSteps = 64;

// Bytes of a vocab.txt. The largest that is published has 2 MB.
inline constexpr size_t kMaxVocabTxtBytes = size_t{64} << 20;

// Ids that a vocabulary of so many pieces may have: an image holds something for each. Published
// ones number their pieces without holes.
inline constexpr uint64_t MostIds(uint64_t pieces) { return 4 * pieces + (uint64_t{1} << 16); }

// Items of a template, and ids of all its special tokens.
inline constexpr size_t kMaxTemplateItems = 4096;

// Rules of a charsmap times the steps that run it, where there are several.
inline constexpr uint64_t kMaxCharsmapWork = uint64_t{1} << 20;

// Bytes that the normalizer may read and write, all steps together, when added tokens are
// normalized: that is done once for each token, and a step may make a token longer.
inline constexpr uint64_t kMaxAddedTokenWork = uint64_t{1} << 24;

// "has 9000 bytes; the limit of a piece is 8192"
inline std::string OverLimit(const std::string& has, const std::string& limit_of, uint64_t limit) {
  return "has " + has + "; the limit of " + limit_of + " is " + std::to_string(limit);
}

}  // namespace rankfeed::builder
