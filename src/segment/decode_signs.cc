// SPDX-License-Identifier: MIT
// segment/decode_signs.cc: segments with signs in them (signs.h), and characters and groups that
// become signs: each sign is a word.
//
// A sign of ASCII is in a segment only where it begins that, or where it may be read with what
// follows it.
#include <algorithm>

#include "base/utf8.h"
#include "segment/decode.h"

namespace rankfeed::segment {

using Kind = Outcome::Kind;

// Appends the characters of the segment from pos on.
Outcome SpanDecoder::DecodeBesideSigns(std::string_view segment, size_t pos, Cursor* cursor) {
  const int after = after_;
  while (pos < segment.size()) {
    if (signs_.Has(segment[pos])) {
      const Outcome outcome = DecodeSign(segment, &pos, cursor);
      if (outcome.kind != Kind::kSearch) return outcome;
      continue;
    }
    const std::string_view part{segment.data(), NextSign(segment, pos, cursor)};
    run_.end = part.data() + part.size();
    after_ = part.size() == segment.size() ? after : static_cast<unsigned char>(*run_.end);
    const Outcome outcome = DecodeChars(part, pos, cursor);
    after_ = after;
    if (outcome.kind != Kind::kSearch) return outcome;
    pos = part.size();
  }
  return {};
}

// The first sign of ASCII from `at`, which is none, on, or the end of the segment. A batch may end
// many times before it.
size_t SpanDecoder::NextSign(std::string_view segment, size_t at, Cursor* cursor) const {
  if (at < cursor->no_sign_begin || at >= cursor->no_sign_end) {
    size_t end = at + 1;
    while (end != segment.size() && !signs_.Has(segment[end])) ++end;
    cursor->no_sign_begin = static_cast<uint32_t>(at);
    cursor->no_sign_end = static_cast<uint32_t>(end);
  }
  return cursor->no_sign_end;
}

// Appends the sign of ASCII at *at, perhaps with what is read together with it; *at is moved on.
Outcome SpanDecoder::DecodeSign(std::string_view segment, size_t* at, Cursor* cursor) {
  const size_t begin = *at, end = begin + 1;
  const bool more = end != segment.size() && !signs_.Has(segment[end]);
  if (more && signs_.MayJoin(segment, end)) return JoinedSign(segment, at, cursor);
  if (room() < 4 * kCharRoom) return Full(segment, begin, cursor);
  // At the begin the scanner has determined that a word begins there.
  if (!(begin == 0 && front_)) BeginSign();
  const auto sign = static_cast<unsigned char>(segment[begin]);
  run_.previous = tables_.char_info[sign];
  AddWordOfSign(CodeOf(sign));
  run_.resume = segment.data() + end;
  skip_ = group_end_ = 0;
  trailing_space_ = false;
  after_sign_ = *at = end;
  return {};
}

// A sign of ASCII that may be read with what follows it: a group. Where it begins the segment, the
// scanner has determined that a word begins there, which holds only if it stays what it is, or where
// one begins anyway.
Outcome SpanDecoder::JoinedSign(std::string_view segment, size_t* at, Cursor* cursor) {
  const size_t begin = *at;
  if (!groups_.known()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  bool begins_word = true;
  uint32_t front = 0;
  if (begin == 0 && front_) {
    begins_word = before_ == kNoByte || signs_.Has(static_cast<char>(before_));
    if (!begins_word) {
      front = groups_.Front(stretch_, static_cast<size_t>(segment.data() - stretch_.data()));
      if (front == 0) return Outcome::General(RANKFEED_REASON_CONTEXT);
      begins_word = (front & CharacterGroups::kEndsWord) != 0;
    }
    depends_ = true;
  }
  // The character before it may be in one cluster with it.
  const bool apart = EndsGroup(run_.previous) ? groups_.MayBegin(segment, begin)
                                              : groups_.EndsBefore(segment, begin);
  if (begin != 0 && !apart) return Outcome::General(RANKFEED_REASON_CONTEXT);
  const std::string_view before_sign{segment.data(), NextSign(segment, begin + 1, cursor)};
  const CharacterGroups::Extent extent = groups_.ExtentFrom(before_sign, begin, /*first=*/true);
  const size_t end = extent.end;
  const std::string_view group{segment.data() + begin, end - begin};
  std::span<const uint16_t> elements;
  const Outcome read = ReadGroup(group, extent.leaves, &elements);
  if (read.kind != Kind::kSearch) return read;
  if (!begins_word && (elements.empty() || elements[0] != image::kSign)) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  after_sign_ = *at = end;
  const Outcome outcome = AppendElements(elements, segment, begin, end, cursor);
  // The scanner made a segment of a separator before the sign.
  if ((front & CharacterGroups::kSeparated) != 0) word_first_ = false;
  return outcome;
}

// Begins a word with a sign, whose U+2581 is appended. A space that comes before it may be a word
// then.
void SpanDecoder::BeginSignAfter() {
  spaces_ = true;
  const bool first = front_ && run_.count == first_count_ && !Closes(run_.size) && !trailing_space_;
  const bool spaced = trailing_space_;
  trailing_space_ = false;
  if (spaced && signs_.after_space()) {
    run_.Cut(nullptr);
  } else {
    word_first_ |= first && signs_.after_space();
    Close();
  }
  run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
  Add(metaspace_);
}

// Appends the code of a sign, whose word has begun, and the U+2581 of the next word.
void SpanDecoder::AddWordOfSign(uint32_t code) {
  spaces_ = true;
  Add(code);
  run_.Cut(nullptr);
  Add(metaspace_);
}

// As AddElements, where there are signs among them.
void SpanDecoder::AddBesideSigns(std::span<const uint16_t> elements, const char* text,
                                 uint32_t skip, uint32_t group_end) {
  const auto end = static_cast<uint32_t>(elements.size());
  constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t begin = kNone;  // of the open word among the elements
  for (uint32_t i = skip; i < end; ++i) {
    const uint16_t code = elements[i];
    if (code == image::kSign) {
      BeginSign();
      begin = i;
      if (++i == end) break;
      AddWordOfSign(elements[i]);
      begin = i + 1;
      continue;
    }
    if (code == 0) {
      Close();
      run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
      begin = i + 1;
    }
    Add(code != 0 ? code : metaspace_);
    trailing_space_ = code == 0;
  }
  const bool spaced = trailing_space_;
  if (begin != kNone) EndElements(text, true, begin, group_end);
  trailing_space_ = spaced;
}

}  // namespace rankfeed::segment
