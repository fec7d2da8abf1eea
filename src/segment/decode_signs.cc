// SPDX-License-Identifier: MIT
// segment/decode_signs.cc: segments with signs in them (signs.h), and what characters and groups
// become that holds signs: each ends words where it must.
//
// Signs of ASCII stand in a segment where they begin it, where they may be read with what follows,
// and next to other signs of a run. Whether a word ends behind a run is asked of what comes next:
// that is a code that is no sign, or nothing is appended before it.
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
      const Outcome outcome = DecodeSigns(segment, &pos, cursor);
      if (outcome.kind != Kind::kSearch) return outcome;
      continue;
    }
    const std::string_view part{segment.data(), EndOfAlike(segment, pos, cursor)};
    run_.end = part.data() + part.size();
    after_ = part.size() == segment.size() ? after : static_cast<unsigned char>(*run_.end);
    if (in_run_ != 0) EndRunBefore(part, pos);
    const Outcome outcome = DecodeChars(part, pos, cursor);
    after_ = after;
    if (outcome.kind != Kind::kSearch) return outcome;
    pos = part.size();
  }
  return {};
}

// Where bytes end that are signs of ASCII that may be in one run, or none, as the one at `at` is. A
// batch ends many times in a long row of them.
size_t SpanDecoder::EndOfAlike(std::string_view segment, size_t at, Cursor* cursor) const {
  if (at < cursor->alike_begin || at >= cursor->alike_end) {
    const int run = signs_.RunOf(segment[at]);
    size_t end = at + 1;
    if (run == Signs::kNoRun) {
      while (end != segment.size() && !signs_.Has(segment[end])) ++end;
    } else {
      while (end != segment.size() && signs_.RunOf(segment[end]) == run) ++end;
    }
    cursor->alike_begin = static_cast<uint32_t>(at);
    cursor->alike_end = static_cast<uint32_t>(end);
  }
  return cursor->alike_end;
}

// The same of the sign of ASCII at *at, or those in a row with it that make a word; *at is moved
// on.
Outcome SpanDecoder::DecodeSigns(std::string_view segment, size_t* at, Cursor* cursor) {
  const size_t begin = *at;
  const auto run = static_cast<uint8_t>(signs_.RunOf(segment[begin]));
  size_t end = run != 0 ? EndOfAlike(segment, begin, cursor) : begin + 1;
  const bool more = end != segment.size() && !signs_.Has(segment[end]);
  if (more && signs_.MayJoin(segment, end)) {
    if (end - begin == 1) return JoinedSign(segment, at, cursor);
    --end;
  }
  if (room() < 4 * kCharRoom) return Full(segment, begin, cursor);
  // At the begin the scanner has told that a word begins there.
  if (!(begin == 0 && front_) && BeginSign(run)) {
    run_.resume = segment.data() + begin;
    skip_ = group_end_ = 0;
  }
  if (run != 0) {
    in_run_ = run;
    run_.end = segment.data() + end;
    const Outcome outcome = DecodeChars({segment.data(), end}, begin, cursor);
    if (outcome.kind != Kind::kSearch) return outcome;
  } else {
    const auto sign = static_cast<unsigned char>(segment[begin]);
    run_.previous = tables_.char_info[sign];
    if (AddSign(CodeOfSign(sign), run)) {
      run_.resume = segment.data() + end;
      skip_ = group_end_ = 0;
    }
  }
  trailing_space_ = false;
  behind_sign_ = *at = end;
  return {};
}

// A sign of ASCII that may be read with what follows it: a group. Where it begins the segment, the
// scanner has told that a word begins there, which holds only if it stays what it is, or where one
// begins anyway.
Outcome SpanDecoder::JoinedSign(std::string_view segment, size_t* at, Cursor* cursor) {
  const size_t begin = *at;
  if (!groups_.known()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  bool begins_word = true;
  uint32_t front = 0;
  if (signs_.before() && begin == 0 && front_) {
    begins_word = before_ == kNoByte || (signs_.behind() && signs_.RunOf(before_) == 0);
    if (!begins_word) {
      const auto place = static_cast<size_t>(segment.data() - stretch_.data());
      if (signs_.isolated()) front = groups_.Front(stretch_, place);
      if (front == 0) return Outcome::General(RANKFEED_REASON_CONTEXT);
      begins_word = (front & CharacterGroups::kEndsWord) != 0;
    }
    depends_ = true;
  }
  // What stands before it may be in one cluster with it.
  const bool apart = EndsGroup(run_.previous) ? groups_.MayBegin(segment, begin)
                                              : groups_.EndsBefore(segment, begin);
  if (begin != 0 && !apart) return Outcome::General(RANKFEED_REASON_CONTEXT);
  const std::string_view before_sign{segment.data(), EndOfAlike(segment, begin + 1, cursor)};
  const CharacterGroups::Extent extent = groups_.ExtentFrom(before_sign, begin, /*first=*/true);
  const size_t end = extent.end;
  const std::string_view group{segment.data() + begin, end - begin};
  const KnownGroup known = FindGroup(group);
  std::span<const uint16_t> elements(known.elements, known.count);
  if (known.elements == nullptr) {
    if (extent.leaves) return Outcome::General(RANKFEED_REASON_CHARACTER);
    const Outcome outcome = ReadGroup(group, extent.apart, &elements);
    if (outcome.kind != Kind::kSearch) return outcome;
  }
  if (!begins_word && (elements.empty() || !image::MarksSign(elements[0]))) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  behind_sign_ = *at = end;
  const Outcome outcome = AppendElements(elements, segment, begin, end, cursor);
  // The scanner made a segment of a separator before the sign.
  if ((front & CharacterGroups::kSeparated) != 0) word_first_ = false;
  return outcome;
}

// Before the code of a sign is appended, of that run: whether a word begins with it, of which the
// U+2581 was appended. A space that comes before it may be a word then.
bool SpanDecoder::BeginSignBehind(uint8_t run) {
  spaces_ = true;
  if (!has_words_) BeginWords();
  const bool first = front_ && run_.count == first_count_ && !Closes(run_.size) && !trailing_space_;
  if (first && run != 0) {
    depends_ = true;
    joins_run_ |= signs_.RunOf(before_) == run;
  }
  const bool spaced = trailing_space_;
  trailing_space_ = false;
  if (!signs_.before() || (in_run_ != 0 && in_run_ == run)) return false;
  in_run_ = 0;
  if (spaced && signs_.after_space()) {
    run_.Cut(nullptr);
  } else {
    word_first_ |= first && signs_.after_space();
    Close();
  }
  run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
  Add(metaspace_);
  return true;
}

// Appends that code: whether a word ends with it whatever comes next, of which the U+2581 was
// appended. Of a sign that is taken out the code is that of the U+2581 before it, which stays for
// the word behind.
bool SpanDecoder::AddSign(uint32_t code, uint8_t run) {
  if (code == metaspace_) {
    spaces_ = true;
    return true;
  }
  if (signs_.isolated()) {
    AddWordOfSign(code);
    return true;
  }
  Add(code);
  if (!signs_.behind()) return false;
  if (run != 0) {
    in_run_ = run;
    return false;
  }
  EndRun();
  return true;
}

// The same of one that is a word, which has begun. A text has few different ones: each is searched
// once a batch.
inline void SpanDecoder::AddWordOfSign(uint32_t code) {
  spaces_ = true;
  if (!has_words_) BeginWords();
  const uint32_t span = run_.count;
  Add(code);
  run_.Cut(nullptr);
  Add(metaspace_);
  uint16_t& known = words_of_signs_[code % std::size(words_of_signs_)];
  const auto is_known = [&](std::span<const uint16_t> word) {
    return word.size() == 2 && word[0] == metaspace_ && word[1] == static_cast<uint16_t>(code);
  };
  if (known < span && is_known(RunSpan(known))) {
    scratch_.same[span] = known;
  } else {
    known = static_cast<uint16_t>(span);
  }
}

// Another character, or a word of a sign, comes behind signs.
void SpanDecoder::EndRun() {
  in_run_ = 0;
  spaces_ = true;
  if (!has_words_) BeginWords();
  Close();
  run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
  Add(metaspace_);
}

// The same before the character at `at`, if it becomes codes that are no signs. What holds signs or
// spaces, or nothing, is asked when it is appended.
void SpanDecoder::EndRunBefore(std::string_view segment, size_t at) {
  if (at == segment.size() || signs_.Has(segment[at])) return;
  const utf8::Decoded c = utf8::Decode(segment, at);
  const uint32_t info = tables_.char_info[c.code_point];
  constexpr uint32_t kAsksItself = image::kCharNormalizes | image::kCharSpace;
  if ((info & (kAsksItself | image::JoiningMarks(run_.previous))) != 0) return;
  const uint16_t* const list = run_.expansions + (info & image::kCharCodeMask);
  if ((info & image::kCharExpands) != 0 && ExpansionCount(list) == 0) return;
  EndRun();
  run_.resume = segment.data() + at;
  skip_ = group_end_ = 0;
}

// Whether the segment, which ends here, is part of a run that goes on beside it, or vanishes
// between two: the scanner has told that words end there.
bool SpanDecoder::JoinsRuns(std::string_view segment) {
  const int after = signs_.RunOf(after_);
  const bool nothing = front_ && run_.count == first_count_ && !Closes(run_.size);
  const bool goes_on = in_run_ != 0 ? in_run_ == after : nothing && signs_.RunOf(before_) == after;
  // A sign of ASCII at the end the scanner sees.
  depends_ |= !signs_.Has(segment.back()) && (in_run_ != 0 || nothing);
  return joins_run_ || (after > 0 && goes_on);
}

// As AddElements, where there are signs among them or before them.
void SpanDecoder::AddBesideSigns(std::span<const uint16_t> elements, const char* text,
                                 uint32_t skip, uint32_t before, uint32_t group_end) {
  const auto end = static_cast<uint32_t>(elements.size());
  constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t begin = kNone;  // of the open word among the elements
  for (uint32_t i = skip; i < end; ++i) {
    const uint16_t code = elements[i];
    if (image::MarksSign(code)) {
      const auto run = static_cast<uint8_t>(image::kSign - code);
      if (BeginSign(run)) begin = i;
      if (++i == end) break;
      if (AddSign(elements[i], run)) begin = i + 1;
      continue;
    }
    if (code == 0) {
      in_run_ = 0;
      Close();
      run_.begins[run_.count] = static_cast<uint16_t>(run_.size);
      begin = i + 1;
    } else if (in_run_ != 0) {
      EndRun();
      begin = i;
    }
    Add(code != 0 ? code : metaspace_);
    trailing_space_ = code == 0;
  }
  const bool spaced = trailing_space_;
  if (begin != kNone) EndElements(text, true, before + begin, group_end);
  trailing_space_ = spaced;
}

}  // namespace rankfeed::segment
