// SPDX-License-Identifier: MIT
// builder/eligibility.cc: see eligibility.h.
//
// Eligible are SentencePiece models with the usual white space handling, and three forms of
// HuggingFace pipelines, those of published XLM-R files (A, B and C below) and their relatives:
//
//   B  [Precompiled]                              WhitespaceSplit, Metaspace(always, split)
//   A  [Precompiled], Strip(right), Replace( {2,}) Metaspace(always, split)
//   C  [Precompiled], Replace( {2,})               Metaspace(always, split)
//
// All split normalized text at spaces, with a U+2581 at the front of every word, and drop empty
// words; no piece holds a U+2581 but at its front, or words are searched one by one anyway. In A
// and C runs of spaces become one separator. C keeps a space at the end, which is then a word of
// one U+2581 (kTrailingSpaceIsWord).
#include "builder/eligibility.h"

#include <optional>
#include <span>
#include <string_view>

namespace rankfeed::builder {
namespace {

using image::FastRoadReason;
using image::Op;
using image::Step;

using Steps = std::span<const Step>;

// Takes the first step away if it is op.
const Step* Take(Steps* steps, Op op) {
  if (steps->empty() || (*steps)[0].op != static_cast<uint32_t>(op)) return nullptr;
  const Step* const first = steps->data();
  *steps = steps->subspan(1);
  return first;
}

// What the search over costs needs of the pieces.
FastRoadReason ClassifyPieces(const Model& model) {
  // Two unknown characters must never beat a piece that spells them, so that no fused unknown is in
  // the vocabulary: unk_score is min_score - 10.
  if (model.config->unk_score >= -10 || model.config->unk_score < -1e9) {
    return FastRoadReason::kUnknownScore;
  }
  for (const double score : model.scores) {
    if (score > 0) return FastRoadReason::kPositiveScores;
  }
  if (model.config->max_piece_chars > image::kMaxSegmentPieceChars) {
    return FastRoadReason::kLongPieces;
  }
  if (model.config->code_count + 1 >= trie::kEmptyLabel) return FastRoadReason::kManyCharacters;
  return model.codes[kMetaspace] == 0 ? FastRoadReason::kMetaspaceNoPiece : FastRoadReason::kNone;
}

FastRoadReason ClassifySentencePiece(const Model& model) {
  if (!model.user_defined.empty()) return FastRoadReason::kUserDefinedSymbols;
  if (!model.has(image::kAddDummyPrefix)) return FastRoadReason::kNoDummyPrefix;
  if (!model.has(image::kRemoveExtraWhitespaces)) return FastRoadReason::kExtraWhitespaces;
  if (!model.has(image::kEscapeWhitespaces)) return FastRoadReason::kUnescapedWhitespaces;
  if (model.has(image::kTreatWhitespaceAsSuffix)) return FastRoadReason::kWhitespaceAsSuffix;
  // Several spaces in one replacement do not collapse, and a U+2581 in one is a space too.
  const std::string_view pool(model.charsmap_pool.data(), model.charsmap_pool.size());
  if (pool.find("  ") != std::string_view::npos ||
      pool.find(kMetaspaceBytes) != std::string_view::npos) {
    return FastRoadReason::kReplacementSpaces;
  }
  return FastRoadReason::kNone;
}

OffTheFastRoad Because(FastRoadReason reason, const Step& step) {
  return {reason, step.op};
}

std::variant<Pipeline, OffTheFastRoad> ClassifyHuggingFace(const Model& model) {
  if (!model.added_normalized.empty())
    return OffTheFastRoad{FastRoadReason::kNormalizedAddedTokens};
  Steps normalizer = model.normalizer;
  const bool precompiled = Take(&normalizer, Op::kPrecompiled) != nullptr;
  const Step* const strip = Take(&normalizer, Op::kStrip);
  if (strip != nullptr && (strip->arg0 != 0 || strip->arg1 == 0)) {  // right only
    return Because(FastRoadReason::kNormalizer, *strip);
  }
  const Step* const collapse = Take(&normalizer, Op::kReplaceRun);
  if (collapse != nullptr) {
    const std::string_view b = model.text(collapse->b);
    if (model.text(collapse->a) != " " || collapse->arg0 != 2 ||
        (b != " " && b != kMetaspaceBytes)) {
      return Because(FastRoadReason::kNormalizer, *collapse);
    }
  }
  if (!normalizer.empty()) return Because(FastRoadReason::kNormalizer, normalizer[0]);

  Steps splits = model.pre_tokenizer;
  const bool whitespace_split = Take(&splits, Op::kWhitespaceSplit) != nullptr;
  const Step* const metaspace = Take(&splits, Op::kMetaspace);
  if (!splits.empty()) return Because(FastRoadReason::kPreTokenizer, splits[0]);
  if (metaspace == nullptr) return OffTheFastRoad{FastRoadReason::kNoMetaspace};
  if (model.text(metaspace->a) != kMetaspaceBytes || metaspace->arg0 != image::kPrependAlways ||
      metaspace->arg1 == 0) {
    return Because(FastRoadReason::kPreTokenizer, *metaspace);
  }
  if (whitespace_split) {
    // Harmless together, but not seen in any file.
    if (strip != nullptr) return Because(FastRoadReason::kNormalizer, *strip);
    if (collapse != nullptr) return Because(FastRoadReason::kNormalizer, *collapse);
    return Pipeline{Form::kWhitespaceSplit, precompiled};
  }
  // Every further space would be a word.
  if (collapse == nullptr) return OffTheFastRoad{FastRoadReason::kSpacesNotCollapsed};
  return Pipeline{strip != nullptr ? Form::kStripped : Form::kTrailing, precompiled};
}

}  // namespace

std::variant<Pipeline, OffTheFastRoad> Classify(const Model& model) {
  if (model.has(image::kByteFallback)) return OffTheFastRoad{FastRoadReason::kByteFallback};
  if (model.config->unk_id == image::kNoId) return OffTheFastRoad{FastRoadReason::kNoUnknownId};
  std::variant<Pipeline, OffTheFastRoad> answer =
      Pipeline{Form::kSentencePiece, !model.charsmap_units.empty()};
  if (model.huggingface()) {
    answer = ClassifyHuggingFace(model);
  } else if (const FastRoadReason reason = ClassifySentencePiece(model);
             reason != FastRoadReason::kNone) {
    answer = OffTheFastRoad{reason};
  }
  if (std::holds_alternative<OffTheFastRoad>(answer)) return answer;
  const FastRoadReason reason = ClassifyPieces(model);
  return reason == FastRoadReason::kNone ? answer : OffTheFastRoad{reason};
}

}  // namespace rankfeed::builder
