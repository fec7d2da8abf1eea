// SPDX-License-Identifier: MIT
// segment/cuts.cc: see cuts.h.
#include "segment/cuts.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "segment/exactness.h"
#include "segment/normalized_tokens.h"
#include "unicode/properties.h"

namespace rankfeed::segment {
namespace {

// Whether a part has a U+2581 at its begin only where a separator stands there. Behind words one is
// put at the end of a part in any case (general::CarriedScore).
bool KeepsSeparator(const Model& model) {
  const uint32_t rules = model.segment.config->rules;
  return (rules & image::kPrependRules) != 0 && (rules & image::kSpaceEndsWord) == 0;
}

// Whether the ids of a text are those of the parts that it is cut into.
bool PartsMakeText(const Model& model) {
  const uint32_t rules = model.segment.config->rules;
  // A part keeps the separator it begins with where only that makes a U+2581, and must not lose it.
  if (KeepsSeparator(model) && (rules & image::kStripLeft) != 0) return false;
  // Such tokens are looked for in what a whole stretch becomes.
  if (!NormalizedTokens(model).empty()) return false;
  if (ScoreSumsOf(model) == ScoreSums::kFloat64Words) return true;
  // Unknown characters on both sides would be one token if U+2581 were unknown too.
  return model.IsPieceCode(model.segment.config->space_code);
}

// Whether a character is itself, or another one, in any company of such and of separators, and at
// the ends of a text, which may lose white space.
bool StandsAlone(const Model& model, const utf8::Decoded& c) {
  constexpr uint32_t kCode = image::kCharCodeMask | image::kCharUnknown | image::kCharBases;
  return c.valid && (model.segment.char_info[c.code_point] & ~kCode) == 0 &&
         !unicode::IsWhiteSpace(c.code_point);
}

}  // namespace

Cuts::Cuts(const Model& model, const general::AddedTokenFilter& filter)
    : model_(model),
      filter_(filter),
      signs_(model),
      any_(PartsMakeText(model)),
      keeps_separator_(KeepsSeparator(model)) {
  const image::SegmentConfig& config = *model.segment.config;
  std::memcpy(separators_.low, config.separators, sizeof(separators_.low));
}

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

// Whether the text may be cut at a separator.
bool Cuts::At(std::string_view text, uint32_t at) const {
  // In front of it other white space may mean something else.
  if (at == 0 || at + 1 >= text.size() || (keeps_separator_ && text[at] != ' ')) return false;
  const size_t before = utf8::Previous(text, at);
  const utf8::Decoded last = utf8::Decode(text, before), next = utf8::Decode(text, at + 1);
  if (before + last.size != at || !StandsAlone(model_, last) || !StandsAlone(model_, next)) {
    return false;
  }
  if (IsSeparator(text[before]) || IsSeparator(text[at + 1])) return false;
  if (signs_.Has(text[at + 1])) return false;  // it may make a word
  // Nor does an added token begin behind it, or right in front so that it may reach over it.
  if (model_.added_raw.empty()) return true;
  const uint32_t begin = at - std::min(at, model_.max_added_bytes + 1);
  return std::none_of(text.begin() + begin, text.begin() + at + 2,
                      [&](char c) { return filter_.MayBeginWith(static_cast<uint8_t>(c)); });
}

}  // namespace rankfeed::segment
