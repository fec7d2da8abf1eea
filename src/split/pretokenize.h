// SPDX-License-Identifier: MIT
// split/pretokenize.h: cuts a normalized text into the splits the model sees one by one
// (tokenizers 0.23.2, pre_tokenizers/*.rs and NormalizedString::split).
#pragma once

#include <cstdint>

#include "image/model.h"
#include "normalize/normalize.h"
#include "rankfeed/status.h"

namespace rankfeed::split {

// Splits in text order. A split is a byte range of the current text, or an added token: then begin
// is the place of its mark, with kTokenSplit, and end is the token's id.
inline constexpr uint32_t kTokenSplit = 0x80000000u;

// Mark of an added token in the text once it is found: one byte with the token's range. It
// has no second byte, because the next token may begin there: the search goes on inside the white
// space that rstrip takes. The range is trimmed already where trim_offsets is on, but for the one
// space in front of a kMarkOfSpace, which stays if no token is before it.
inline constexpr char kPlainMark = 0, kMarkOfSpace = 1;

struct SplitList {
  uint32_t* begin = nullptr;
  uint32_t* end = nullptr;
  uint32_t capacity = 0;
  uint32_t count = 0;

  // Empty splits vanish. False when full.
  bool Add(uint32_t from, uint32_t to) {
    if (from == to) return true;
    return Append(from, to);
  }
  bool AddToken(uint32_t at, uint32_t id) { return Append(at | kTokenSplit, id); }

 private:
  bool Append(uint32_t b, uint32_t e) {
    if (count == capacity) return false;
    begin[count] = b;
    end[count++] = e;
    return true;
  }
};

// Runs the model's pre-tokenizer steps over splits of the buffers' current text; spare is the room
// for the other list. Both lists and the current text change places as needed: the result is in
// *splits. Steps do not touch added tokens. Errors: LIMIT. O(text) for each step.
rankfeed_status PreTokenize(const Model& model, normalize::Buffers* buffers, SplitList* splits,
                            SplitList* spare);

}  // namespace rankfeed::split
