// SPDX-License-Identifier: MIT
// fast/queue.h: the segments that wait, of several texts, scanned ahead of the work on them:
// short texts share batches, so that what one of them fetches arrives while others work.
//
// A text is stretches between added tokens (HuggingFace; in SentencePiece parity one stretch). A
// stretch is encoded on its own, as the reference does. One that may hold an added token that is
// looked for in normalized text leaves the fast road before it is scanned, or as soon as its only
// block shows a byte that such tokens begin with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "stretch/cuts.h"
#include "stretch/normalized_tokens.h"
#include "stretch/opening.h"
#include "fast/scan.h"
#include "rankfeed/encode.h"
#include "stretch/added_tokens.h"

namespace rankfeed::fast {

// Segments of one stretch that lie next to each other in the queue, and an added token after them;
// either may be missing.
struct SegmentRun {
  // kPart: not segments, but bytes of the stretch that take the general path in their place.
  enum : uint8_t {
    kBeginsText = 1,
    kBeginsStretch = 2,
    kEndsStretch = 4,
    kEndsText = 8,
    kPart = 16
  };

  // Bytes of a text after a stretch that are counted: what a key may be read beyond its segment.
  static constexpr uint32_t kBeyond = 32;

  std::string_view stretch;  // or the bytes of the part
  uint32_t begin, end;       // segments, by number in the queue
  uint8_t marks = 0;
  uint8_t beyond = 0;                             // kBeyond at most
  rankfeed_reason reason = RANKFEED_REASON_NONE;  // why the stretch leaves, or the part does
  const image::AddedToken* token = nullptr;       // null: none
  uint32_t token_begin = 0, token_end = 0;        // bytes of the text
};

class SegmentQueue {
 public:
  static constexpr uint32_t kMaxWaiting = 2048;  // segments, before a block is added
  static constexpr uint32_t kMaxRuns = 256;

  struct Scratch {
    SegmentScanner::Scratch scanner;
    Segments segments = {};
    SegmentRun* runs = nullptr;
    void Carve(Layout& layout) {
      scanner.Carve(layout);
      segments.begins = layout.Take<uint32_t>(kMaxWaiting + SegmentScanner::kMaxSegments);
      segments.ends = layout.Take<uint32_t>(kMaxWaiting + SegmentScanner::kMaxSegments);
      runs = layout.Take<SegmentRun>(kMaxRuns);
    }
  };

  SegmentQueue(const Model& model, const KernelTable& kernels, const ByteClasses& classes,
               const Scratch& scratch, const NormalizedTokens& normalized_tokens, const Cuts& cuts)
      : cuts_(cuts),
        normalized_tokens_(normalized_tokens),
        openings_(model),
        stop_bytes_(classes.stop_bytes),
        scratch_(scratch),
        scanner_(model, kernels, classes, scratch.scanner) {}

  // The texts to scan, which must stay. added: null where they hold no added tokens. parts: whether
  // a part of a stretch may leave without the rest.
  void Start(std::span<const rankfeed_text> texts, const AddedTokens* added, bool parts) {
    texts_ = texts;
    added_ = added;
    parts_ = parts && cuts_.any();
    head_ = tail_ = first_run_ = run_count_ = 0;
    next_ = 0;
    split_.reset();
    later_ = {};
    scanning_ = look_later_ = leaving_ = loses_stop_byte_ = false;
  }

  // Returns whether there is anything left to scan.
  bool more() const { return scanning_ || split_.has_value() || next_ != texts_.size(); }

  // Returns whether to Fill: that costs as much as there are runs, so not for a few more of them.
  bool has_room() const { return run_count_ - first_run_ <= kMaxRuns / 2 && more(); }

  // Scans on until `wanted` segments wait, the texts end or there is no place for more. Numbers of
  // segments begin anew.
  void Fill(uint32_t wanted);

  // Runs and segments wait, in order; numbers of segments count from the first that waits.
  bool empty() const { return first_run_ == run_count_; }
  uint32_t waiting() const { return tail_ - head_; }
  Segments segments() const { return scratch_.segments.From(head_); }
  SegmentRun& front() { return scratch_.runs[first_run_]; }
  // Returns the run of a segment, or of one after those of *run, which is moved on.
  SegmentRun& RunOf(uint32_t segment, uint32_t* run) {
    while (scratch_.runs[first_run_ + *run].end <= head_ + segment) ++*run;
    return scratch_.runs[first_run_ + *run];
  }
  // Returns the index of the run's first waiting segment, and that of the one after its last; 0 for those done before.
  uint32_t begin(const SegmentRun& run) const { return run.begin > head_ ? run.begin - head_ : 0; }
  uint32_t end(const SegmentRun& run) const { return run.end > head_ ? run.end - head_ : 0; }

  // Returns how many of the first `count` segments come before a stretch of which it is known already that
  // it leaves: what is done of those after it would be done again.
  uint32_t BeforeLeaving(uint32_t count) { return leaving_ ? BeforeKnownReason(count) : count; }

  // Waiting segment i, of run number `run`, takes the general path: a part of the stretch around
  // it, or all of that. Returns how many segments come before. whole: all of it.
  uint32_t Leave(uint32_t run, uint32_t i, rankfeed_reason reason, bool whole);

  void PopRun() { ++first_run_; }
  // The first run, a part, is done, and the segments that it takes the place of.
  void PopPart() { head_ = scratch_.runs[++first_run_].begin; }
  void PopSegments(uint32_t count) { head_ += count; }
  // The stretch of the first run leaves: its segments go, and a run stays that ends the text if it
  // did.
  void DropStretch();

  // Fetches some lines of the texts that will be scanned next, from byte at of text i on. Here, a
  // few at a time, as scanning waits for memory and looking up seldom does.
  struct Place {
    size_t text, at;
  };
  Place next_text() const { return {next_, 0}; }
  void Fetch(Place* place) const;

 private:
  // A text that is split at added tokens, and how far.
  struct Split {
    explicit Split(const AddedTokenScanner& from) : matches(from) {}
    AddedTokenScanner matches;
    size_t done = 0;                   // bytes
    AddedMatch pending = {};  // comes after the stretch that was opened, if not null
    bool last = false;                 // no match is left
  };

  struct Bytes {
    uint32_t begin, end;
  };

  void Compact();
  void BeginText();
  void BeginSplit();
  void NextPart();
  void OpenStretch(std::string_view stretch, uint8_t marks);
  void OpenPart(uint8_t marks);
  void OpenStripped(std::string_view stretch);
  void ScanBlock();
  void AddToken(SegmentRun* run);
  bool LosesStopByte() const;
  uint32_t BeforeKnownReason(uint32_t count);
  bool FindPart(const SegmentRun& run, uint32_t i, Bytes* part);
  uint32_t LeaveInPart(uint32_t number, Bytes part, rankfeed_reason reason);
  void SkipTo(SegmentRun* rest, uint32_t byte);
  SegmentRun& Add(const SegmentRun& run) { return scratch_.runs[run_count_++] = run; }

  const Cuts& cuts_;
  const NormalizedTokens& normalized_tokens_;
  const Openings openings_;
  const ByteSet stop_bytes_;
  const Scratch& scratch_;
  SegmentScanner scanner_;
  std::span<const rankfeed_text> texts_;
  const AddedTokens* added_ = nullptr;
  // In the scratch: those that wait. After them goes what is scanned next.
  uint32_t head_ = 0, tail_ = 0, first_run_ = 0, run_count_ = 0;
  size_t next_ = 0;  // text to begin with
  // The text before it and its state, as long as there is more of it to come:
  std::string_view text_;
  SegmentRun open_ = {};  // of the stretch that is scanned: what its next run has
  std::string_view later_;  // of the stretch, after the part of it that is open
  std::optional<Split> split_;
  bool scanning_ = false;  // the stretch
  // For added tokens, once its only block is scanned: for those of the raw text, of the normalized.
  bool look_later_ = false, look_for_normalized_ = false;
  bool loses_stop_byte_ = false;  // with what was stripped of the text
  bool leaving_ = false;          // a run that waits may have a reason
  bool parts_ = false;
};

}  // namespace rankfeed::fast
