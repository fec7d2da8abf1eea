// SPDX-License-Identifier: MIT
// fast/scan.cc: boundaries of segments from masks of classes, see scan.h.
#include "fast/scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "fast/spans.h"
#include "normalize/precompiled.h"

namespace rankfeed::fast {

using image::CharInfo;

ByteClasses SegmentScanner::ClassesOf(const image::SegmentConfig& config, const ByteSet& stop,
                                      const ByteSet& stop_too) {
  ByteClasses classes{.stop_bytes = stop};
  for (size_t i = 0; i < sizeof(stop.low); ++i) classes.stop_bytes.low[i] |= stop_too.low[i];
  std::memcpy(classes.separators.low, config.separators, sizeof(config.separators));
  std::memcpy(classes.common.low, config.common, sizeof(config.common));
  std::memcpy(classes.letters.low, config.letters, sizeof(config.letters));
  return classes;
}

SegmentScanner::SegmentScanner(const Model& model, const KernelTable& kernels,
                               const ByteClasses& classes, const Scratch& scratch)
    : model_(model),
      kernels_(kernels),
      classes_(classes),
      scratch_(scratch),
      rules_(model.segment.config->rules),
      signs_(model),
      looks_at_spaces_((rules_ & (image::kEverySpaceIsWord | image::kPrependRules)) != 0) {
  if ((rules_ & (image::kPatternSplits | image::kSpaceWords)) != 0) splits_.emplace(model, kernels, classes.stop_bytes);
}

void SegmentScanner::Start(std::string_view text, bool prefixed) {
  text_ = text;
  prefixed_ = prefixed;
  at_ = 0;
  before_ = {};
  has_open_ = stopped_ = false;
  if (splits_.has_value()) scans_ = splits_->Start(text);
}

// Gives each byte the bit of the byte before it; before: the mask of the block before.
static uint64_t OfByteBefore(uint64_t mask, uint64_t before) {
  return mask << 1 | before >> 63;
}

// Finds the boundaries of the block from its classes; returns how many masks they are.
template <bool kSigns>
[[gnu::always_inline]] inline uint32_t SegmentScanner::FindBoundaries(size_t size) {
  const ClassMasks* const classes = scratch_.classes;
  BoundaryMasks* const boundaries = scratch_.boundaries;
  Before before = before_;
  uint32_t words = 0;
  for (size_t k = 0; 64 * k < size; ++k) {
    const size_t next = 64 * (k + 1);
    uint64_t next_common = 0;
    if (kSigns) next_common = next < size ? classes[k + 1].common : IsCommonAt(at_ + next);
    boundaries[words++] = BoundariesOf<kSigns>(classes[k], next_common, at_ + 64 * k, &before);
  }
  before_ = before;
  if (looks_at_spaces_) [[unlikely]]
    ApplySpaceRules(classes, words, boundaries);
  return words;
}

// Finds the boundaries of 64 bytes from text_[base] on. next_common: of the byte after them.
template <bool kSigns>
[[gnu::always_inline]] inline BoundaryMasks SegmentScanner::BoundariesOf(const ClassMasks& classes,
                                                                         uint64_t next_common,
                                                                         size_t base,
                                                                         Before* last) const {
  const uint64_t s = classes.separator, c = classes.common;
  const uint64_t other = ~(s | c | classes.letter);
  const uint64_t s1 = OfByteBefore(s, last->separator), c1 = OfByteBefore(c, last->common),
                 other1 = OfByteBefore(other, last->other);
  last->separator = s, last->common = c, last->other = other;
  if constexpr (kSigns) {
    uint64_t starts = ~s & (s1 | c | c1);
    for (uint64_t ask = starts & c1 & other; ask != 0; ask &= ask - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(ask));
      if (signs_.MayJoin(text_, base + bit)) starts &= ~(uint64_t{1} << bit);
    }
    const uint64_t before_sign = c >> 1 | next_common << 63;
    const uint64_t empty = signs_.after_space() ? s & before_sign : 0;
    const uint64_t empty1 = OfByteBefore(empty, last->empty);
    last->empty = empty;
    return {starts | empty, (~s1 & (s | starts)) | empty1, ~empty};
  }
  // Places where a segment may begin: after a separator, or between the classes.
  uint64_t starts = ~s & (s1 | (c ^ c1));
  const uint64_t after_other = c & other1;
  for (uint64_t ask = starts & ~s1 & ((other & c1) | after_other); ask != 0; ask &= ask - 1) {
    const auto bit = static_cast<uint32_t>(std::countr_zero(ask));
    const bool before = (after_other >> bit & 1) != 0;
    starts ^= uint64_t{BoundaryForbidden(base + bit, before)} << bit;
  }
  return {starts, ~s1 & (s | starts), s1};
}

template <bool kSigns>
uint32_t SegmentScanner::NextBlock(const Segments& segments) {
  const size_t size = std::min<size_t>(kBlockBytes, text_.size() - at_);
  stopped_ = kernels_.classify(text_.data() + at_, size, classes_, scratch_.classes);
  const uint32_t words = FindBoundaries<kSigns>(size);
  uint32_t begins = 0, ends = 0;
  if (has_open_) segments.begins[begins++] = open_;
  kernels_.list(scratch_.boundaries, words, static_cast<uint32_t>(at_), segments, &begins, &ends);
  at_ += size;
  if (at_ == text_.size() && ends < begins) {  // ends with the text, at a multiple of 64
    segments.ends[ends++] = static_cast<uint32_t>(at_);
  }
  has_open_ = ends < begins;
  if (has_open_) open_ = segments.begins[ends];
  return ends;
}

template uint32_t SegmentScanner::NextBlock<false>(const Segments& segments);
template uint32_t SegmentScanner::NextBlock<true>(const Segments& segments);

// Changes the boundaries of a block as the rules about white space say.
void SegmentScanner::ApplySpaceRules(const ClassMasks* classes, uint32_t words, BoundaryMasks* boundaries) {
  for (uint32_t k = 0; k < words && (rules_ & image::kEverySpaceIsWord) != 0; ++k) {
    AddEmptyWords(at_ + 64 * k, classes[k].separator & boundaries[k].word_starts, &boundaries[k]);
  }
  // The first byte may begin no word, but then a separator before a byte does.
  if (at_ == 0 && !prefixed_) boundaries[0].word_starts &= ~uint64_t{1};
}

// Adds those of the separators after others, from text_[base] on, that are empty words.
void SegmentScanner::AddEmptyWords(size_t base, uint64_t repeated, BoundaryMasks* masks) {
  uint64_t empty = 0;
  const size_t left = text_.size() - std::min(base, text_.size());
  if (left < 64) repeated &= (uint64_t{1} << left) - 1;  // those after are none
  for (; repeated != 0; repeated &= repeated - 1) {
    const auto bit = static_cast<uint32_t>(std::countr_zero(repeated));
    const size_t at = base + bit;
    if (at == 0) {  // nothing is before it but a U+2581
      empty |= uint64_t{(rules_ & image::kFrontSpaceIsWord) != 0} << bit;
      continue;
    }
    const char byte = text_[at], before = text_[at - 1];
    const bool run = byte == ' ' && before == ' ' && (rules_ & image::kSpaceRunIsOne) != 0;
    const bool line_end = byte == '\n' && before == '\r' && (rules_ & image::kCrLfIsOne) != 0;
    if (!run && !line_end) empty |= uint64_t{1} << bit;
  }
  masks->starts |= empty;
  masks->stops |= OfByteBefore(empty, before_.empty);
  masks->word_starts &= ~empty;
  before_.empty = empty;
}

// Returns whether the character outside the ASCII classes that begins at text_[at] (before: that ends
// there) keeps segments from ending there. The byte on the other side is a common one.
bool SegmentScanner::BoundaryForbidden(size_t at, bool before) const {
  if (!before) {
    const Character c = CharacterAt(model_.segment, text_, at);
    return !c.valid || c.info.ForbidsBoundary();
  }
  // After marks that the character before them swallows comes what that one becomes. mark: the one
  // after the character that is looked at.
  CharInfo mark;
  for (size_t end = at; end != 0;) {
    size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && utf8::IsContinuation(text_[begin])) --begin;
    const Character c = CharacterAt(model_.segment, text_, begin);
    if (!c.valid || begin + c.size != end) return true;
    if (mark.IsMark() && at - begin >= normalize::kWholeClusterBytes) break;  // nothing is swallowed
    if (mark.Joins(c.info)) return true;
    if (!mark.IsMark() && c.info.ForbidsBoundary()) return true;
    mark = c.info;
    if (!mark.IsMark()) break;
    end = begin;
  }
  return false;
}

}  // namespace rankfeed::fast
