// SPDX-License-Identifier: MIT
// builder/fast/eligibility.h: which pipelines may take the fast road, as far as their elements, options
// and scores say; what normalizer and pieces add is found by the files that read them
// (normalized_characters.cc, characters.cc, piece_neighbours.cc, automaton.cc).
#pragma once

#include <cstdint>
#include <variant>

#include "image/fast_road.h"
#include "image/model.h"

namespace rankfeed::builder {

inline constexpr char32_t kMetaspace = 0x2581;
inline constexpr char kMetaspaceBytes[] = "\xe2\x96\x81";
// Returns the character in front of words: U+2581, or a space for a SentencePiece model that does
// not escape it.
char32_t WordStart(const Model& model);

// Fate of white space that is left when all is normalized (HuggingFace).
enum class Words {
  kSplitAtWhiteSpace,  // it is dropped between words, and of any kind
  kStripped,           // spaces are, and other white space at the end of a stretch
  kTrailing,           // a space at the end is a word
};

struct Pipeline {
  bool sentencepiece = false;
  bool whole = false;        // a stretch is one search, not each of its words
  bool precompiled = false;  // it has a charsmap
  Words words = Words::kSplitAtWhiteSpace;
  uint32_t rules = 0;  // image::SegmentRule
};

struct OffTheFastRoad {
  image::FastRoadReason reason = image::FastRoadReason::kNone;
  uint32_t op = 0;  // its number, of reasons about an element
};

// Returns whether a piece of a SentencePiece model is a user-defined symbol (fast/symbols.h).
bool IsUserDefined(const Model& model, uint32_t id);

// The greatest score above 0 that a piece has for each of its characters, 0 if none has any.
double GreatestScore(const Model& model);

// Returns the pipeline that pre-tokenizer and options make; normalized_characters.h has the
// normalizer's part.
std::variant<Pipeline, OffTheFastRoad> Classify(const Model& model);

}  // namespace rankfeed::builder
