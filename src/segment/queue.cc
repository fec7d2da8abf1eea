// SPDX-License-Identifier: MIT
// segment/queue.cc: texts to runs of segments, see queue.h.
#include "segment/queue.h"

#include <algorithm>

#include "base/utf8.h"
#include "segment/groups.h"
#include "segment/spans.h"
#include "unicode/properties.h"

namespace rankfeed::segment {

static std::string_view View(const rankfeed_text& text) {
  return {text.data, text.size};
}

// What waits moves to the front.
void SegmentQueue::Compact() {
  for (uint32_t* of : {scratch_.segments.begins, scratch_.segments.ends}) {
    std::copy(of + head_, of + tail_, of);
  }
  std::copy(scratch_.runs + first_run_, scratch_.runs + run_count_, scratch_.runs);
  run_count_ -= first_run_;
  first_run_ = 0;
  for (uint32_t r = 0; r < run_count_; ++r) {
    SegmentRun& run = scratch_.runs[r];
    run.begin = begin(run);
    run.end = end(run);
  }
  tail_ -= head_;
  head_ = 0;
}

void SegmentQueue::Fill(uint32_t wanted) {
  if ((head_ | first_run_) != 0) Compact();
  while (tail_ < wanted && run_count_ < kMaxRuns) {
    if (scanning_) {
      ScanBlock();
    } else if (split_.has_value()) {
      NextPart();
    } else if (next_ != texts_.size()) {
      BeginText();
    } else {
      break;
    }
  }
}

void SegmentQueue::BeginText() {
  text_ = View(texts_[next_++]);
  // Of a text of several blocks nothing may go on before the last one is looked at.
  const bool look_first = added_ != nullptr && (text_.size() > SegmentScanner::kBlockBytes ||
                                                !added_->filter->has_stop_bytes());
  if (look_first && added_->filter->MayOccurIn(text_)) return BeginSplit();
  OpenStretch(text_, SegmentRun::kBeginsText);
  look_later_ = added_ != nullptr && !look_first;
}

void SegmentQueue::BeginSplit() {
  Add({.stretch = text_, .begin = tail_, .end = tail_, .marks = SegmentRun::kBeginsText});
  split_.emplace(added_->Find(text_));
}

void SegmentQueue::NextPart() {
  if (split_->pending.token != nullptr) {
    return AddToken(&Add({.stretch = {}, .begin = tail_, .end = tail_}));
  }
  if (split_->last) {
    Add({.stretch = text_, .begin = tail_, .end = tail_, .marks = SegmentRun::kEndsText});
    split_.reset();
    return;
  }
  const size_t begin = split_->done;
  general::AddedMatch& match = split_->pending;
  split_->last = !split_->matches.Next(&match);
  const size_t end = split_->last ? text_.size() : match.begin;
  split_->done = match.end;
  if (begin >= end) return;
  OpenStretch({text_.data() + begin, end - begin}, 0);
}

// The token that comes next is after the segments of that run.
void SegmentQueue::AddToken(SegmentRun* run) {
  general::AddedMatch& match = split_->pending;
  run->token = match.token;
  run->token_begin = match.begin;
  run->token_end = match.end;
  match.token = nullptr;
}

void SegmentQueue::OpenStretch(std::string_view stretch, uint8_t marks) {
  begin_marks_ = static_cast<uint8_t>(marks | SegmentRun::kBeginsStretch);
  scanning_ = true;
  if (looks_at_begin_) [[unlikely]]
    return OpenLooking(stretch);
  stretch_ = stretch;
  scanner_.Start(stretch, true);
}

void SegmentQueue::OpenLooking(std::string_view stretch) {
  const Opening opening = OpeningOf(stretch);
  stretch_ = {stretch.data() + opening.begin, opening.size};
  loses_stop_byte_ = stretch_.size() != stretch.size() && !split_.has_value() && LosesStopByte();
  reason_ = opening.reason;
  look_for_normalized_ = !normalized_tokens_.empty();
  scanner_.Start(stretch_, opening.prefixed);
  if (reason_ == RANKFEED_REASON_NONE && look_for_normalized_ &&
      stretch_.size() > SegmentScanner::kBlockBytes) {
    look_for_normalized_ = false;
    if (normalized_tokens_.MayOccurIn(stretch_)) reason_ = RANKFEED_REASON_ADDED_TOKEN;
  }
  if (reason_ != RANKFEED_REASON_NONE) scanner_.Stop();
}

SegmentQueue::Opening SegmentQueue::OpeningOf(std::string_view stretch) const {
  const uint32_t rules = model_.segment.config->rules;
  const std::string_view left = Stripped(stretch);
  Opening opening{.begin = static_cast<uint32_t>(left.data() - stretch.data()),
                  .size = static_cast<uint32_t>(left.size())};
  const bool at_text_begin = left.data() == text_.data();
  opening.prefixed = (rules & image::kPrependRules) == 0 ||
                     ((rules & image::kPrependOnlyFirst) != 0 && at_text_begin);
  opening.reason = ReasonAtBegin(left, &opening.prefixed);
  if (((rules & image::kDropsOtherLeft) != 0 && LosesOtherSpace(left, true)) ||
      ((rules & image::kDropsOtherRight) != 0 && LosesOtherSpace(left, false))) [[unlikely]] {
    opening.reason = RANKFEED_REASON_CONTEXT;
  }
  return opening;
}

// Whether a text loses the character, if it begins with that: white space, or in SentencePiece
// parity what becomes one space.
bool SegmentQueue::StripsLeft(const utf8::Decoded& c) const {
  if (model_.huggingface()) return unicode::IsWhiteSpace(c.code_point);
  const bool ascii = c.code_point < 0x80;
  if (ascii && separators_.Has(static_cast<uint8_t>(c.code_point))) return true;
  constexpr uint32_t kSpace = image::kCharSpace | image::kCharExpands | image::kCharNormalizes;
  const uint32_t info = model_.segment.char_info[c.code_point];
  // Where a longer key begins with it, what follows it decides.
  return c.valid && (info & kSpace) == image::kCharSpace && image::JoiningMarks(info) == 0;
}

// Without the white space that a Strip takes off before anything else is done.
std::string_view SegmentQueue::Stripped(std::string_view stretch) const {
  const uint32_t rules = model_.segment.config->rules;
  while ((rules & image::kStripLeft) != 0 && !stretch.empty()) {
    const utf8::Decoded c = utf8::DecodeInline(stretch, 0);
    if (!StripsLeft(c)) break;
    stretch.remove_prefix(c.size);
  }
  while ((rules & image::kStripRight) != 0 && !stretch.empty()) {
    size_t last = stretch.size() - 1;
    while (last > 0 && stretch.size() - last < 3 && utf8::IsContinuation(stretch[last])) --last;
    const utf8::Decoded c = utf8::DecodeInline(stretch, last);
    if (last + c.size != stretch.size() || !unicode::IsWhiteSpace(c.code_point)) break;
    stretch.remove_suffix(c.size);
  }
  return stretch;
}

// Whether among what was stripped of the text is a byte that added tokens begin with.
bool SegmentQueue::LosesStopByte() const {
  const auto has = [this](const char* from, const char* to) {
    return std::any_of(from, to,
                       [this](char byte) { return stop_bytes_.Has(static_cast<uint8_t>(byte)); });
  };
  const char* const end = stretch_.data() + stretch_.size();
  return has(text_.data(), stretch_.data()) || has(end, text_.data() + text_.size());
}

// Where only the begin of a text gets a U+2581 (HuggingFace), or in SentencePiece parity where
// spaces are counted or those there get none, what the first character becomes decides whether it
// gets one; if that is not itself, nor begins with a space, the general path finds out. *prefixed:
// false where it needs none. Where HuggingFace counts spaces, a U+2581 that was put in front of
// one, or of nothing, is taken back (segment/decode.h).
rankfeed_reason SegmentQueue::ReasonAtBegin(std::string_view stretch, bool* prefixed) const {
  constexpr uint32_t kCounts = image::kEverySpaceIsWord | image::kPrependsNever;
  const SegmentTables& tables = model_.segment;
  const bool at_text_begin = stretch.data() == text_.data();
  const uint32_t counts = !model_.huggingface() ? kCounts
                          : at_text_begin       ? uint32_t{image::kPrependOnlyFirst}
                                                : 0;
  if ((tables.config->rules & counts) == 0 || stretch.empty()) return RANKFEED_REASON_NONE;
  const utf8::Decoded first = utf8::DecodeInline(stretch, 0);
  const bool ascii = first.code_point < 0x80;
  if (ascii && separators_.Has(static_cast<uint8_t>(first.code_point))) {
    return RANKFEED_REASON_NONE;  // as any separator
  }
  const uint32_t info = tables.char_info[first.code_point];
  // A Prepend character begins no key, so it stays what it is alone, whatever follows it.
  constexpr uint32_t kMore = image::kCharSpace | image::kCharGeneralPath | image::kCharExpands |
                             image::kCharMarks | image::kCharBases;
  const bool prepend = model_.props.present() && (model_.props[first.code_point] &
                                                  image::kGraphemeMask) == image::kGraphemePrepend;
  if (first.valid && prepend && (info & kMore) == 0) return RANKFEED_REASON_NONE;
  constexpr uint32_t kOther = image::kCharNormalizes | image::kCharSpace | image::kCharGeneralPath;
  if (BeginsWithSpace(stretch, first)) {
    *prefixed = false;
    return RANKFEED_REASON_NONE;
  }
  bool begins_otherwise = (info & kOther) != 0;
  if (first.size < stretch.size()) {
    // Together with the next it may become anything, or with the one after that if it vanishes.
    constexpr uint32_t kReplaced = image::kMarkInPattern | image::kMarkAfterKey;
    constexpr uint32_t kMayVanish = image::kCharNormalizes | image::kCharMarks;
    const uint32_t next = tables.char_info[utf8::Decode(stretch, first.size).code_point];
    const bool vanishes =
        (next & kMayVanish) != 0 ||
        ((next & image::kCharExpands) != 0 &&
         ExpansionCount(tables.expansions.data() + (next & image::kCharCodeMask)) == 0);
    const uint32_t joining = image::JoiningMarks(info) & kReplaced;
    begins_otherwise |= (joining & next) != 0 || (joining != 0 && vanishes);
  }
  if ((info & image::kCharExpands) != 0) {
    const uint16_t* const list = tables.expansions.data() + (info & image::kCharCodeMask);
    begins_otherwise = list[0] == 0 || list[1] == 0;
  }
  return begins_otherwise ? RANKFEED_REASON_CONTEXT : RANKFEED_REASON_NONE;
}

// Whether a Strip that comes after other steps may drop white space at an end of a stretch that is a
// character elsewhere.
bool SegmentQueue::LosesOtherSpace(std::string_view stretch, bool left) const {
  for (std::string_view rest = stretch; !rest.empty();) {
    const size_t at = left ? 0 : CharacterGroups::Before(rest, rest.size());
    const utf8::Decoded c = utf8::Decode(rest, at);
    const End end = EndOf(c, left);
    if (end != End::kAskNext) return end == End::kDrops;
    left ? rest.remove_prefix(c.size) : rest.remove_suffix(rest.size() - at);
  }
  return false;
}

// What becomes of a stretch that ends with that character, after what vanishes or may do so.
SegmentQueue::End SegmentQueue::EndOf(const utf8::Decoded& c, bool left) const {
  const SegmentTables& tables = model_.segment;
  const uint32_t info = tables.char_info[c.code_point];
  constexpr uint32_t kPlain = image::kCharSpace | image::kCharExpands | image::kCharNormalizes |
                              image::kCharGeneralPath | image::kCharMarks;
  const bool ascii = c.code_point < 0x80;
  if (ascii && separators_.Has(static_cast<uint8_t>(c.code_point))) return End::kAskNext;
  if ((info & (image::kCharSpace | image::kCharExpands)) == 0 &&
      unicode::IsWhiteSpace(c.code_point)) {
    return End::kDrops;
  }
  if ((info & kPlain) == 0) return End::kStays;
  constexpr uint32_t kOther = image::kCharNormalizes | image::kCharGeneralPath | image::kCharMarks;
  if ((info & image::kCharExpands) == 0 || (info & kOther) != 0) return End::kAskNext;
  const uint16_t* const list = tables.expansions.data() + (info & image::kCharCodeMask);
  const uint32_t count = ExpansionCount(list);
  return count != 0 && list[left ? 1 : count] != 0 ? End::kStays : End::kAskNext;
}

// Whether a stretch begins with a character, `first`, that becomes a space, or several characters
// after one, in this company too.
bool SegmentQueue::BeginsWithSpace(std::string_view stretch, const utf8::Decoded& first) const {
  const SegmentTables& tables = model_.segment;
  const auto list = [&](uint32_t info) {
    return tables.expansions.data() + (info & image::kCharCodeMask);
  };
  constexpr uint32_t kNever = image::kCharNormalizes | image::kCharGeneralPath | image::kCharMarks;
  const uint32_t info = tables.char_info[first.code_point];
  const bool space =
      model_.huggingface() && first.valid && (info & image::kCharSpace) != 0 &&
      (info & kNever) == 0 &&
      ((info & image::kCharExpands) == 0 || (list(info)[0] != 0 && list(info)[1] == 0));
  if (!space || first.size == stretch.size()) return space;
  const utf8::Decoded next = utf8::Decode(stretch, first.size);
  const uint32_t after = tables.char_info[next.code_point];
  const bool vanishes = (after & image::kCharExpands) != 0 && list(after)[0] == 0;
  return next.valid && (after & kNever) == 0 && !vanishes;
}

void SegmentQueue::ScanBlock() {
  const uint32_t begin = tail_;
  const auto beyond =
      static_cast<size_t>(text_.data() + text_.size() - (stretch_.data() + stretch_.size()));
  SegmentRun& run =
      Add({.stretch = stretch_,
           .begin = tail_,
           .end = tail_,
           .marks = begin_marks_,
           .beyond = static_cast<uint8_t>(std::min<size_t>(beyond, SegmentRun::kBeyond)),
           .reason = reason_});
  begin_marks_ = 0;
  if (!scanner_.done()) run.end += scanner_.Next(scratch_.segments.From(tail_));
  tail_ = run.end;
  scanning_ = !scanner_.done();
  if (scanning_) return;
  if (scanner_.stopped() || loses_stop_byte_ || reason_ != RANKFEED_REASON_NONE) [[unlikely]] {
    loses_stop_byte_ = false;
    if (look_later_ && added_->filter->MayOccurIn(text_)) {
      look_later_ = false;
      tail_ = begin;
      --run_count_;
      return BeginSplit();
    }
    if (look_for_normalized_ && normalized_tokens_.MayOccurIn(stretch_)) {
      run.reason = RANKFEED_REASON_ADDED_TOKEN;
      tail_ = run.end = begin;
    }
    leaving_ |= run.reason != RANKFEED_REASON_NONE;
  }
  look_later_ = false;
  run.marks |= SegmentRun::kEndsStretch;
  if (split_.has_value()) {
    AddToken(&run);
  } else {
    run.marks |= SegmentRun::kEndsText;
  }
}

uint32_t SegmentQueue::Leave(uint32_t number, uint32_t i, rankfeed_reason reason, bool whole) {
  SegmentRun& run = scratch_.runs[first_run_ + number];
  leaving_ = true;
  Bytes part;
  if (parts_ && !whole && run_count_ + 2 <= kMaxRuns && FindPart(run, i, &part)) {
    return LeaveInPart(number, part, reason);
  }
  run.reason = reason;
  return begin(run);
}

// What can be cut out of a stretch around waiting segment i, of a run before which all may be done.
bool SegmentQueue::FindPart(const SegmentRun& run, uint32_t i, Bytes* part) {
  const Segments all = segments();
  const std::string_view stretch = run.stretch;
  const auto size = static_cast<uint32_t>(stretch.size());
  const uint32_t done = all.begin(begin(run));
  const uint32_t cut = cuts_.FindLast(stretch, done < 2 ? 0 : done - 2, all.begin(i));
  if (cut == Cuts::kNone && (run.marks & SegmentRun::kBeginsStretch) == 0) return false;
  part->begin = cut == Cuts::kNone ? 0 : cuts_.After(cut);
  const uint32_t least = std::max(all.ends[i], part->begin + kLeastPart);
  part->end = std::min(size, least < size ? cuts_.FindFirst(stretch, least, size) : size);
  return true;
}

// A run becomes three: of what is before the part, of the part, of what is after it.
uint32_t SegmentQueue::LeaveInPart(uint32_t number, Bytes part, rankfeed_reason reason) {
  SegmentRun* const before = scratch_.runs + first_run_ + number;
  const std::string_view stretch = before->stretch;
  std::copy_backward(before + 1, scratch_.runs + run_count_, scratch_.runs + run_count_ + 2);
  run_count_ += 2;
  const uint32_t end = before->end;
  const auto from = [&](uint32_t segment, uint32_t byte) {
    while (segment != end && scratch_.segments.begin(segment) < byte) ++segment;
    return segment;
  };
  const uint32_t first = from(std::max(before->begin, head_), part.begin);
  constexpr uint8_t kBegins = SegmentRun::kBeginsText | SegmentRun::kBeginsStretch;
  const auto ends = static_cast<uint8_t>(before->marks & ~kBegins);
  before[1] = {.stretch = {stretch.data() + part.begin, part.end - part.begin},
               .begin = first,
               .end = first,
               .marks = SegmentRun::kPart,
               .reason = reason};
  before[2] = *before;
  before[2].begin = from(first, part.end);
  before[2].marks = ends;
  before->end = first;
  before->marks &= kBegins;
  before->token = nullptr;
  SkipTo(before + 2, part.end);
  return first - head_;
}

// The same of the blocks after that run, which may have been scanned, or not yet.
void SegmentQueue::SkipTo(SegmentRun* rest, uint32_t byte) {
  const SegmentRun* const last = scratch_.runs + run_count_ - 1;
  SegmentRun* run = rest;
  while ((run->marks & SegmentRun::kEndsStretch) == 0 && run != last) {
    ++run;
    while (run->begin != run->end && scratch_.segments.begin(run->begin) < byte) ++run->begin;
  }
  // The segments that are left lie in a row.
  const SegmentRun* full = rest;
  while (full != run && full->begin == full->end) ++full;
  for (; rest != full; ++rest) rest->begin = rest->end = full->begin;
  if ((run->marks & SegmentRun::kEndsStretch) != 0) return;
  if (byte != run->stretch.size()) return scanner_.SkipTo(byte);
  scanner_.Stop();
  scanning_ = false;
  run->marks |= SegmentRun::kEndsStretch;
  if (!split_.has_value()) run->marks |= SegmentRun::kEndsText;
}

uint32_t SegmentQueue::BeforeKnownReason(uint32_t count) {
  for (uint32_t r = first_run_; r < run_count_; ++r) {
    const SegmentRun& run = scratch_.runs[r];
    if (run.reason != RANKFEED_REASON_NONE) return std::min(count, begin(run));
  }
  leaving_ = false;
  return count;
}

void SegmentQueue::DropStretch() {
  for (;;) {
    head_ = std::max(head_, front().end);
    if ((front().marks & SegmentRun::kEndsStretch) != 0 || first_run_ + 1 == run_count_) break;
    ++first_run_;
  }
  SegmentRun& last = front();
  if ((last.marks & SegmentRun::kEndsStretch) == 0) {  // it is still being scanned
    scanner_.Stop();
    scanning_ = false;
    last.marks = split_.has_value() ? 0 : SegmentRun::kEndsText;
  }
  last.begin = last.end = head_;
  last.marks &= SegmentRun::kEndsText;
  last.reason = RANKFEED_REASON_NONE;
}

void SegmentQueue::Fetch(Place* place) const {
  constexpr uint32_t kLines = 16;  // of 64 bytes: about what a look-up is for
  for (uint32_t lines = 0; place->text < texts_.size(); ++place->text, place->at = 0) {
    const rankfeed_text& text = texts_[place->text];
    for (; place->at < text.size; place->at += 64) {
      if (lines++ == kLines) return;
      __builtin_prefetch(text.data + place->at, 0, 2);  // not to the first level cache
    }
  }
}

}  // namespace rankfeed::segment
