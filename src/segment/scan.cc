// SPDX-License-Identifier: MIT
// segment/scan.cc: see segments.h.
#include "segment/scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "normalize/precompiled.h"
#include "base/utf8.h"
#include "segment/look_up.h"

namespace rankfeed::segment {

SegmentScanner::SegmentScanner(const Model& model, const simd::Kernels& kernels,
                               const LookUpKernels& look_up, const simd::ByteSet& stop_bytes,
                               simd::ClassMasks* masks, SegmentMasks* segment_masks)
    : model_(model),
      kernels_(kernels),
      look_up_(look_up),
      masks_(masks),
      segment_masks_(segment_masks),
      stop_bytes_(stop_bytes) {
  std::memcpy(separators_.low, model.segment.config->separators, sizeof(separators_.low));
  std::memcpy(common_.low, model.segment.config->common, sizeof(common_.low));
  std::memcpy(letters_.low, model.segment.config->letters, sizeof(letters_.low));
}

void SegmentScanner::Start(std::string_view text) {
  text_ = text;
  at_ = 0;
  separator_ = 1;
  common_carry_ = other_ = 0;
  has_open_ = found_ = false;
}

uint32_t SegmentScanner::Next(const Segments& segments) {
  const size_t size = std::min<size_t>(kBlockBytes, text_.size() - at_);
  found_ = kernels_.classify(text_.data() + at_, size, separators_, common_, letters_, stop_bytes_,
                             masks_);
  uint32_t words = 0;
  for (size_t k = 0; 64 * k < size; ++k) {
    const uint64_t s = masks_[k].separator, c = masks_[k].common;
    const uint64_t other = ~(s | c | masks_[k].letter);
    const uint64_t s1 = s << 1 | separator_, c1 = c << 1 | common_carry_,
                   other1 = other << 1 | other_;
    separator_ = s >> 63, common_carry_ = c >> 63, other_ = other >> 63;
    // Places where a segment may begin: after a separator, or between the classes.
    uint64_t starts = ~s & (s1 | (c ^ c1));
    const auto base = static_cast<uint32_t>(at_ + 64 * k);
    const uint64_t behind_other = c & other1;
    for (uint64_t ask = starts & ~s1 & ((other & c1) | behind_other); ask != 0; ask &= ask - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(ask));
      starts ^= uint64_t{NoBoundary(base + bit, (behind_other >> bit & 1) != 0)} << bit;
    }
    segment_masks_[words++] = {starts, ~s1 & (s | starts), s1};
  }
  uint32_t begins = 0, ends = 0;
  if (has_open_) segments.begins[begins++] = open_;
  look_up_.list(segment_masks_, words, static_cast<uint32_t>(at_), segments, &begins, &ends);
  at_ += size;
  if (at_ == text_.size() && ends < begins) {  // ends with the text, at a multiple of 64
    segments.ends[ends++] = static_cast<uint32_t>(at_);
  }
  has_open_ = ends < begins;
  if (has_open_) open_ = segments.begins[ends];
  return ends;
}

// The character of two or three bytes at text, without a branch on which.
struct TwoOrThree {
  uint32_t code_point;  // may be overlong or a surrogate
  bool is;              // a first byte and as many as go on with it

  // Reads four bytes.
  explicit TwoOrThree(const char* text) {
    uint32_t word;
    std::memcpy(&word, text, sizeof(word));
    const uint32_t three = (word & 0xf0) == 0xe0;
    word <<= 8 * (1 - three);  // as if there were three
    code_point = (word & 0x0f) << 12 | (word >> 2 & 0xfc0) | (word >> 16 & 0x3f);
    const uint32_t mask = three != 0 ? 0xc0c0f0 : 0xc0e000;
    const uint32_t pattern = three != 0 ? 0x8080e0 : 0x80c000;
    is = (word & mask) == pattern;
  }
};

// Whether the character outside the plain classes that begins at text_[at] (before: that ends
// there) keeps segments from ending there. The byte on the other side is a common one.
bool SegmentScanner::NoBoundary(size_t at, bool before) const {
  // Most are of two or three bytes and no marks. Which, and on which side, follows no pattern. Of
  // bytes that are no character any answer will do: their text takes the general path.
  if (at >= 4 && text_.size() - at >= 4) {
    const char* const text = text_.data() + at;
    uint32_t last;
    std::memcpy(&last, text - 4, sizeof(last));
    const uint32_t no_continuation = ((last ^ 0x80808080) & 0xc0c0c0c0) | 1;
    const auto back = 1 + static_cast<uint32_t>(std::countl_zero(no_continuation)) / 8;
    const TwoOrThree c(text - (before ? back : 0));
    const uint32_t info = model_.segment.char_info.data[c.code_point];
    const bool mark = (info & (before ? uint32_t{image::kCharMarks} : 0)) != 0;
    if (c.is & !mark) return (info & image::kCharNoBoundary) != 0;
  }
  return NoBoundaryInGeneral(at, before);
}

bool SegmentScanner::NoBoundaryInGeneral(size_t at, bool before) const {
  if (!before) {
    const utf8::Decoded c = utf8::Decode(text_, at);
    return !c.valid || (model_.segment.char_info[c.code_point] & image::kCharNoBoundary) != 0;
  }
  // Behind marks that the character before them swallows comes what that one becomes. mark: the one
  // behind the character that is looked at.
  uint32_t mark = 0;
  for (size_t end = at; end != 0;) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && utf8::IsContinuation(text_[begin])) --begin;
    if (mark != 0 && at - begin >= normalize::kWholeClusterBytes) break;  // nothing is swallowed
    const utf8::Decoded c = utf8::Decode(text_, begin);
    if (!c.valid || begin + c.size != end) return true;
    const uint32_t info = model_.segment.char_info[c.code_point];
    if ((mark & image::JoiningMarks(info)) != 0) return true;
    if (mark == 0 && (info & image::kCharNoBoundary) != 0) return true;
    mark = info & image::kCharMarks;
    if (mark == 0) break;
    end = begin;
  }
  return false;
}

}  // namespace rankfeed::segment
