// SPDX-License-Identifier: MIT
// builder/eligibility.h: which pipelines may take the fast road, as far as their elements, options
// and scores say; what the charsmap and the pieces add is found by the files that read them
// (characters.cc, piece_neighbours.cc, automaton.cc).
#pragma once

#include <cstdint>
#include <variant>

#include "image/fast_road.h"
#include "image/model.h"

namespace rankfeed::builder {

inline constexpr char32_t kMetaspace = 0x2581;
inline constexpr char kMetaspaceBytes[] = "\xe2\x96\x81";

// How raw text becomes words. SentencePiece models, and three forms of HuggingFace pipelines.
enum class Form { kWhitespaceSplit, kStripped, kTrailing, kSentencePiece };

struct Pipeline {
  Form form;
  bool precompiled;  // it has a charsmap
  bool sentencepiece() const { return form == Form::kSentencePiece; }
};

struct OffTheFastRoad {
  image::FastRoadReason reason;
  uint32_t op = 0;  // its number, of reasons about an element
};

std::variant<Pipeline, OffTheFastRoad> Classify(const Model& model);

}  // namespace rankfeed::builder
