// SPDX-License-Identifier: MIT
// fast/scan.h: raw text to segments: words at separators, and words cut where punctuation and
// digits meet letters ("well-known," is four segments), as far as no piece spans such a boundary.
//
// Classes of bytes come from vectors as bit masks, 64 bytes at a time; begins and ends of segments
// are bit arithmetic on them. Only next to characters outside ASCII (and controls) a boundary must
// be looked at: some of them share pieces with punctuation, and some normalize to something else.
// Where every space makes a word, a separator after another is a segment too, of one U+2581: the
// empty word between the two. Where words end beside signs (signs.h), every boundary is the
// beginning of a word, and a separator in front of an ASCII sign may be such a segment. Of BPE split_scan.h
// finds them. Cost: O(bytes), a few cycles per segment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_set.h"
#include "base/layout.h"
#include "fast/segments.h"
#include "stretch/signs.h"
#include "fast/split_scan.h"
#include "image/model.h"

namespace rankfeed::fast {

// Classes that bytes of a text are told apart by. stop_bytes: those whose text must be looked at.
struct ByteClasses {
  ByteSet separators, common, letters, stop_bytes;
};
// Classes of 64 bytes, a bit for each byte.
struct ClassMasks {
  uint64_t separator, common, letter;
};

struct KernelTable;

class SegmentScanner {
 public:
  static constexpr uint32_t kBlockBytes = 4096;
  static constexpr uint32_t kMaxSegments = kBlockBytes + 2 + kVectorSlack;

  struct Scratch {
    ClassMasks* classes = nullptr;
    BoundaryMasks* boundaries = nullptr;
    void Carve(Layout& layout) {
      classes = layout.Take<ClassMasks>(kBlockBytes / 64);
      boundaries = layout.Take<BoundaryMasks>(kBlockBytes / 64);
    }
  };

  SegmentScanner(const Model& model, const KernelTable& kernels, const ByteClasses& classes,
                 const Scratch& scratch);

  // stop, stop_too: both are stop bytes.
  static ByteClasses ClassesOf(const image::SegmentConfig& config, const ByteSet& stop,
                               const ByteSet& stop_too);

  // prefixed: the text begins a word, whatever it begins with.
  void Start(std::string_view text, bool prefixed = true);
  // Returns whether the text that Start was called with has something to scan: of BPE, it is UTF-8 that NFC leaves
  // alone.
  bool scans() const { return scans_; }
  // Returns, if not, how many bytes of it come before the first that it may change.
  size_t stable_bytes() const { return splits_->stable_bytes(); }
  // Returns whether the first segment may be one that a U+2581 is put before (image::kSpaceWords).
  bool marks_first() const { return (rules_ & image::kSpaceWords) != 0; }
  // Leaves the rest of this text out.
  void Stop() { at_ = text_.size(); }
  bool done() const { return at_ == text_.size(); }
  // Leaves it out up to the separator at `at`.
  void SkipTo(size_t at) {
    if (at < at_) return;
    at_ = at + 1;
    before_ = {};
    has_open_ = false;
  }

  // Segments of the next block, in order, to segments (room for kMaxSegments); returns how many. A
  // segment is reported in the block it ends in. Only while not done().
  uint32_t Next(const Segments& segments) {
    if (splits_.has_value()) return NextSplits(segments);
    return signs_.any() ? NextBlock<true>(segments) : NextBlock<false>(segments);
  }
  // Returns whether the last block holds a stop byte: of splits of a pattern, the block that Start looked at last.
  bool stopped() const { return splits_.has_value() ? splits_->stopped() : stopped_; }

 private:
  // Classes and empty words of the 64 bytes before, of which only the last counts. Before
  // the first comes a separator.
  struct Before {
    uint64_t separator = uint64_t{1} << 63, common = 0, other = 0, empty = 0;
  };

  uint32_t NextSplits(const Segments& segments) {
    const bool marks = at_ == 0 && prefixed_ && marks_first();
    const uint32_t count = splits_->Next(at_, kBlockBytes, segments, &at_);
    if (marks) segments.begins[0] |= Segments::kWordStart;
    return count;
  }
  // kSigns: words may end beside signs. Apart, so that the loop that most pipelines take is not in
  // the way of another.
  template <bool kSigns>
  uint32_t NextBlock(const Segments& segments);
  template <bool kSigns>
  uint32_t FindBoundaries(size_t size);
  bool IsCommonAt(size_t at) const {
    return at < text_.size() && classes_.common.Has(static_cast<uint8_t>(text_[at]));
  }
  template <bool kSigns>
  BoundaryMasks BoundariesOf(const ClassMasks& classes, uint64_t next_common, size_t base, Before* last) const;
  void ApplySpaceRules(const ClassMasks* classes, uint32_t words, BoundaryMasks* boundaries);
  void AddEmptyWords(size_t base, uint64_t repeated, BoundaryMasks* masks);
  bool BoundaryForbidden(size_t at, bool before) const;

  const Model& model_;
  const KernelTable& kernels_;
  const ByteClasses& classes_;
  const Scratch& scratch_;
  const uint32_t rules_;  // image::SegmentRule
  const Signs signs_;
  std::optional<SplitScanner> splits_;  // in place of all that follows
  const bool looks_at_spaces_;
  std::string_view text_;
  bool prefixed_ = true;
  size_t at_ = 0;  // where the next block begins
  Before before_;
  uint32_t open_ = 0;  // begin of the segment that goes on past the last block
  bool has_open_ = false;
  bool stopped_ = false;
  bool scans_ = true;
};

}  // namespace rankfeed::fast
