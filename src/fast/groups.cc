// SPDX-License-Identifier: MIT
// fast/groups.cc: see groups.h.
#include "fast/groups.h"

#include <algorithm>

#include "base/utf8.h"
#include "fast/spans.h"
#include "unicode/grapheme.h"
#include "unicode/properties.h"

namespace rankfeed::fast {

static constexpr unsigned char kLastSeparator = ' ';

CharacterGroups::CharacterGroups(const Model& model) : model_(model) {
  known_ = !model.huggingface();
  if (known_) return;
  // A model without the classes of characters has no charsmap (image/sections.def).
  if (!model.props.present()) return;
  // A Replace must put characters that begin clusters in place of single ones.
  known_ =
      std::all_of(model.normalizer.begin(), model.normalizer.end(), [&](const image::Step& step) {
        const std::string_view text = model.text(step.b);
        return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; }) ||
               text == "\xe2\x96\x81";
      });
}

// Returns by its class alone whether c begins a cluster after anything but a Prepend character. Only a
// charsmap reads clusters: without one, a consonant after a virama is read with no other.
static bool IsOther(const Model& model, char32_t c) {
  const uint32_t is = model.props[c] & image::kGraphemeMask;
  return is == image::kGraphemeOther || is == image::kGraphemePrepend ||
         (is == image::kGraphemeConsonant && model.charsmap_units.empty());
}

// Returns the same of all that c may be in front of the charsmap.
bool CharacterGroups::BeginsCluster(char32_t c) const {
  if (c > kLastSeparator && c < 0x7f) return true;  // and becomes such a one
  if (!IsOther(model_, c)) return false;
  for (const CodePointTable<uint32_t>* table : {&model_.decomp, &model_.decomp_k, &model_.lower}) {
    if (!table->present()) continue;
    for (const uint32_t part : unicode::Mapping(model_, *table, c)) {
      if (!IsOther(model_, part)) return false;
    }
  }
  return true;
}

uint32_t CharacterGroups::Facts(char32_t c) const {
  const image::CharInfo info = model_.segment.char_info[c];
  // No key of SentencePiece's charsmap goes on with it, and no step looks at what another made.
  const uint32_t leaves = info.TakesGeneralPath() ? kLeaves : 0;
  if (!model_.huggingface()) return (!info.IsMark() ? kBegins : 0) | leaves;
  const bool vanishes = Vanishes(model_.segment, info);
  const bool begins = !info.IsMark() && !vanishes && BeginsCluster(c);
  return (info.Normalizes() ? kChanges : 0u) | (vanishes ? kVanishes : 0u) |
         (begins ? kBegins : 0u) | leaves;
}

bool CharacterGroups::EndsBefore(std::string_view segment, size_t at) const {
  if ((Facts(utf8::CodePointAt(segment, at)) & kBegins) == 0) return false;
  // After what vanishes stands what was before it.
  for (uint32_t n = 0; at > 0 && n < kMaxVanishing; ++n) {
    at = utf8::Previous(segment, at);
    const uint32_t last = Facts(utf8::CodePointAt(segment, at));
    if ((last & kChanges) != 0) return false;
    if ((last & kVanishes) == 0) return true;
  }
  return at == 0;
}

size_t CharacterGroups::Begin(std::string_view segment, size_t at) const {
  while (at > 0 && !EndsBefore(segment, at)) at = utf8::Previous(segment, at);
  return at;
}

// Asks what EndsBefore does at one place after the other, with what it would look back at in the hand.
CharacterGroups::Extent CharacterGroups::ExtentFrom(std::string_view segment, size_t begin) const {
  utf8::Decoded c = utf8::DecodeInline(segment, begin);
  uint32_t facts = Facts(c.code_point), all = facts;
  ReadSoFar read;
  read.Go(facts);
  size_t at = begin + c.size;
  for (; at < segment.size(); at += c.size) {
    c = utf8::DecodeInline(segment, at);
    facts = Facts(c.code_point);
    if ((facts & kBegins) != 0 && read.MayEnd()) break;
    read.Go(facts);
    all |= facts;
  }
  return {at, (all & kLeaves) != 0};
}

}  // namespace rankfeed::fast
