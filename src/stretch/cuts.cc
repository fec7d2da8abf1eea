// SPDX-License-Identifier: MIT
// stretch/cuts.cc: see cuts.h.
#include "stretch/cuts.h"

#include <algorithm>

#include "base/narrow.h"
#include "base/utf8.h"
#include "stretch/characters.h"
#include "image/fast_road.h"
#include "models/unigram/exactness.h"
#include "unicode/properties.h"

namespace rankfeed {
namespace {

// Returns whether a part has a U+2581 at its begin only where a separator stands there.
bool KeepsSeparator(const Model& model) {
  return model.segment.config.has_value() && (model.segment.config->rules & (image::kPrependRules | image::kPatternSplits)) != 0;
}

// Returns whether the score of a stretch goes on to its end.
bool CarriesScore(const Model& model) {
  return unigram::ScoreSumsOf(model) != unigram::ScoreSums::kFloat64Words;
}

// Says why the ids of a text may not be those of the parts that it is cut into; null if they are.
const char* ObstacleOf(const Model& model) {
  if (!model.segment.config.has_value()) {
    const char* const why = image::WhyOffTheFastRoad(model.config->fast_road_reason, model.config->fast_road_op);
    return why != nullptr ? why : "no fast road";
  }
  const uint32_t rules = model.segment.config->rules;
  // A part keeps the separator it begins with where only that makes a U+2581, and must not lose it.
  if (KeepsSeparator(model) && (rules & image::kStripLeft) != 0) {
    return model.huggingface() ? "normalizer, Strip, with a Metaspace that is not \"always\""
                               : "add_dummy_prefix=false and remove_extra_whitespaces=true";
  }
  if (!CarriesScore(model)) return nullptr;
  // Unknown characters on both sides would be one token if U+2581 were unknown too.
  const bool known = model.IsPieceCode(model.segment.config->space_code);
  return known ? nullptr : image::FastRoadReasonName(image::FastRoadReason::kMetaspaceNoPiece);
}

}  // namespace

Cuts::Cuts(const Model& model, const AddedTokenFilter& filter,
           const NormalizedTokens& normalized_tokens)
    : model_(model),
      filter_(filter),
      normalized_tokens_(normalized_tokens),
      signs_(model),
      obstacle_(ObstacleOf(model)),
      keeps_separator_(KeepsSeparator(model)),
      carries_score_(CarriesScore(model)) {}

uint32_t Cuts::FindLast(std::string_view text, uint32_t from, uint32_t to) const {
  for (uint32_t at = to; at > from + 1;) {
    if (IsSeparator(text[--at]) && At(text, at)) return at;
  }
  return kNone;
}

uint32_t Cuts::FindFirst(std::string_view text, uint32_t from, uint32_t to) const {
  for (uint32_t at = from; at < to; ++at) {
    if (IsSeparator(text[at]) && At(text, at)) return at;
  }
  return kNone;
}

size_t Cuts::PartBytes(std::string_view text) const {
  const auto size = Size32(text);
  if (!any() || size <= part_bytes_) return size;
  uint32_t cut = FindLast(text, 0, part_bytes_);
  if (cut == kNone) cut = FindFirst(text, part_bytes_, size);
  return cut != kNone ? cut : size;
}

// Returns whether the text may be cut at a separator.
bool Cuts::At(std::string_view text, uint32_t at) const {
  // In front of it other white space may mean something else.
  if (at == 0 || at + 1 >= text.size() || (keeps_separator_ && text[at] != ' ')) return false;
  const size_t before = utf8::Previous(text, at);
  if (model_.bpe()) {
    // A split begins at the space whatever comes before the character in front of it: no pattern takes white space
    // other than line ends after something else, and none looks back. Nor does NFC look over a space. A U+2581 may be
    // what a space becomes, and no merge of such a model is across one and what comes before it (image::kSpaceWords).
    const auto parts = [](const utf8::Decoded& c) {
      return c.valid && !unicode::IsWhiteSpace(c.code_point) && c.code_point != 0x2581;
    };
    const std::string_view next(text.data() + at + 1, text.size() - at - 1);
    const bool metaspace = next.starts_with("\xe2\x96\x81") || (next.size() < 3 && next[0] == '\xe2');
    if (text[at] != ' ' || next[0] == ' ' || metaspace || !parts(utf8::Decode(text, before))) return false;
  } else {
    const Character last = CharacterAt(model_.segment, text, before);
    if (before + last.size != at || !StandsAlone(last)) return false;
    if (!StandsAlone(CharacterAt(model_.segment, text, at + 1))) return false;
    // A sign after it may make a word.
    if (IsSeparator(text[before]) || IsSeparator(text[at + 1]) || signs_.Has(text[at + 1])) return false;
  }
  return !normalized_tokens_.MayTouch(text, at) && IsFreeOfTokens(text, at);
}

// Returns whether no added token begins after the separator at `at`, or right in front so that it may reach
// over it.
bool Cuts::IsFreeOfTokens(std::string_view text, uint32_t at) const {
  if (model_.added_raw.empty()) return true;
  const uint32_t begin = at - std::min(at, model_.max_added_bytes + 1);
  return std::none_of(text.begin() + begin, text.begin() + at + 2,
                      [&](char c) { return filter_.MayBeginWith(Byte(c)); });
}

}  // namespace rankfeed
