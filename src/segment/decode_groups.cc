// SPDX-License-Identifier: MIT
// segment/decode_groups.cc: characters of a segment that are read together (decode.h, groups.h):
// what was appended of them one by one is taken back, and what they become is appended.
#include <algorithm>

#include "base/utf8.h"
#include "segment/decode.h"

namespace rankfeed::segment {

using Kind = Outcome::Kind;

// The character at *at, of c_size bytes, is read together with others, or is one that the
// normalizer must be asked about: it goes through that with its group, what stands before it there
// is taken back, and *at is moved behind it. Where groups cannot be told, its whole segment does.
Outcome SpanDecoder::Together(std::string_view segment, size_t* at, size_t c_size, Cursor* cursor) {
  const size_t begin = groups_.known() ? groups_.Begin(segment, *at) : 0;
  const size_t end = groups_.known() ? groups_.End(segment, *at + c_size) : segment.size();
  // A mark at the begin is in one cluster with the separator before it.
  const bool joins_separator =
      begin == 0 && model_.huggingface() &&
      (tables_.char_info[utf8::Decode(segment, 0).code_point] & image::kClusterMarks) != 0;
  const bool resumed = begin < cursor->at || (begin == cursor->at && skipped_ != 0);
  if (joins_separator || resumed) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  // What runs of white space are told by.
  if (begin != 0 && (InfoBefore(segment, begin) & image::kCharGeneralPath) != 0) {
    return Outcome::General(RANKFEED_REASON_CHARACTER);
  }
  const bool taken_back = groups_.known() && TakeBackTo(segment, begin, *at);
  const uint32_t size = run_.size;
  const bool was_cut = taken_back && begin != 0 && begin != *at && size == run_.open() && !InPart();
  Outcome outcome;
  std::optional<std::span<const uint16_t>> known;
  if (taken_back) known = KnownElements({segment.data() + begin, end - begin});
  if (known.has_value()) {
    outcome = AppendElements(*known, segment, begin, end, cursor);
  } else if (!taken_back || !AppendAlone(segment, begin, end)) {
    const size_t from = groups_.known() ? begin : *at;
    const rankfeed_reason reason = NotNormalizable({segment.data() + from, end - from});
    if (reason != RANKFEED_REASON_NONE) return Outcome::General(reason);
    if (!taken_back) {
      if (!front_) return Outcome::General(RANKFEED_REASON_CONTEXT);
      TakeBack();
      return {Kind::kNormalize};
    }
    outcome = AppendGroup(segment, begin, end, cursor);
  }
  // Whether a space came before what vanished is not known any more.
  if (outcome.kind == Kind::kSearch && run_.size == size && begin != *at) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  if (outcome.kind == Kind::kSearch && was_cut && !MayBeginAt(segment, begin, size)) {
    if (!front_) return Outcome::General(RANKFEED_REASON_CONTEXT);
    TakeBack();
    return {Kind::kNormalize};
  }
  *at = end;
  return outcome;
}

// Whether a span may begin with what a group that begins at `begin` became, codes[at] first. The
// span before it was ended for the sake of the group's first character, which that may not be.
bool SpanDecoder::MayBeginAt(std::string_view segment, size_t begin, uint32_t at) const {
  const uint32_t first = run_.codes[at];
  if (first == metaspace_) return true;
  uint32_t last;
  if (run_.begins[first_count_] < at) {
    last = run_.codes[at - 1];
  } else if (front_) {
    return true;  // what stood before it vanished
  } else {        // in the batch before
    const uint32_t info = InfoBefore(segment, begin);
    if ((info & (image::kCharExpands | image::kCharNormalizes)) != 0) return false;
    last = info & image::kCharCodeMask;
  }
  return !image::Spanned(run_.pairs, last, first) &&
         (model_.IsPieceCode(last) || model_.IsPieceCode(first));
}

// What a group becomes, if that is known.
std::optional<std::span<const uint16_t>> SpanDecoder::KnownElements(std::string_view group) const {
  const auto of = [](const auto* entry) -> std::optional<std::span<const uint16_t>> {
    if (entry == nullptr) return std::nullopt;
    return std::span<const uint16_t>(entry->codes, entry->count);
  };
  return group.size() <= KnownGroups::kMaxGroup ? of(known_groups_.Find(group))
                                                : of(known_long_groups_.Find(group));
}

void SpanDecoder::KeepElements(std::string_view group, std::span<const uint16_t> elements) {
  group.size() <= KnownGroups::kMaxGroup ? known_groups_.Keep(group, elements)
                                         : known_long_groups_.Keep(group, elements);
}

// Takes the characters [begin, at) of the segment back, which were appended last. False if it is
// not known what the open span was before them.
bool SpanDecoder::TakeBackTo(std::string_view segment, size_t begin, size_t at) {
  const char* const text = segment.data() + begin;
  if (begin == at) return true;
  if (before_space_.text == text) {
    ForgetSame(before_space_.count);
    run_.size = before_space_.size;
    run_.count = before_space_.count;
    run_.resume = before_space_.resume;
    skip_at_ = before_space_.skip_at;
    skip_ = before_space_.skip;
    group_end_ = before_space_.group_end;
    trailing_space_ = before_space_.trailing_space;
    word_first_ = before_space_.word_first;
    continues_ = before_space_.continues;
    at_front_ = before_space_.at_front;
    return true;
  }
  uint32_t codes = 0;
  for (size_t pos = begin; pos < at;) {
    const utf8::Decoded c = utf8::Decode(segment, pos);
    const uint32_t info = tables_.char_info[c.code_point];
    if ((info & image::kCharSpace) != 0 || IsReplaced(info)) return false;
    const uint16_t* const list = run_.expansions + (info & image::kCharCodeMask);
    codes += (info & image::kCharExpands) != 0 ? ExpansionCount(list) : 1;
    pos += c.size;
  }
  const uint32_t left = run_.size - run_.open();
  // Whether a U+2581 that would be left stands for a space is not known any more.
  if (left < codes || (isolates_ && left == codes + 1)) return false;
  run_.size -= codes;
  return true;
}

// Appends the characters of a group of which no more is known to be left than what they are on
// their own. False if there are none such, or is no room.
bool SpanDecoder::AppendAlone(std::string_view segment, size_t begin, size_t end) {
  const char* const text = segment.data() + begin;
  uint32_t infos[CharacterGroups::kMaxAlone];
  const uint32_t count = groups_.Alone({text, end - begin}, infos);
  if (count == 0 || room() < (count + 1) * 2 * kCharRoom) return false;
  const auto size_of = [this](uint32_t info) {
    if ((info & image::kCharExpands) == 0) return uint32_t{1};
    return ExpansionCount(run_.expansions + (info & image::kCharCodeMask));
  };
  if (leaves_nothing_ && begin == 0 &&
      std::all_of(infos, infos + count, [&](uint32_t info) { return size_of(info) == 0; })) {
    return false;
  }
  uint32_t elements = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if ((infos[i] & image::kCharExpands) != 0) {
      AddExpansion(infos[i], text, 0, elements, static_cast<uint32_t>(end));
      elements += size_of(infos[i]);
    } else if ((infos[i] & image::kCharSpace) != 0) {
      AppendNormalized(' ', text, ++elements, static_cast<uint32_t>(end));
    } else {
      trailing_space_ = false;
      Add(infos[i]);
      ++elements;
    }
  }
  run_.previous = image::kCharUnknown | image::kCharNormalizes;  // nothing joins a group
  before_space_ = {};
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
  AddElements(elements, segment.data() + begin, cursor->skip, 0, static_cast<uint32_t>(end));
  cursor->skip = 0;
  run_.previous = image::kCharUnknown | image::kCharNormalizes;  // nothing joins a group
  before_space_ = {};
  return {};
}

}  // namespace rankfeed::segment
