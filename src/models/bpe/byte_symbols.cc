// SPDX-License-Identifier: MIT
// models/bpe/byte_symbols.cc: see byte_symbols.h.
#include "models/bpe/byte_symbols.h"

#include <algorithm>

#include "base/utf8.h"

namespace rankfeed::bpe {

uint32_t ByteSymbols::Make(std::string_view word, uint32_t* ids, uint32_t* sizes) const {
  const size_t size = word.size();
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(word[at]); };
  const auto crossing = [&](size_t at) {
    return at < size ? model_.crossings[image::CrossingAt(byte(at - 1), byte(at))] : image::kLoud;
  };
  uint32_t count = 0;
  const auto add = [&](uint32_t id, size_t bytes) {
    ids[count] = id;
    if (sizes != nullptr) sizes[count] = static_cast<uint32_t>(bytes);
    ++count;
  };
  for (size_t at = 0; at < size;) {
    if (byte(at) < 0x80 && (at != 0 || byte(0) != ' ' || size == 1 || byte(1) < 0x80)) {
      add(model_.byte_ids[byte(at)], 1);
      ++at;
      continue;
    }
    const bool spaced = byte(at) == ' ';
    uint32_t bytes;
    const image::QuietCharacter& is = model_.quiet[utf8::DecodeValid(word.data() + at + spaced, &bytes)];
    const size_t begin = at + spaced, end = begin + bytes;
    const uint32_t right = crossing(end);
    if (spaced && is.spaced_rank < right) {
      add(is.spaced_id, end);
    } else {
      if (spaced) add(model_.byte_ids[byte(0)], 1);
      if (is.rank < std::min(begin == 0 ? image::kLoud : crossing(begin), right)) {
        add(is.id, bytes);
      } else {
        for (size_t i = begin; i < end; ++i) add(model_.byte_ids[byte(i)], 1);
      }
    }
    at = end;
  }
  return count;
}

}  // namespace rankfeed::bpe
