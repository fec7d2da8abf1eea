// SPDX-License-Identifier: MIT
// fast/decode_groups.cc: characters of a segment that are read together (decode.h, groups.h):
// what was appended of them one by one is taken back, and what they become is appended.
#include <algorithm>

#include "base/utf8.h"
#include "fast/decode.h"

namespace rankfeed::fast {

using Kind = Outcome::Kind;

// The character at *at is read together with others, or is one that the normalizer must be asked
// about: it goes through that with its group, what stands before it there is taken back, and *at is
// moved after it. Where it is not known where groups begin and end (groups.h), its whole segment does.
Outcome SpanDecoder::Together(std::string_view segment, size_t* at) {
  const size_t begin =
      groups_.known() ? std::max<size_t>(groups_.Begin(segment, *at), cursor_.after_sign) : 0;
  // A mark that begins a group may be in one cluster with the byte before it.
  const CharInfo first = CharacterAt(tables_, segment, begin).info;
  const bool marked = model_.huggingface() && (first.marks() & image::kClusterMarks) != 0;
  if (marked && (begin != 0 || before_ != kNoByte)) return Outcome::General(RANKFEED_REASON_CONTEXT);
  // Such a character may be of a run of white space that the group would take part of.
  if (begin != 0 && InfoBefore(segment, begin).TakesGeneralPath()) {
    return Outcome::General(RANKFEED_REASON_CHARACTER);
  }
  if (!groups_.known()) return AsWhole(segment, *at);
  if (!TakeBackFrom(segment, begin, *at)) return AsWhole(segment, begin);
  run_.depends |= marked;
  const uint32_t size = run_.size, left = size - run_.open();
  const CharacterGroups::Extent extent = groups_.ExtentFrom(segment, begin);
  const Outcome outcome = AppendGroup(segment, begin, extent);
  if (outcome.kind == Kind::kSearch && begin != *at) {
    const bool nothing = run_.size == size;
    // A character that was taken back may have stood between a space and what comes next.
    const bool after_code = left != 0 && !run_.IsOnlyMetaspace();
    if (nothing && !(run_.front && begin == 0) && (!after_code || run_.signs.any())) {
      return Outcome::General(RANKFEED_REASON_CONTEXT);
    }
    // The span before it was ended for the sake of the group's first character.
    if (!nothing && left == 0 && !MayBeginAt(size)) return AsWhole(segment, begin);
  }
  *at = extent.end;
  return outcome;
}

// Gives the segment to the normalizer, where all of it is there and nothing from `begin` on, up to
// which it was read, keeps it from that.
Outcome SpanDecoder::AsWhole(std::string_view segment, size_t begin) {
  for (size_t pos = begin; pos < segment.size();) {
    const Character c = CharacterAt(tables_, segment, pos);
    if (c.info.TakesGeneralPath()) return Outcome::General(RANKFEED_REASON_CHARACTER);
    pos += c.size;
  }
  if (!run_.front) return Outcome::General(RANKFEED_REASON_CONTEXT);
  run_.TakeBack();
  return {Kind::kNormalize};
}

// Appends what the group becomes that begins at `begin`.
Outcome SpanDecoder::AppendGroup(std::string_view segment, size_t begin, CharacterGroups::Extent extent) {
  std::span<const uint16_t> elements;
  const rankfeed_reason reason = reader_.ReadGroup(segment, begin, extent, &elements);
  if (reason != RANKFEED_REASON_NONE) return Outcome::General(reason);
  if (leaves_nothing_ && begin == 0 && elements.empty()) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  // Each space begins a span with a code of its own.
  if (room() < 2 * elements.size() + 2 * kCharRoom) {
    run_.previous = (begin != 0 ? InfoBefore(segment, begin) : CharInfo()).AsUnknown();
    return Full(begin);
  }
  run_.AddElements(elements);
  run_.previous = CharInfo::OfNormalizer().AsUnknown();  // nothing joins a group
  return {};
}

// Appends what the normalizer makes of the whole segment.
Outcome SpanDecoder::DecodeNormalized(std::string_view segment, bool word_start) {
  std::span<const uint16_t> elements;
  const rankfeed_reason reason = reader_.ReadSegment(segment, &elements);
  if (reason != RANKFEED_REASON_NONE) return Outcome::General(reason);
  if (leaves_nothing_ && elements.empty()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  run_.Begin(/*whole=*/true, before_ == kNoByte, /*spaced=*/false);
  if (room() < 2 * elements.size() + 2 * kCharRoom) return Full(0);
  run_.Open(word_start);
  run_.AddElements(elements);
  if (MayJoinLineEnds()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  run_.Close();
  return {};
}

// Returns whether a span may begin with the codes from `at` on, of what a group became.
bool SpanDecoder::MayBeginAt(uint32_t at) const {
  const uint32_t first = run_.codes[at];
  const bool in_batch = run_.begins[run_.first_count] < at;
  // If the batch before holds no span of the segment, what stood before these codes vanished.
  if (!in_batch && run_.front) return true;
  const uint32_t last = in_batch ? run_.codes[at - 1] : cursor_.last;
  // A U+2581 that a space follows is no word.
  if (first == run_.metaspace) return run_.every_space || last != run_.metaspace;
  return !image::Spanned(run_.pairs, last, first) && (model_.IsPieceCode(last) || model_.IsPieceCode(first));
}

// Takes the characters [begin, at) of the segment back, which were appended last. False if it is
// not known what the open span was before them.
bool SpanDecoder::TakeBackFrom(std::string_view segment, size_t begin, size_t at) {
  if (begin == at) return true;
  uint32_t codes = 0;
  for (size_t pos = begin; pos < at;) {
    const Character c = CharacterAt(tables_, segment, pos);
    if (c.info.EndsWord()) return false;
    codes += c.info.Expands() ? static_cast<uint32_t>(ExpansionOf(tables_, c.info).size()) : 1;
    pos += c.size;
  }
  const uint32_t left = run_.size - run_.open();
  if (left < codes) return false;
  run_.size -= codes;
  if (run_.signs.any() && run_.IsOnlyMetaspace()) {
    // It is not known any more whether the U+2581 that is left stands for a space.
    if (begin != cursor_.after_sign) return false;
    run_.trailing_space = false;
  }
  return true;
}

// Returns whether a character that may take the general path is a code where it stands: at an end of its
// stretch, or between two that are codes or become several, of which the nearest is no space.
bool SpanDecoder::StandsApart(std::string_view segment, size_t at, CharInfo info) {
  const size_t next = at + utf8::Decode(segment, at).size;
  if (info.code() == 0) return false;
  run_.depends |= at == 0 || next == segment.size();
  const auto is_code = [this](CharInfo neighbour, bool first) {
    return !neighbour.Normalizes() && !neighbour.TakesGeneralPath() && HasCodeAtEnd(tables_, neighbour, first);
  };
  const bool apart_before =
      at == 0 ? EndsApart(before_, image::kDropsOtherLeft) : is_code(run_.previous, false);
  if (!apart_before) return false;
  if (next == segment.size()) return EndsApart(after_, image::kDropsOtherRight);
  const Character c = CharacterAt(tables_, segment, next);
  return c.valid && is_code(c.info, true);
}

// Returns the same of an end of the segment. neighbour: the byte beyond it, which must be a sign; kNoByte where the
// stretch ends: then no Strip may drop the character, as these rules would.
bool SpanDecoder::EndsApart(int neighbour, uint32_t drops) const {
  if (neighbour == kNoByte) return (tables_.config->rules & drops) == 0;
  return run_.signs.Has(static_cast<char>(neighbour));
}

// Returns whether nothing came of the segment, and CR stands before it and LF after it: where it vanished
// in front of the charsmap, they are one cluster there.
bool SpanDecoder::MayJoinLineEnds() {
  const bool empty = run_.size == run_.open() || run_.IsOnlyMetaspace();
  const bool nothing = run_.every_space && run_.front && !run_.has_span() && empty;
  run_.depends |= nothing;
  return nothing && before_ == '\r' && after_ == '\n';
}

}  // namespace rankfeed::fast
