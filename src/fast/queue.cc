// SPDX-License-Identifier: MIT
// fast/queue.cc: texts to runs of segments, see queue.h.
#include "fast/queue.h"

#include <algorithm>
#include <utility>

#include "fast/call.h"

namespace rankfeed::fast {

// Moves what waits to the front.
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

// Opens the next text as one stretch, or splits it where it may hold added tokens.
void SegmentQueue::BeginText() {
  text_ = View(texts_[next_++]);
  // In a text of one block they are looked for after the scan, which sees the bytes that they begin with.
  // Segments of a longer one go on before its end is scanned.
  const bool look_first = added_ != nullptr && (text_.size() > SegmentScanner::kBlockBytes ||
                                                !added_->filter->has_stop_bytes());
  if (look_first && added_->filter->MayOccurIn(text_)) return BeginSplit();
  look_later_ = added_ != nullptr && !look_first;
  OpenStretch(text_, SegmentRun::kBeginsText);
}

void SegmentQueue::BeginSplit() {
  later_ = {};
  Add({.stretch = text_, .begin = tail_, .end = tail_, .marks = SegmentRun::kBeginsText});
  split_.emplace(added_->Find(text_));
}

// Adds the next added token, or opens the stretch before it.
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
  AddedMatch& match = split_->pending;
  split_->last = !split_->matches.Next(&match);
  const size_t end = split_->last ? text_.size() : match.begin;
  split_->done = match.end;
  if (begin >= end) return;
  OpenStretch({text_.data() + begin, end - begin}, 0);
}

// Puts the token that comes next after the segments of that run.
void SegmentQueue::AddToken(SegmentRun* run) {
  AddedMatch& match = split_->pending;
  run->token = match.token;
  run->token_begin = match.begin;
  run->token_end = match.end;
  match.token = nullptr;
}

void SegmentQueue::OpenStretch(std::string_view stretch, uint8_t marks) {
  open_ = {.stretch = stretch,
           .begin = 0,
           .end = 0,
           .marks = static_cast<uint8_t>(marks | SegmentRun::kBeginsStretch)};
  scanning_ = true;
  if (openings_.any() || !normalized_tokens_.empty()) [[unlikely]]
    return OpenStripped(stretch);
  scanner_.Start(stretch, true);
  if (!scanner_.scans()) [[unlikely]] OpenPart(marks);
}

// The open stretch has a character that NFC may change, or bytes that are no UTF-8, in a part between two cuts that
// takes the general path. This opens that part, or the one before it if there is one; the rest is opened later. Where a
// U+2581 may be put before a part, all of the stretch leaves.
void SegmentQueue::OpenPart(uint8_t marks) {
  if (std::exchange(look_later_, false) && added_->filter->MayOccurIn(text_)) {
    scanning_ = false;
    return BeginSplit();
  }
  const std::string_view stretch = open_.stretch;
  const auto size = static_cast<uint32_t>(stretch.size());
  const auto stable = static_cast<uint32_t>(scanner_.stable_bytes());
  const bool parts = cuts_.any() && !scanner_.marks_first();
  uint32_t cut = parts ? cuts_.FindLast(stretch, 0, stable) : Cuts::kNone;
  const bool leaves = cut == Cuts::kNone;
  if (leaves && parts) cut = cuts_.FindFirst(stretch, stable, size);
  if (cut == Cuts::kNone) cut = size;
  later_ = {stretch.data() + cut, size - cut};
  if (!leaves) return OpenStretch({stretch.data(), cut}, marks);
  open_.stretch = {stretch.data(), cut};
  open_.reason = RANKFEED_REASON_CHARACTER;
  scanner_.Stop();
}

// Opens a stretch whose ends are stripped or prefixed, or whose normalized text may hold added tokens.
void SegmentQueue::OpenStripped(std::string_view stretch) {
  const Opening opening = openings_.Of(stretch, text_);
  open_.stretch = opening.text;
  open_.reason = opening.reason;
  loses_stop_byte_ = opening.text.size() != stretch.size() && !split_.has_value() && LosesStopByte();
  look_for_normalized_ = !normalized_tokens_.empty();
  scanner_.Start(opening.text, opening.prefixed);
  if (!scanner_.scans()) [[unlikely]] return OpenPart(open_.marks & SegmentRun::kBeginsText);
  if (open_.reason == RANKFEED_REASON_NONE && look_for_normalized_ &&
      opening.text.size() > SegmentScanner::kBlockBytes) {
    look_for_normalized_ = false;
    if (normalized_tokens_.MayOccurIn(opening.text)) open_.reason = RANKFEED_REASON_ADDED_TOKEN;
  }
  if (open_.reason != RANKFEED_REASON_NONE) scanner_.Stop();
}

// Returns whether among what was stripped of the text is a byte that added tokens begin with.
bool SegmentQueue::LosesStopByte() const {
  const auto has = [this](const char* from, const char* to) {
    return std::any_of(from, to, [this](char byte) { return stop_bytes_.Has(static_cast<uint8_t>(byte)); });
  };
  const char* const end = open_.stretch.data() + open_.stretch.size();
  return has(text_.data(), open_.stretch.data()) || has(end, text_.data() + text_.size());
}

// Scans a block of the open stretch to a run of its own. With the last one the stretch ends, and what comes
// after it is opened.
void SegmentQueue::ScanBlock() {
  const uint32_t begin = tail_;
  const char* const end = open_.stretch.data() + open_.stretch.size();
  const auto beyond = static_cast<size_t>(text_.data() + text_.size() - end);
  open_.begin = open_.end = tail_;
  open_.beyond = static_cast<uint8_t>(std::min<size_t>(beyond, SegmentRun::kBeyond));
  SegmentRun& run = Add(open_);
  open_.marks = 0;
  if (!scanner_.done()) run.end += scanner_.Next(scratch_.segments.From(tail_));
  tail_ = run.end;
  scanning_ = !scanner_.done();
  if (scanning_) return;
  if (scanner_.stopped() || loses_stop_byte_ || run.reason != RANKFEED_REASON_NONE) [[unlikely]] {
    loses_stop_byte_ = false;
    if (look_later_ && added_->filter->MayOccurIn(text_)) {
      look_later_ = false;
      tail_ = begin;
      --run_count_;
      return BeginSplit();
    }
    if (look_for_normalized_ && normalized_tokens_.MayOccurIn(open_.stretch)) {
      run.reason = RANKFEED_REASON_ADDED_TOKEN;
      tail_ = run.end = begin;
    }
    leaving_ |= run.reason != RANKFEED_REASON_NONE;
  }
  look_later_ = false;
  run.marks |= SegmentRun::kEndsStretch;
  if (!later_.empty()) return OpenStretch(std::exchange(later_, {}), 0);
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

// Finds the part that can be cut out of a stretch around waiting segment i. Segments before this run may be
// done already, so the first cut may be at the separator in front of the first segment that waits, no sooner.
bool SegmentQueue::FindPart(const SegmentRun& run, uint32_t i, Bytes* part) {
  const Segments all = segments();
  const std::string_view stretch = run.stretch;
  auto size = static_cast<uint32_t>(stretch.size());
  // Up to the next part, if one was cut out already.
  const SegmentRun* const next = &run + 1;
  if (next != scratch_.runs + run_count_ && (next->marks & SegmentRun::kPart) != 0) {
    size = static_cast<uint32_t>(next->stretch.data() - stretch.data());
    if (!cuts_.keeps_separator()) --size;
  }
  const uint32_t done = all.begin(begin(run));
  const uint32_t cut = cuts_.FindLast(stretch, done < 2 ? 0 : done - 2, all.begin(i));
  if (cut == Cuts::kNone && (run.marks & SegmentRun::kBeginsStretch) == 0) return false;
  constexpr uint32_t kLeastPart = 16;  // bytes that leave together at least
  part->begin = cut == Cuts::kNone ? 0 : cuts_.After(cut);
  const uint32_t least = std::max(all.ends[i], part->begin + kLeastPart);
  part->end = std::min(size, least < size ? cuts_.FindFirst(stretch, least, size) : size);
  return true;
}

// Makes three runs of one: of what is before the part, of the part, of what is after it.
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

// Takes segments that begin before that byte from the runs after `rest`, and from blocks not scanned yet.
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

// Returns the number of segments before the first run that has a reason.
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

}  // namespace rankfeed::fast
