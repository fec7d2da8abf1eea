// SPDX-License-Identifier: MIT
// words/word_cache.h: segments seen before, with their ids. Direct mapped, in the encoder's
// scratch, never shared. An entry is a pure function of the model and the segment, so the content
// of the cache cannot change a result, only the time it takes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/layout.h"
#include "words/word_key.h"

namespace rankfeed::words {

struct alignas(64) CachedWord {
  static constexpr uint32_t kMaxIds = 6;
  uint64_t key[4];  // WordKey; all zero in unused entries
  int32_t ids[kMaxIds];
  image::WordInfo info;
  uint32_t reserved;
};
static_assert(sizeof(CachedWord) == 64);

class WordCache {
 public:
  // As many entries as cache_bytes holds, rounded down to a power of two. A cache of no entries
  // keeps one that is never written, so that looking up needs no test.
  void Carve(Layout& layout, uint32_t cache_bytes) {
    const uint32_t entries = std::bit_floor(cache_bytes / static_cast<uint32_t>(sizeof(CachedWord)));
    enabled_ = entries != 0;
    mask_ = enabled_ ? entries - 1 : 0;
    words_ = layout.Take<CachedWord>(size_t{mask_} + 1);
  }

  void Clear() {
    for (uint32_t i = 0; i <= mask_; ++i) std::memset(words_[i].key, 0, sizeof(words_[i].key));
  }

  bool enabled() const { return enabled_; }
  CachedWord* words() const { return words_; }
  uint32_t mask() const { return mask_; }

 private:
  CachedWord* words_ = nullptr;
  uint32_t mask_ = 0;
  bool enabled_ = false;
};

}  // namespace rankfeed::words
