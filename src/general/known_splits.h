// SPDX-License-Identifier: MIT
// general/known_splits.h: the tokens of words that come again in a text (HuggingFace parity).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/hash.h"

namespace rankfeed::general {

// Splits of one text whose tokens are in the sink, found by their bytes: words come again, and
// those of a character's long replacement with each such character.
class KnownSplits {
 public:
  struct Tokens {
    uint32_t first, last;  // in the sink; none if equal
  };

  void Clear() { std::fill(std::begin(entries_), std::end(entries_), Entry{}); }

  // Tokens of that split, and where to put them otherwise. begin < end.
  Tokens* Find(std::string_view text, uint32_t begin, uint32_t end) {
    const char* const split = text.data() + begin;
    const uint32_t size = end - begin;
    uint64_t front = 0, back = 0;
    if (size >= sizeof(front)) {
      std::memcpy(&front, split, sizeof(front));
      std::memcpy(&back, split + size - sizeof(back), sizeof(back));
    } else {
      std::memcpy(&front, split, size);
    }
    Entry& entry = entries_[HashEnds(size, front, back) >> (64 - kBits)];
    const bool same =
        entry.end - entry.begin == size && std::memcmp(text.data() + entry.begin, split, size) == 0;
    if (!same) entry = {begin, end, {0, 0}};
    return &entry.tokens;
  }

 private:
  static constexpr int kBits = 8;
  struct Entry {
    uint32_t begin, end;  // in the normalized text
    Tokens tokens;
  };
  Entry entries_[1 << kBits];  // in the scratch: anything before Clear
};

}  // namespace rankfeed::general
