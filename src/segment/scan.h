// SPDX-License-Identifier: MIT
// segment/scan.h: raw text to segments: words at separators, and words cut where punctuation and
// digits meet letters ("well-known," is four segments), as far as no piece spans such a place.
//
// Classes come from SIMD as bit masks, 64 bytes at a time; starts and ends of segments are bit
// arithmetic on them. Only next to characters outside ASCII (and controls) a place must be looked
// at: some of them share pieces with punctuation, and some normalize to something else.
// Cost: O(bytes), a few cycles per segment.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/model.h"
#include "simd/kernels.h"

namespace rankfeed::segment {

// Segments by number: bytes [begin, end) of their text, begin < end.
struct Segments {
  static constexpr uint32_t kWordStart = 1u << 31;  // in begins: a word begins here
  uint32_t* begins;
  uint32_t* ends;

  Segments From(uint32_t i) const { return {begins + i, ends + i}; }
  uint32_t begin(uint32_t i) const { return begins[i] & ~kWordStart; }
  uint32_t size(uint32_t i) const { return ends[i] - begin(i); }
  bool word_start(uint32_t i) const { return begins[i] >= kWordStart; }
};

// Of 64 bytes, a bit each: where segments begin, where they end, and of those that begin which are
// the beginning of a word.
struct SegmentMasks {
  uint64_t starts, stops, word_starts;
};

struct LookUpKernels;

class SegmentScanner {
 public:
  static constexpr uint32_t kBlockBytes = 4096;
  static constexpr uint32_t kBeyond = 16;  // LookUpKernels::list writes so many more
  static constexpr uint32_t kMaxSegments = kBlockBytes + 2 + kBeyond;

  // masks and segment_masks: kBlockBytes / 64. stop_bytes: bytes that a block is asked for.
  SegmentScanner(const Model& model, const simd::Kernels& kernels, const LookUpKernels& look_up,
                 const simd::ByteSet& stop_bytes, simd::ClassMasks* masks,
                 SegmentMasks* segment_masks);

  void Start(std::string_view text);
  bool done() const { return at_ == text_.size(); }

  // Segments of the next block, in order, to segments (room for kMaxSegments); returns how many. A
  // segment is reported in the block it ends in. Only while not done().
  uint32_t Next(const Segments& segments);
  // Whether the last block holds one of the bytes stop_bytes.
  bool found() const { return found_; }

 private:
  bool NoBoundary(size_t at, bool before) const;
  bool NoBoundaryInGeneral(size_t at, bool before) const;

  const Model& model_;
  const simd::Kernels& kernels_;
  const LookUpKernels& look_up_;
  simd::ClassMasks* masks_;
  SegmentMasks* segment_masks_;
  simd::ByteSet separators_, common_, letters_, stop_bytes_;
  std::string_view text_;
  size_t at_ = 0;          // where the next block begins
  uint64_t separator_ = 1, common_carry_ = 0, other_ = 0;  // classes of the byte before
  uint32_t open_ = 0;      // begin of the segment that goes on past the last block
  bool has_open_ = false;
  bool found_ = false;
};

}  // namespace rankfeed::segment
