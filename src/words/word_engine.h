// SPDX-License-Identifier: MIT
// words/word_engine.h: HuggingFace parity, one word at a time.
//
// In pipelines that split text into words before the model, every word is its own best-path problem
// that starts at score 0, so a word's ids depend on nothing but the word. That makes it exact to
// look whole words up: first in the image's table of words that are one token, then in a cache of
// words seen before, and only then to run the dynamic program over the word's characters. Raw bytes
// are the keys, so text that needs no normalization is never copied, and most words are never even
// decoded.
//
// Exactness does not rest on this file alone: builder/word_tables.cc decides which pipelines may use
// it and which characters force a word through the normalizer or a text off this path.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "image/model.h"
#include "pipeline/token_sink.h"
#include "simd/kernels.h"
#include "text/normalized_text.h"
#include "words/word_cache.h"

namespace rankfeed::words {

// Working arrays for one word; longer words take the plain path.
inline constexpr uint32_t kMaxWordChars = 2048;

struct WordScratch {
  const simd::Kernels* kernels = nullptr;
  WordCache cache;
  uint16_t* codes = nullptr;
  double* best = nullptr;
  uint32_t* link = nullptr;
  uint32_t* value = nullptr;
  char* normalized = nullptr;  // kNormalizedBytes

  static constexpr uint32_t kBlockBytes = 4096;  // raw text scanned for separators at a time
  static constexpr uint32_t kNormalizedBytes = 16 * 1024;
  uint64_t* masks = nullptr;  // kBlockBytes / 64 + 1

  void Carve(Layout& layout, uint32_t cache_bytes) {
    cache.Carve(layout, cache_bytes);
    codes = layout.Take<uint16_t>(kMaxWordChars + 1);
    best = layout.Take<double>(kMaxWordChars + 1);
    link = layout.Take<uint32_t>(kMaxWordChars + 1);
    value = layout.Take<uint32_t>(kMaxWordChars + 1);
    normalized = layout.Take<char>(kNormalizedBytes);
    masks = layout.Take<uint64_t>(kBlockBytes / 64 + 1);
  }
};

// Whether the image allows this path at all.
inline bool Available(const Model& model) { return model.word_config != nullptr; }

// Encodes a section of text that holds no added token. Returns false when the text needs the plain
// path; sink.count is then what it was before, and columns beyond it are unspecified.
bool EncodeWords(const Model& model, WordScratch& scratch, std::string_view text, TokenSink& sink);

}  // namespace rankfeed::words
