// SPDX-License-Identifier: MIT
// builder/fast/eligibility.cc: see eligibility.h.
//
// Eligible are SentencePiece models with a space, U+2581 mostly, in front of words,
// and HuggingFace pipelines that make a U+2581 of every space: Metaspace, with split perhaps after
// WhitespaceSplit, and after Punctuation that isolates; or a Replace at the end of the normalizer. A
// Split that never finds its pattern is no part of a pipeline. No piece holds a U+2581 but at its front, or words
// are searched one by one anyway. What the normalizer may do is in
// normalized_characters.h.
#include "builder/fast/eligibility.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "normalize/normalize.h"

namespace rankfeed::builder {
namespace {

using image::FastRoadReason;
using image::Op;
using image::Step;

// Returns whether the pieces allow the search over costs, or the reason why not.
FastRoadReason ClassifyPieces(const Model& model) {
  // Two unknown characters must never beat a piece that spells them, so that no fused unknown is in
  // the vocabulary: unk_score is min_score - 10.
  if (model.config->unk_score >= -10 || model.config->unk_score < -1e9) {
    return FastRoadReason::kUnknownScore;
  }
  // So that no score inside of a segment is further from 0 than unknown characters bring it.
  if (GreatestScore(model) > -model.config->unk_score) return FastRoadReason::kPositiveScores;
  if (model.config->max_piece_chars > image::kMaxSegmentPieceChars) {
    return FastRoadReason::kLongPieces;
  }
  if (model.config->code_count + 1 >= image::kSign) return FastRoadReason::kManyCharacters;
  return model.codes[WordStart(model)] == 0 ? FastRoadReason::kMetaspaceNoPiece
                                            : FastRoadReason::kNone;
}

// Returns the rules of what a text begins with and what becomes of its spaces.
uint32_t SentencePieceRules(const Model& model) {
  const bool prefix = model.has(image::kAddDummyPrefix);
  uint32_t rules = prefix ? 0 : uint32_t{image::kPrependsNever};
  if (model.has(image::kRemoveExtraWhitespaces)) {
    // After a prefix they make no words; without one they would.
    return prefix ? rules : rules | image::kStripLeft;
  }
  rules |= image::kEverySpaceIsWord | image::kTrailingSpaceIsWord;
  return prefix ? rules | image::kFrontSpaceIsWord : rules;
}

FastRoadReason ClassifySentencePiece(const Model& model) {
  if (model.has(image::kTreatWhitespaceAsSuffix)) return FastRoadReason::kWhitespaceAsSuffix;
  // Several spaces in one replacement do not collapse, and a U+2581 in one is a space too.
  const std::string_view pool(model.charsmap_pool.data(), model.charsmap_pool.size());
  if (pool.find("  ") != std::string_view::npos ||
      pool.find(kMetaspaceBytes) != std::string_view::npos) {
    return FastRoadReason::kReplacementSpaces;
  }
  return FastRoadReason::kNone;
}

// Whether a Split finds its pattern in no text: an added token that every text is cut at is that
// character, and no step of the normalizer makes one.
bool NeverSplits(const Model& model, const Step& step) {
  const std::string_view pattern = model.text(step.a);
  if (!step.Is(Op::kSplitString) || step.arg1 != 0 || pattern.empty() ||
      utf8::Decode(pattern, 0).size != pattern.size()) {
    return false;
  }
  constexpr uint32_t kSometimes = image::kNormalized | image::kSpecial | image::kSingleWord;
  const bool is_token = std::any_of(
      model.added_tokens.begin(), model.added_tokens.end(), [&](const image::AddedToken& token) {
        return (token.flags & kSometimes) == 0 && model.text(token.content) == pattern;
      });
  return is_token &&
         std::all_of(model.normalizer.begin(), model.normalizer.end(), [&](const Step& of) {
           const bool prepend = of.Is(Op::kPrepend);
           const bool replace = of.Is(Op::kReplace);
           const std::string_view made = model.text(prepend ? of.a : of.b);
           return (prepend || replace) && made.find(pattern) == made.npos;
         });
}

// Tells whether a step makes a word of each punctuation character.
bool IsolatesPunctuation(const Step& step) {
  return step.Is(Op::kPunctuation) && step.arg0 == image::kIsolated;
}

// Tells whether a step is a part of BertNormalizer.
bool IsOfBert(const Step& step) {
  return step.Is(Op::kBertClean) ||
         step.Is(Op::kBertSpaceCjk) ||
         step.Is(Op::kBertStripMarks);
}

std::variant<Pipeline, OffTheFastRoad> ClassifyHuggingFace(const Model& model) {
  Pipeline pipeline;
  for (const Step& step : model.normalizer) {
    pipeline.precompiled |= step.Is(Op::kPrecompiled);
    if (IsOfBert(step)) return OffTheFastRoad{FastRoadReason::kNormalizer, step.op};
  }
  const Step *metaspace = nullptr, *punctuation = nullptr;
  pipeline.words = Words::kTrailing;
  bool splits = false;
  for (const Step& step : model.pre_tokenizer) {
    if (NeverSplits(model, step)) continue;
    splits = true;
    const bool first = &step == model.pre_tokenizer.data();
    if (first && step.Is(Op::kWhitespaceSplit)) {
      pipeline.words = Words::kSplitAtWhiteSpace;
    } else if (metaspace == nullptr && IsolatesPunctuation(step)) {
      punctuation = &step;
    } else if (metaspace == nullptr && step.Is(Op::kMetaspace) &&
               model.text(step.a) == kMetaspaceBytes) {
      metaspace = &step;
    } else {
      return OffTheFastRoad{FastRoadReason::kPreTokenizer, step.op};
    }
  }
  const bool replaces = normalize::MakesMetaspaces(model);
  if (metaspace == nullptr && !(replaces && !splits)) {
    return OffTheFastRoad{FastRoadReason::kNoMetaspace};
  }
  pipeline.whole = metaspace == nullptr || metaspace->arg1 == 0;
  const uint32_t prepends = metaspace == nullptr ? image::kPrependNever : metaspace->arg0;
  if (prepends == image::kPrependFirst) pipeline.rules |= image::kPrependOnlyFirst;
  if (prepends == image::kPrependNever) pipeline.rules |= image::kPrependsNever;
  // Each part of a stretch would begin with a U+2581, or none; or there would be one part.
  const bool drops_spaces = pipeline.words == Words::kSplitAtWhiteSpace;
  const bool each_word = pipeline.rules == 0 && !pipeline.whole && !replaces;
  if (drops_spaces && punctuation == nullptr && !each_word) {
    return OffTheFastRoad{FastRoadReason::kPreTokenizer, metaspace->op};
  }
  if (punctuation == nullptr) return pipeline;
  // Words that begin without a U+2581 are not told from what comes before them.
  if (!each_word) return OffTheFastRoad{FastRoadReason::kPreTokenizer, punctuation->op};
  pipeline.rules = image::kPunctuationIsWord;
  if (!drops_spaces) pipeline.rules |= image::kSpaceBeforeSignIsWord;
  return pipeline;
}

}  // namespace

char32_t WordStart(const Model& model) {
  const bool escapes = model.huggingface() || model.has(image::kEscapeWhitespaces);
  return escapes ? kMetaspace : U' ';
}

bool IsUserDefined(const Model& model, uint32_t id) {
  return !model.huggingface() && (model.id_flags[id] & image::kIdTypeMask) ==
                                     static_cast<uint8_t>(image::PieceType::kUserDefined);
}

double GreatestScore(const Model& model) {
  double greatest = 0;
  for (uint32_t id = 0; id < model.scores.size(); ++id) {
    if (model.scores[id] <= 0) continue;
    uint32_t chars = 0;
    for (const char c : model.piece(id)) chars += !utf8::IsContinuation(c);
    greatest = std::max(greatest, model.scores[id] / std::max(chars, 1u));
  }
  return greatest;
}

std::variant<Pipeline, OffTheFastRoad> Classify(const Model& model) {
  if (model.config->unk_id == image::kNoId) return OffTheFastRoad{FastRoadReason::kNoUnknownId};
  std::variant<Pipeline, OffTheFastRoad> answer =
      Pipeline{.sentencepiece = true,
               .whole = true,
               .precompiled = !model.charsmap_units.empty(),
               .rules = model.huggingface() ? 0 : SentencePieceRules(model)};
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
