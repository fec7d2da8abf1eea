// SPDX-License-Identifier: MIT
// fast/split_scan.h: the segments of a BPE: of bytes the splits of its pattern in raw text, and its
// added tokens that are runs of spaces, of characters what begins at a space after something else
// (image::kSpaceWords); one after the other without gaps. A split of characters of
// three bytes, as those of Chinese are, or of Greek ones ends too between two that no piece holds
// together: merges never cross such a place. A split that is a piece has no such place, so only what is
// the whole split may be a piece that merges do not make (ignore_merges); with image::kPartsHaveKeys the
// segments that are less have Segments::kWordStart.
//
// NFC is looked for and not done: a stretch with a character that it may change, or join to what stands
// before it, takes the general path.
#pragma once

#include <cstdint>
#include <string_view>

#include "fast/segments.h"
#include "fast/split_blocks.h"
#include "image/model.h"

namespace rankfeed::fast {

class SplitScanner {
 public:
  SplitScanner(const Model& model, const KernelTable& kernels, const ByteSet& stop_bytes);

  // Begins a stretch. False if it has bytes that are no UTF-8, or what NFC may change: then there is
  // nothing to scan. O(bytes).
  bool Start(std::string_view text);
  // Returns where the first such byte or character is, if Start was false.
  size_t stable_bytes() const { return stable_; }
  // Returns whether the last kMostBytes of the text, or all of a shorter one, hold a stop byte.
  bool stopped() const { return blocks_.stopped(); }

  // Appends the segments that begin in the `bytes` after `at` to segments, one for each byte at most;
  // returns how many. *end: of the last one.
  uint32_t Next(size_t at, size_t bytes, const Segments& segments, size_t* end);

 private:
  uint32_t NextParts(size_t* at, size_t stop, const Segments& segments);
  uint32_t NextBlock(size_t* at, size_t stop, const Segments& segments);
  size_t StableWords(std::string_view text);
  size_t SplitEnd(size_t at) const;
  size_t WordEnd(size_t at) const;
  size_t PartEnd(size_t at, size_t end) const;
  // This tells whether a word may be cut beside a character that begins so.
  bool MayCut(char lead) const { return blocks_.tables().cuts.Has(static_cast<uint8_t>(lead)); }
  bool IsStable(size_t at, const utf8::Decoded& c) const;
  uint8_t LastClass(char32_t c) const;
  bool Joins(size_t at, char32_t c) const;

  const Model& model_;
  const KernelTable& kernels_;
  const uint32_t space_run_;  // image::SegmentConfig
  const bool marks_parts_;    // image::kPartsHaveKeys
  std::string_view text_;
  size_t stable_ = 0;
  size_t split_begin_ = 0, split_ = 0;  // of the split that is being cut: its begin and its end
  SplitBlocks blocks_;
};

}  // namespace rankfeed::fast
