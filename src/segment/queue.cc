// SPDX-License-Identifier: MIT
// segment/queue.cc: texts to runs of segments, see queue.h.
#include "segment/queue.h"

#include <algorithm>

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
                                                !added_->filter->has_first_bytes());
  if (look_first && added_->filter->MayOccurIn(text_)) return BeginSplit();
  OpenStretch(text_, SegmentRun::kBeginsText);
  look_later_ = added_ != nullptr && !look_first;
}

void SegmentQueue::BeginSplit() {
  Add({text_, tail_, tail_, nullptr, SegmentRun::kBeginsText, RANKFEED_REASON_NONE});
  split_.emplace(added_->Find(text_));
}

void SegmentQueue::NextPart() {
  if (split_->pending != nullptr) {
    Add({text_, tail_, tail_, split_->pending, 0, RANKFEED_REASON_NONE});
    split_->pending = nullptr;
    return;
  }
  if (split_->last) {
    Add({text_, tail_, tail_, nullptr, SegmentRun::kEndsText, RANKFEED_REASON_NONE});
    split_.reset();
    return;
  }
  general::AddedMatch match{};
  split_->last = !split_->matches.Next(&match);
  const size_t begin = split_->done, end = split_->last ? text_.size() : match.begin;
  split_->pending = match.token;
  split_->done = match.end;
  if (begin < end) OpenStretch({text_.data() + begin, end - begin}, 0);
}

void SegmentQueue::OpenStretch(std::string_view stretch, uint8_t marks) {
  stretch_ = stretch;
  begin_marks_ = static_cast<uint8_t>(marks | SegmentRun::kBeginsStretch);
  scanner_.Start(stretch);
  scanning_ = true;
}

void SegmentQueue::ScanBlock() {
  const uint32_t begin = tail_;
  SegmentRun& run = Add({stretch_, tail_, tail_, nullptr, begin_marks_, RANKFEED_REASON_NONE});
  begin_marks_ = 0;
  if (!scanner_.done()) run.end += scanner_.Next(scratch_.segments.From(tail_));
  tail_ = run.end;
  scanning_ = !scanner_.done();
  if (look_later_) [[unlikely]] {
    look_later_ = false;
    if (scanner_.stopped() && added_->filter->MayOccurIn(text_)) {
      tail_ = begin;
      --run_count_;
      return BeginSplit();
    }
  }
  if (scanning_) return;
  run.marks |= SegmentRun::kEndsStretch;
  if (!split_.has_value()) run.marks |= SegmentRun::kEndsText;
}

void SegmentQueue::DropStretch() {
  uint8_t marks = 0;
  for (;;) {
    head_ = std::max(head_, front().end);
    marks = front().marks;
    if ((marks & SegmentRun::kEndsStretch) != 0 || first_run_ + 1 == run_count_) break;
    ++first_run_;
  }
  if ((marks & SegmentRun::kEndsStretch) == 0) {  // it is still being scanned
    scanner_.Stop();
    scanning_ = false;
    marks = split_.has_value() ? 0 : SegmentRun::kEndsText;
  }
  front() = {front().stretch,
             head_,
             head_,
             nullptr,
             static_cast<uint8_t>(marks & SegmentRun::kEndsText),
             RANKFEED_REASON_NONE};
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
