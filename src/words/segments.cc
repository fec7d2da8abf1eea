// SPDX-License-Identifier: MIT
// words/segments.cc: see segments.h.
#include "words/segments.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "text/precompiled.h"
#include "text/utf8.h"
#include "words/look_up.h"

namespace rankfeed::words {

SegmentScanner::SegmentScanner(const Model& model, const simd::Kernels& kernels,
                               const LookUpKernels& look_up, simd::ClassMasks* masks,
                               SegmentMasks* segment_masks)
    : model_(model),
      kernels_(kernels),
      look_up_(look_up),
      masks_(masks),
      segment_masks_(segment_masks) {
  std::memcpy(separators_.low, model.word_config->separators, sizeof(separators_.low));
  std::memcpy(common_.low, model.word_config->common, sizeof(common_.low));
  std::memcpy(letters_.low, model.word_config->letters, sizeof(letters_.low));
}

void SegmentScanner::Start(std::string_view text) {
  text_ = text;
  at_ = 0;
  separator_ = 1;
  common_carry_ = other_ = 0;
  has_open_ = false;
}

uint32_t SegmentScanner::Next(const Segments& segments) {
  const size_t size = std::min<size_t>(kBlockBytes, text_.size() - at_);
  kernels_.classify(text_.data() + at_, size, separators_, common_, letters_, masks_);
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
    for (uint64_t ask = starts & ~s1 & ((other & c1) | (c & other1)); ask != 0; ask &= ask - 1) {
      if (Loose(base + static_cast<uint32_t>(std::countr_zero(ask)))) starts ^= ask & -ask;
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

// Whether the character outside the plain classes on either side of text_[at] keeps segments from
// ending there. The byte on the other side is a common one.
bool SegmentScanner::Loose(size_t at) const {
  if (!common_.Has(static_cast<uint8_t>(text_[at]))) {
    const utf8::Decoded c = utf8::Decode(text_, at);
    return !c.valid || (model_.word_chars[c.code_point] & image::kWordLoose) != 0;
  }
  // Behind marks that the character before them swallows comes what that one becomes. mark: the one
  // behind the character that is looked at.
  uint32_t mark = 0;
  for (size_t end = at; end != 0;) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && utf8::IsContinuation(text_[begin])) --begin;
    if (mark != 0 && at - begin >= text::kWholeClusterBytes) break;  // nothing is swallowed
    const utf8::Decoded c = utf8::Decode(text_, begin);
    if (!c.valid || begin + c.size != end) return true;
    const uint32_t info = model_.word_chars[c.code_point];
    if ((mark & image::JoiningMarks(info)) != 0) return true;
    if (mark == 0 && (info & image::kWordLoose) != 0) return true;
    mark = info & image::kWordMarks;
    if (mark == 0) break;
    end = begin;
  }
  return false;
}

}  // namespace rankfeed::words
