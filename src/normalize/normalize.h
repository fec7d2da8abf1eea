// SPDX-License-Identifier: MIT
// normalize/normalize.h: runs a model's normalizer steps over one text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "image/model.h"
#include "normalize/normalized_text.h"
#include "rankfeed/status.h"

namespace rankfeed::normalize {

// The two texts that steps alternate between, and room for the normalization forms to sort and
// hold back combining marks. All arrays have the capacity of the texts.
struct Buffers {
  NormalizedText text[2];
  uint32_t* work[3] = {};
  int current = 0;

  NormalizedText& in() { return text[current]; }
  NormalizedText& out() { return text[current ^ 1]; }
  void Swap() { current ^= 1; }
  // Whether ranges depend on more than the characters around them.
  bool shifted() const { return text[0].shifted || text[1].shifted; }
};

// Makes bytes [begin, end) of original the current text, each bad sequence as U+FFFD with the range
// of that sequence (utf8::Decode). False when it does not fit. O(end - begin).
bool Load(std::string_view original, uint32_t begin, uint32_t end, Buffers* buffers);

// Runs the model's normalizer over the current text; the result is the current text afterwards.
// Errors: LIMIT when a step outgrows the buffers. O(size) for each step, apart from sorting long
// runs of combining marks, which is linear too.
rankfeed_status RunNormalizer(const Model& model, Buffers* buffers);

// One step of it.
rankfeed_status RunNormalizerStep(const Model& model, const image::Step& step, Buffers* buffers);

// Whether the last step replaces every space by U+2581, as a Metaspace after it would.
bool MakesMetaspaces(const Model& model);

// Whether a step is about white space at the ends of a text or next to other white space, which
// segments (fast/engine.h) have neither of, or makes U+2581 of spaces in the end: the segment
// engine does without it. step: one of the model's.
// Whether white space of any kind that stands together is replaced.
bool JoinsWhiteSpace(const Model& model);

bool IsAboutSpaces(const Model& model, const image::Step& step);

// Runs the other steps over the current text, a segment.
rankfeed_status RunSegmentNormalizer(const Model& model, Buffers* buffers);

}  // namespace rankfeed::normalize
