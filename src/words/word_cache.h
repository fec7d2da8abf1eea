// SPDX-License-Identifier: MIT
// words/word_cache.h: words seen before, with their ids. Direct mapped, in the encoder's scratch,
// never shared. An entry is a pure function of the model and the word, so the content of the cache
// cannot change a result, only the time it takes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/layout.h"
#include "words/word_key.h"

namespace rankfeed::words {

struct alignas(64) CachedWord {
  static constexpr uint32_t kMaxIds = 6;
  static constexpr uint8_t kUnused = 0xff;  // never a key size
  uint64_t key[4];
  int32_t ids[kMaxIds];
  uint8_t size;  // bytes of the key
  uint8_t count;  // ids
  uint8_t reserved[6];
};
static_assert(sizeof(CachedWord) == 64);

class WordCache {
 public:
  // As many entries as cache_bytes holds, rounded down to a power of two; none if not even one.
  void Carve(Layout& layout, uint32_t cache_bytes) {
    const uint32_t entries = std::bit_floor(cache_bytes / static_cast<uint32_t>(sizeof(CachedWord)));
    mask_ = entries == 0 ? 0 : entries - 1;
    enabled_ = entries != 0;
    words_ = layout.Take<CachedWord>(entries);
  }

  void Clear() {
    if (!enabled_) return;
    for (uint32_t i = 0; i <= mask_; ++i) words_[i].size = CachedWord::kUnused;
  }

  bool enabled() const { return enabled_; }
  CachedWord& Slot(uint64_t hash) const { return words_[(hash >> 32) & mask_]; }

 private:
  CachedWord* words_ = nullptr;
  uint32_t mask_ = 0;
  bool enabled_ = false;
};

}  // namespace rankfeed::words
