// SPDX-License-Identifier: MIT
// normalize/sp_normalize.h: SentencePiece's normalizer (normalizer.cc, 0.1.97; unchanged in 0.2.1).
//
// One pass over the raw text. At each position, in this order: a user-defined symbol is copied
// verbatim (longest one), else the longest charsmap key is replaced, else one well-formed character
// is copied, else one bad byte becomes U+FFFD. Around that pass: white space at the front is
// dropped, runs of spaces collapse, a dummy U+2581 goes to the front or the back, white space at
// the end is stripped. Cost: O(bytes * longest key).
#pragma once

#include <cstdint>
#include <string_view>

#include "image/model.h"
#include "normalize/charsmap.h"
#include "trie/double_array.h"

namespace rankfeed::normalize {

// Settings of normalizer_spec and trainer_spec, as views into the image.
struct SpNormalizer {
  Charsmap charsmap;
  trie::View user_defined;  // code = byte + 1; empty for the denormalizer, which has no matcher
  uint32_t max_symbol_bytes = 0;  // longest user-defined symbol, or more
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
};

// The normalizer that an image describes.
SpNormalizer SpNormalizerOf(const Model& model);

// Bytes of the longest user-defined symbol at the front of input, 0 if there is none (PrefixMatch).
uint32_t LongestSpSymbol(const SpNormalizer& normalizer, std::string_view input);

// Text of one step of that pass and what it becomes, before any rule about spaces.
struct SpPrefix {
  std::string_view text;
  uint32_t consumed;  // at least 1
};

// The step at the front of input, which is not empty.
SpPrefix NormalizeSpPrefix(const SpNormalizer& normalizer, std::string_view input);

struct SpNormalized {
  uint32_t size = 0;  // bytes written
  uint32_t end = 0;   // position in the input where the last output byte ends; only with origin
};

// Writes the normalized text to out, and to origin (nullable) for each output byte the position in
// input of the character, key or symbol that it came from. Returns false, with both arrays in an
// unspecified state, when more than capacity bytes would be needed.
bool SpNormalize(const SpNormalizer& normalizer, std::string_view input, char* out,
                 uint32_t* origin, uint32_t capacity, SpNormalized* result);

}  // namespace rankfeed::normalize
