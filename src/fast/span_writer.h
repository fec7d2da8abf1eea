// SPDX-License-Identifier: MIT
// fast/span_writer.h: the spans of a segment while codes are appended: where they begin and end,
// and which of the spaces in it are words.
#pragma once

#include <cstdint>
#include <span>

#include "stretch/signs.h"
#include "fast/spans.h"
#include "image/model.h"

namespace rankfeed::fast {

struct SpanWriter : RunDecode {
  SpanWriter(const Model& model, uint16_t* codes_of_batch, uint16_t* begins_of_batch);

  // A segment begins. whole: nothing of it is in the batch before. at_begin: its stretch begins with
  // it. spaced: a space comes before what is appended next.
  void Begin(bool whole, bool at_begin, bool spaced) {
    first_size = size, first_count = count;
    front = whole;
    at_front = whole && at_begin && front_vanishes;
    trailing_space = spaced;
    spaces = word_first = depends = false;
  }
  // Takes all of it back.
  void TakeBack() { size = first_size, count = first_count; }
  // Whether a span of it is complete.
  bool has_span() const { return count != first_count; }

  void Add(uint32_t code) { codes[size++] = static_cast<uint16_t>(code); }
  // A span begins, with a U+2581 or without.
  void Open(bool word_start) {
    begins[count] = static_cast<uint16_t>(size);
    if (word_start) Add(metaspace);
  }
  // Whether the open span is nothing but a U+2581.
  bool IsOnlyMetaspace() const { return size == open() + 1 && codes[open()] == metaspace; }
  // The open span ends. An empty word vanishes, with the separators around it, unless every space
  // makes a word.
  void Close();
  // A space ends the open span and begins a word.
  void AddSpace();
  // Appends what a character or a group is replaced by: codes, 0 for a space, image::kSign before
  // the code of a sign.
  void AddElements(std::span<const uint16_t> elements);
  // A sign: a word of its own, after which another one begins. begun: its U+2581 is there.
  void AddSign(uint32_t code, bool begun = false);

  // Whether the open span may end before that character.
  bool MayCut(image::CharInfo info) const {
    return size - open() >= kCutFrom && !info.IsMark() &&
           MayEndBetween(pairs, codes[size - 1], previous, info);
  }

  const Signs signs;
  const uint16_t metaspace;   // the code of U+2581
  const bool every_space;     // kEverySpaceIsWord
  const bool front_vanishes;  // a U+2581 that is put in front of nothing or a space does
  uint32_t first_size = 0, first_count = 0;  // of the batch before the segment
  bool front = false;           // all of the segment is in this batch and can be taken back
  bool at_front = false;        // a U+2581 that is not kept alone stands before the open span
  bool trailing_space = false;  // a space came last
  bool spaces = false;          // characters of it became spaces or signs
  bool word_first = false;      // it begins with a sign
  bool depends = false;         // what it became depends on what is next to it

 private:
  bool Closes() const;
  void BeginSign();
};

}  // namespace rankfeed::fast
