// SPDX-License-Identifier: MIT
// image/fast_road.h: why the texts of a pipeline do not take the fast road (fast/), as an
// image's Config says it. builder/fast/eligibility.cc and what it calls give the reasons.
#pragma once

#include <cstdint>

#include "image/ops.h"

namespace rankfeed::image {

// Numbers never change.
enum class FastRoadReason : uint32_t {
  kNone = 0,  // they take it
  // About one element, whose number is in Config::fast_road_op.
  kNormalizer = 1,
  kPreTokenizer = 2,
  // About the pipeline.
  kNoMetaspace = 3,
  kNormalizedAddedTokens = 5,
  kNoUnknownId = 7,
  kWhitespaceAsSuffix = 11,
  kUserDefinedSymbols = 12,
  // About the charsmap.
  kReplacementSpaces = 13,
  kSeparatorKeys = 14,
  kLineEnds = 15,
  kPrependKeys = 16,
  // About the pieces.
  kUnknownScore = 17,
  kPositiveScores = 18,
  kLongPieces = 19,
  kManyCharacters = 20,
  kManyPieces = 21,
  kMetaspaceNoPiece = 22,
  kMetaspaceInsidePieces = 23,
  kSeparatorPatterns = 24,
  // About the model.
  kNoWords = 25,
  kLongWords = 26,
  kNoPattern = 27,
  kMergedUnknowns = 28,
  kNormalizesMore = 29,
};
inline constexpr uint32_t kLastFastRoadReason = 29;
// 4: spaces that are not collapsed make words; 6: byte fallback; 8, 9: add_dummy_prefix=false and
// remove_extra_whitespaces=false of SentencePiece; 10: escape_whitespaces=false.
constexpr bool RetiredFastRoadReason(uint32_t reason) {
  return reason == 4 || reason == 6 || (reason >= 8 && reason <= 10);
}

// Returns the reason in the words of the file formats; "" for kNone and for numbers that are no
// reason. With kNormalizer and kPreTokenizer the element's OpInfo::type says which.
constexpr const char* FastRoadReasonName(FastRoadReason reason) {
  switch (reason) {
    case FastRoadReason::kNone:
      return "";
    case FastRoadReason::kNormalizer:
      return "normalizer";
    case FastRoadReason::kPreTokenizer:
      return "pre-tokenizer";
    case FastRoadReason::kNoMetaspace:
      return "no Metaspace pre-tokenizer";
    case FastRoadReason::kNormalizedAddedTokens:
      return "added tokens with normalized=true";
    case FastRoadReason::kNoUnknownId:
      return "no unk_id";
    case FastRoadReason::kWhitespaceAsSuffix:
      return "treat_whitespace_as_suffix=true";
    case FastRoadReason::kUserDefinedSymbols:
      return "user-defined symbols";
    case FastRoadReason::kReplacementSpaces:
      return "charsmap replacements with two spaces in a row or U+2581";
    case FastRoadReason::kSeparatorKeys:
      return "charsmap keys that begin with white space";
    case FastRoadReason::kLineEnds:
      return "a charsmap that treats CR and LF differently, or together";
    case FastRoadReason::kPrependKeys:
      return "charsmap keys that begin with a Prepend character";
    case FastRoadReason::kUnknownScore:
      return "a least score above 0 or below -1e9";
    case FastRoadReason::kPositiveScores:
      return "scores further above 0 than the unknown one is below";
    case FastRoadReason::kLongPieces:
      return "pieces of more than 16 characters";
    case FastRoadReason::kManyCharacters:
      return "more distinct characters than the fast road has codes for";
    case FastRoadReason::kManyPieces:
      return "more or longer pieces than the automaton has room for";
    case FastRoadReason::kMetaspaceNoPiece:
      return "U+2581 is no piece, nor an unescaped space";
    case FastRoadReason::kMetaspaceInsidePieces:
      return "pieces with U+2581 after their first character";
    case FastRoadReason::kSeparatorPatterns:
      return "patterns of several characters with white space among them";
    case FastRoadReason::kNoWords:
      return "no pre-tokenizer that drops white space";
    case FastRoadReason::kLongWords:
      return "max_input_chars_per_word above 4,096";
    case FastRoadReason::kNoPattern:
      return "a BPE whose splits are not those of ByteLevel with one pattern";
    case FastRoadReason::kMergedUnknowns:
      return "merges of the unknown token, of bytes or of added tokens";
    case FastRoadReason::kNormalizesMore:
      return "a BPE of SentencePiece with a charsmap, or whose spaces are not escaped as they are";
  }
  return "";
}
static_assert(*FastRoadReasonName(FastRoadReason{kLastFastRoadReason}) != 0 &&
              *FastRoadReasonName(FastRoadReason{kLastFastRoadReason + 1}) == 0);

constexpr bool AboutAnElement(FastRoadReason reason) {
  return reason == FastRoadReason::kNormalizer || reason == FastRoadReason::kPreTokenizer;
}

// The reason together with the element it is about; "" for numbers of none.
constexpr const char* ElementOffTheFastRoad(uint32_t op) {
  switch (op) {
#define NORMALIZER(number, op, type, arg0, arg1, a, tables) \
  case number:                                              \
    return "normalizer, " type;
#define PRE_TOKENIZER(number, op, type, arg0, arg1, a) \
  case number:                                         \
    return "pre-tokenizer, " type;
#include "image/ops.def"
    default:
      return "";
  }
}

// The two together, of an image; null where texts take the fast road.
constexpr const char* WhyOffTheFastRoad(uint32_t reason, uint32_t op) {
  const FastRoadReason of{reason};
  if (of == FastRoadReason::kNone) return nullptr;
  return AboutAnElement(of) ? ElementOffTheFastRoad(op) : FastRoadReasonName(of);
}

}  // namespace rankfeed::image
