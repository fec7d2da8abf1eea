// SPDX-License-Identifier: MIT
// general/hf_places.h: where the characters of a stretch came from in the text, one after the
// other, in memory that does not grow with it.
//
// The reference's bookkeeping may leave the characters that an element makes any number of
// characters behind those it took (normalize/normalized_text.h, Transform), so an element knows by
// number only what a character came from, and that character is asked the same in turn. Numbers
// never fall. So for each such element there is a chain of its own that ends before it, and goes on
// as far as it is asked for: as many chains as elements, each with the elements before it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/layout.h"
#include "general/hf_characters.h"
#include "image/model.h"

namespace rankfeed::general {

class HfPlaces {
 public:
  // A chain, and how far it went.
  struct Chain {
    HfCharacters characters;
    uint64_t taken;  // characters
    uint64_t from;   // what the last of them came from
  };
  // What the chains are in; null without a place for them.
  struct Scratch {
    Chain* chains = nullptr;  // twice as many, to go back
    uint32_t count = 0;

    void Carve(Layout& layout, const Model& model);
  };
  // Bytes of the text.
  struct Range {
    uint32_t begin, end;
  };

  // Of bytes [begin, end) of a text, for a model that HfCharacters::Has.
  HfPlaces(const Model& model, const Scratch& scratch, std::string_view text, uint32_t begin,
           uint32_t end);

  // Where the next `count` characters came from, one or more: from the begin of the first to the
  // end of the last.
  Range Take(uint32_t count) {
    const uint32_t begin = TakeOne();
    Skip(count - 1);
    return {begin, End()};
  }
  // Where the next one begins.
  uint32_t TakeOne() {
    Skip(1);
    return Begin();
  }
  void Skip(uint32_t count) { Advance(last_, scratch_.chains[last_].taken + count); }
  // Where the last one ends.
  uint32_t End() { return EndOf(Begin()); }

  // Remembers the place of the next character, and goes back to it.
  void Mark() { Copy(0, scratch_.count); }
  void GoBack() { Copy(scratch_.count, 0); }

 private:
  uint32_t Begin();
  uint32_t EndOf(uint32_t begin) const;
  void Advance(uint32_t chain, uint64_t taken);
  void Copy(uint32_t from, uint32_t to);

  const Scratch& scratch_;
  uint32_t last_ = 0;  // chain
  const std::string_view text_;
};

}  // namespace rankfeed::general
