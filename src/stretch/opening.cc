// SPDX-License-Identifier: MIT
// stretch/opening.cc: see opening.h.
#include "stretch/opening.h"

#include <span>

#include "unicode/properties.h"

namespace rankfeed {

Opening Openings::Of(std::string_view stretch, std::string_view text) const {
  Opening opening{.text = Stripped(stretch)};
  const bool begins_text = opening.text.data() == text.data();
  opening.prefixed =
      !Has(image::kPrependRules) || (Has(image::kPrependOnlyFirst) && begins_text);
  if (Has(image::kSpaceWords)) {
    const bool spaced = stretch.starts_with(' ') || stretch.starts_with("\xe2\x96\x81");
    opening.prefixed &= !spaced || Has(image::kFrontSpaceIsWord);
    return opening;
  }
  opening.reason = ReasonAtBegin(opening.text, begins_text, &opening.prefixed);
  if ((Has(image::kDropsOtherLeft) && LosesOtherSpace(opening.text, true)) ||
      (Has(image::kDropsOtherRight) && LosesOtherSpace(opening.text, false))) [[unlikely]] {
    opening.reason = RANKFEED_REASON_CONTEXT;
  }
  return opening;
}

// Returns whether a text loses the character, if it begins with that: white space, or in SentencePiece
// parity what becomes one space.
bool Openings::StripsLeft(const utf8::Decoded& c) const {
  if (model_.huggingface()) return unicode::IsWhiteSpace(c.code_point);
  if (IsSeparator(c)) return true;
  const image::CharInfo info = model_.segment.char_info[c.code_point];
  // A longer key that begins with it is decided by what follows it.
  return c.valid && info.EndsWord() && !info.Expands() && !info.Normalizes() && info.bases() == 0;
}

// Returns the stretch without the white space that a Strip takes off before anything else is done.
std::string_view Openings::Stripped(std::string_view stretch) const {
  while (Has(image::kStripLeft) && !stretch.empty()) {
    const utf8::Decoded c = utf8::DecodeInline(stretch, 0);
    if (!StripsLeft(c)) break;
    stretch.remove_prefix(c.size);
  }
  while (Has(image::kStripRight) && !stretch.empty()) {
    const size_t last = utf8::Previous(stretch, stretch.size());
    if (!unicode::IsWhiteSpace(utf8::CodePointAt(stretch, last))) break;
    stretch.remove_suffix(stretch.size() - last);
  }
  return stretch;
}

// Finds out whether a word begins at the first character. Where only the begin of a text gets a U+2581, or
// in SentencePiece parity spaces are counted or those there get none, what that becomes decides whether it
// gets one; if that is not itself, nor begins with a space, the general path finds out. *prefixed:
// false where it needs none. Where HuggingFace counts spaces, a U+2581 that was put in front of
// one, or of nothing, is taken back (fast/span_writer.h).
rankfeed_reason Openings::ReasonAtBegin(std::string_view stretch, bool begins_text, bool* prefixed) const {
  const bool asks = !model_.huggingface() ? Has(image::kEverySpaceIsWord | image::kPrependsNever)
                                          : begins_text && Has(image::kPrependOnlyFirst);
  if (!asks || stretch.empty()) return RANKFEED_REASON_NONE;
  const SegmentTables& tables = model_.segment;
  const Character first = CharacterAt(tables, stretch, 0);
  if (IsSeparator(first)) return RANKFEED_REASON_NONE;
  const image::CharInfo info = first.info;
  const bool alone = first.size == stretch.size();
  const Character next =
      alone ? Character{{0, 1, true}, {}} : CharacterAt(tables, stretch, first.size);
  const image::CharInfo after = next.info;
  const bool vanishes = Vanishes(tables, after);
  const bool begins = HasCodeAtEnd(tables, info, /*begin=*/true);
  if (model_.huggingface() && first.valid && info.EndsWord() && !begins && next.valid &&
      !vanishes && !info.IsDoubtful() && !after.IsDoubtful()) {
    *prefixed = false;
    return RANKFEED_REASON_NONE;
  }
  if (info.Expands()) return begins ? RANKFEED_REASON_NONE : RANKFEED_REASON_CONTEXT;
  // Together with the next it may become anything, or with the one after that if it vanishes.
  constexpr uint32_t kReplaced = image::kMarkInPattern | image::kMarkAfterKey;
  const bool joins = (info.bases() & kReplaced) != 0 &&
                     (vanishes || after.Normalizes() || after.IsMark());
  return joins || !info.IsOneCode() ? RANKFEED_REASON_CONTEXT : RANKFEED_REASON_NONE;
}

// Returns whether a Strip that comes after other steps may drop white space at an end of a stretch that is a
// character elsewhere.
bool Openings::LosesOtherSpace(std::string_view rest, bool left) const {
  while (!rest.empty()) {
    const size_t at = left ? 0 : utf8::Previous(rest, rest.size());
    const Character c = CharacterAt(model_.segment, rest, at);
    left ? rest.remove_prefix(c.size) : rest.remove_suffix(rest.size() - at);
    if (IsSeparator(c)) continue;
    if (!c.info.Expands() && !c.info.EndsWord() && unicode::IsWhiteSpace(c.code_point)) {
      return true;
    }
    // After what vanishes or may do so the next one decides, and after what becomes a space.
    if (!c.info.IsDoubtful() && HasCodeAtEnd(model_.segment, c.info, left)) return false;
  }
  return false;
}

}  // namespace rankfeed
