// SPDX-License-Identifier: MIT
// segment/decode_groups.cc: characters of a segment that are read together (decode.h, groups.h):
// what was appended of them one by one is taken back, and what they become is appended.
#include <algorithm>

#include "base/utf8.h"
#include "segment/decode.h"

namespace rankfeed::segment {

using Kind = Outcome::Kind;

// The character at *at is read together with others, or is one that the
// normalizer must be asked about: it goes through that with its group, what stands before it there
// is taken back, and *at is moved after it. Where groups cannot be told, its whole segment does.
Outcome SpanDecoder::Together(std::string_view segment, size_t* at, Cursor* cursor) {
  const size_t begin = groups_.known() ? std::max(groups_.Begin(segment, *at), after_sign_) : 0;
  if (begin < cursor->at || (begin == cursor->at && skipped_ != 0)) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  // A mark that begins a group may be in one cluster with the byte before it.
  const bool marked = BeginsWithMark(segment, begin);
  if (marked && (begin != 0 || before_ != kNoByte)) return Outcome::General(RANKFEED_REASON_CONTEXT);
  // What runs of white space are told by.
  if (begin != 0 && (InfoBefore(segment, begin) & image::kCharGeneralPath) != 0) {
    return Outcome::General(RANKFEED_REASON_CHARACTER);
  }
  const bool taken_back = groups_.known() && TakeBackTo(segment, begin, *at);
  if (!taken_back) return AsWhole(segment, groups_.known() ? begin : *at);
  depends_ |= marked;
  const uint32_t size = run_.size, last = cursor->last;
  const bool was_cut = begin != *at && size == run_.open();
  const CharacterGroups::Extent extent =
      groups_.ExtentFrom(segment, begin, /*first=*/begin == after_sign_);
  Outcome outcome = AppendTogether(segment, begin, extent, cursor);
  // Whether a space came before what vanished is not known any more, but where a code did, or nothing,
  // or one came of the group.
  if (outcome.kind == Kind::kSearch && run_.size == size && begin != *at) {
    const uint32_t left = size - run_.open();
    const bool after_code = left > 1 || (left == 1 && run_.codes[run_.open()] != metaspace_);
    const bool begins = (front_ && begin == 0) ||
                        (begin != cursor->at && skip_at_ == segment.data() + begin);
    const bool known = begins || (after_code && !signs_.any());
    if (!known) return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  if (outcome.kind == Kind::kSearch && was_cut && !MayBeginAfter(last, size)) {
    if (before_cut_.text == segment.data() + begin) {
      TakeBackTo(before_cut_);
      outcome = AppendTogether(segment, begin, extent, cursor);
    } else {
      return AsWhole(segment, begin);
    }
  }
  *at = extent.end;
  return outcome;
}

// Gives the segment to the normalizer, where all of it is there and nothing from `begin` on, up to
// which it was read, keeps it from that.
Outcome SpanDecoder::AsWhole(std::string_view segment, size_t begin) {
  const rankfeed_reason reason =
      NotNormalizable({segment.data() + begin, segment.size() - begin});
  if (reason != RANKFEED_REASON_NONE) return Outcome::General(reason);
  if (!front_) return Outcome::General(RANKFEED_REASON_CONTEXT);
  TakeBack();
  return {Kind::kNormalize};
}

// Appends what the group becomes.
Outcome SpanDecoder::AppendTogether(std::string_view segment, size_t begin,
                                    CharacterGroups::Extent extent, Cursor* cursor) {
  if (symbols_.MayEndAt(segment, begin)) return Outcome::General(RANKFEED_REASON_ADDED_TOKEN);
  std::span<const uint16_t> elements;
  const Outcome outcome =
      ReadGroup({segment.data() + begin, extent.end - begin}, extent.leaves, &elements);
  if (outcome.kind != Kind::kSearch) return outcome;
  return AppendElements(elements, segment, begin, extent.end, cursor);
}

// Whether the character there is a mark of clusters, as only a group at the begin of a segment, or
// after a sign, begins with.
bool SpanDecoder::BeginsWithMark(std::string_view segment, size_t begin) const {
  const uint32_t info = tables_.char_info[utf8::DecodeInline(segment, begin).code_point];
  return model_.huggingface() && (info & image::kClusterMarks) != 0;
}

// What a group becomes, to *elements, which stay until the next. leaves: as in
// CharacterGroups::Extent.
Outcome SpanDecoder::ReadGroup(std::string_view group, bool leaves,
                               std::span<const uint16_t>* elements) {
  if (const KnownGroups::Entry* const known = known_groups_.Find(group)) {
    *elements = {known->codes, known->count};
    return {};
  }
  if (leaves) return Outcome::General(RANKFEED_REASON_CHARACTER);
  const Outcome outcome = NormalizeGroup(group, elements);
  if (outcome.kind == Kind::kSearch) known_groups_.Keep(group, *elements);
  return outcome;
}

// Whether a span may begin with what a group became, codes[at] first. The span before it was ended
// for the sake of the group's first character, which that may not be. last_in_batch_before:
// Cursor::last.
bool SpanDecoder::MayBeginAfter(uint32_t last_in_batch_before, uint32_t at) const {
  const uint32_t first = run_.codes[at];
  const bool in_batch = run_.begins[first_count_] < at;
  // If nothing was in the batch before either, what stood before it vanished.
  if (!in_batch && front_) return true;
  const uint32_t last = in_batch ? run_.codes[at - 1] : last_in_batch_before;
  // A U+2581 that a space follows is no word.
  if (first == metaspace_) return every_space_ || last != metaspace_;
  return MayEndBetweenCodes(last, first);
}

// Whether a span may end between two codes.
bool SpanDecoder::MayEndBetweenCodes(uint32_t last, uint32_t first) const {
  return !image::Spanned(run_.pairs, last, first) &&
         (model_.IsPieceCode(last) || model_.IsPieceCode(first));
}

// Takes all back that was appended since.
void SpanDecoder::TakeBackTo(const OpenSpan& open) {
  run_.size = open.size;
  run_.count = open.count;
  run_.resume = open.resume;
  skip_at_ = open.skip_at;
  skip_ = open.skip;
  group_end_ = open.group_end;
  trailing_space_ = open.trailing_space;
  word_first_ = open.word_first;
  at_front_ = open.at_front;
}

// Takes the characters [begin, at) of the segment back, which were appended last. False if it is
// not known what the open span was before them.
bool SpanDecoder::TakeBackTo(std::string_view segment, size_t begin, size_t at) {
  const char* const text = segment.data() + begin;
  if (begin == at) return true;
  // Of what holds spaces the last two are known, each from its begin on.
  for (const OpenSpan& before : {before_space_, before_last_space_}) {
    if (before.text == nullptr || before.text < text) continue;
    at = static_cast<size_t>(before.text - segment.data());
    TakeBackTo(before);
  }
  if (begin == at) return true;
  uint32_t codes = 0;
  for (size_t pos = begin; pos < at;) {
    const utf8::Decoded c = utf8::DecodeInline(segment, pos);
    const uint32_t info = tables_.char_info[c.code_point];
    if ((info & image::kCharSpace) != 0) return false;
    const bool expands = (info & image::kCharExpands) != 0;
    codes += expands ? ExpansionCount(run_.expansions + (info & image::kCharCodeMask)) : 1;
    pos += c.size;
  }
  const uint32_t left = run_.size - run_.open();
  if (left < codes) return false;
  if (signs_.any() && left == codes + 1 && run_.codes[run_.open()] == metaspace_) {
    // What a U+2581 that is left stands for is not known any more, but at the begin, or if noted.
    const bool begins = begin == after_sign_ && (begin == 0 || begin != cursor_.at);
    if (!begins && at_space_ != text) return false;
    trailing_space_ = !begins && at_space_trails_;
  }
  run_.size -= codes;
  return true;
}

// Appends what a group becomes, but for the first elements that the cursor says were.
Outcome SpanDecoder::AppendElements(std::span<const uint16_t> elements, std::string_view segment,
                                    size_t begin, size_t end, Cursor* cursor) {
  if (leaves_nothing_ && begin == 0 && elements.empty()) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  // Each space begins a span with a code of its own.
  if (room() < 2 * elements.size() + 2 * kCharRoom) {
    return Full(segment, begin, cursor);
  }
  AddElements(elements, segment.data() + begin, cursor->skip, static_cast<uint32_t>(end));
  cursor->skip = 0;
  run_.previous = image::kCharUnknown | image::kCharNormalizes;  // nothing joins a group
  ForgetSpaces();
  return {};
}

}  // namespace rankfeed::segment
