// SPDX-License-Identifier: MIT
// models/bpe/byte_symbols.h: what a word of a byte-level BPE model begins as. It begins as its bytes,
// but the bytes of most characters have become one token before any other merge touches them, and
// are that token from the start here, which leaves a third of the symbols and of the merges of a
// Chinese word.
//
// Let R be the greatest rank of the merges that make the token T of a character's bytes alone. The
// character is quiet in a word if
//   (1) each merge across its begin, or its end, that takes a part of it has a rank above R, and
//   (2) each merge that takes T has a rank above R.
// A word then has the same tokens if T is put in place of the bytes at once, whatever the merges are:
// As long as the bytes have not become T, the least pair among them has a rank of at most R, and all
// pairs that take a part of the character and something beside it have a greater one, so none of
// these merges. What happens outside until then are merges of ranks of at most R, as each was the
// least, of pairs that do not hold a part of the character. With T in place of the bytes the pairs
// outside are the same, and those that hold T have ranks above R, so the same merges happen outside
// in the same order, up to the state in which both words are the same. One character after the other
// can be replaced, since (1) and (2) do not depend on what stands for its neighbours.
//
// (1) is asked by the bytes beside the character (image::CrossingAt): a pair that takes a part of it
// ends or begins there with a part of a character. (2) is asked by the builder. The same holds for
// the space that begins a word together with the character after it, with nothing before them, if
// what stands at their end has been a part of the character until they are one token.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/model.h"

namespace rankfeed::bpe {

class ByteSymbols {
 public:
  explicit ByteSymbols(const Model& model) : model_(model) {}

  // Makes the symbols of a word, which is valid UTF-8: ids, and sizes in bytes unless that is null,
  // have an element for each byte. Returns how many symbols there are. O(bytes).
  uint32_t Make(std::string_view word, uint32_t* ids, uint32_t* sizes) const;

 private:
  const Model& model_;
};

}  // namespace rankfeed::bpe
