// SPDX-License-Identifier: MIT
#include "fast/split_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/utf8.h"
#include "fast/kernels/kernels.h"
#include "normalize/unicode_forms.h"

namespace rankfeed::fast {

SplitScanner::SplitScanner(const Model& model, const KernelTable& kernels, const ByteSet& stop_bytes)
    : model_(model),
      kernels_(kernels),
      space_run_(model.segment.config->space_run),
      marks_parts_((model.segment.config->rules & image::kPartsHaveKeys) != 0),
      blocks_(model, kernels, stop_bytes) {}

// Whether NFC leaves a character of the text alone.
[[gnu::always_inline]] inline bool SplitScanner::IsStable(size_t at, const utf8::Decoded& c) const {
  if (!c.valid) return false;
  const uint8_t kind = model_.split_classes[c.code_point];
  return (kind & blocks_.tables().unstable) == 0 ||
         ((kind & split::kCombining) != 0 && !Joins(at, c.code_point));
}

bool SplitScanner::Start(std::string_view text) {
  text_ = text;
  split_ = 0;
  for (stable_ = StableWords(text); stable_ < text.size();) {
    const utf8::Decoded c = utf8::DecodeInline(text, stable_);
    if (!IsStable(stable_, c)) return false;
    stable_ += c.size;
  }
  return true;
}

// How much of the text is surely valid and stable; fast, as most first bytes say all of their characters.
size_t SplitScanner::StableWords(std::string_view text) {
  uint64_t rest = 0;  // bytes of characters that go on into the next word
  size_t stable = 0;
  for (size_t at = 0; at < text.size(); at += 64) {
    const size_t k = at % SplitBlocks::kMostBytes / 64;
    if (k == 0) blocks_.Begin(text, at, std::min(text.size(), at + SplitBlocks::kMostBytes));
    const LeadMasks* const m = blocks_.Look(k);
    if (rest == 0) stable = at;
    if (m == nullptr && rest == 0) continue;
    if (m == nullptr || m->inner != (rest | m->leads << 1 | m->threes << 2 | m->fours << 3)) return stable;
    rest = m->leads >> 63 | m->threes >> 62 | m->fours >> 61;
    for (uint64_t ask = m->unsure; ask != 0; ask &= ask - 1) {
      const size_t lead = at + static_cast<size_t>(std::countr_zero(ask));
      if (!IsStable(lead, utf8::DecodeInline(text, lead))) return stable;
    }
  }
  return rest == 0 ? text.size() : stable;
}

uint32_t SplitScanner::Next(size_t at, size_t bytes, const Segments& segments, size_t* end) {
  constexpr size_t kLeastBlock = 32;  // bytes; for fewer the masks are not worth it
  const size_t stop = std::min(text_.size(), at + bytes);
  uint32_t count = NextParts(&at, stop, segments);
  if (at < stop && stop - at >= kLeastBlock && blocks_.knows_pattern()) {
    count += NextBlock(&at, stop, segments.From(count));
  }
  // The masks leave these places to be decided one by one.
  while (at < stop) {
    if (split_ <= at) split_begin_ = at, split_ = SplitEnd(at);
    count += NextParts(&at, stop, segments.From(count));
  }
  *end = at;
  return count;
}

// The parts of the split that is being cut, as far as they begin before `stop`.
uint32_t SplitScanner::NextParts(size_t* at, size_t stop, const Segments& segments) {
  uint32_t count = 0;
  for (; *at < std::min(stop, split_); ++count) {
    const size_t begin = *at;
    *at = PartEnd(begin, split_);
    const bool part = marks_parts_ && (begin != split_begin_ || *at != split_);
    segments.begins[count] = static_cast<uint32_t>(begin) | (part ? Segments::kWordStart : 0);
    segments.ends[count] = static_cast<uint32_t>(*at);
  }
  return count;
}

// Segments from masks, but for the last one that begins.
uint32_t SplitScanner::NextBlock(size_t* at, size_t stop, const Segments& segments) {
  SplitBlocks::Begins begins;
  blocks_.Find(text_, *at, stop, &begins);
  uint32_t begin = 0, end = 0;
  if (begins.marked) {
    kernels_.list(begins.masks, begins.count, static_cast<uint32_t>(*at), segments, &begin, &end);
    // Marks the segment that begins at a cut; one that ends at a cut is a part too.
    for (uint32_t i = 0; i < end; ++i) segments.begins[i] |= segments.begins[i + 1] & Segments::kWordStart;
  } else {
    end = kernels_.list_starts(begins.masks, begins.count, static_cast<uint32_t>(*at), segments.begins) - 1;
    std::memcpy(segments.ends, segments.begins + 1, end * sizeof(uint32_t));
  }
  split_begin_ = begins.split;
  split_ = SplitEnd(split_begin_);
  *at = begins.part;
  return end;
}

// The end of the split, or of the added token, that begins at `at`. A run of spaces is as many of the
// longest as fit, and one of two or more that are left; a single one is the next word's. White space
// before a run ends with it, as a text does.
size_t SplitScanner::SplitEnd(size_t at) const {
  if (blocks_.at_spaces()) return WordEnd(at);
  if (space_run_ == 0) return blocks_.pattern().End(text_, at);
  size_t blanks = 0;
  while (blanks < space_run_ && at + blanks < text_.size() && text_[at + blanks] == ' ') ++blanks;
  if (blanks > 1) return at + blanks;
  for (size_t end = at; end < text_.size();) {
    const utf8::Decoded c = utf8::DecodeInline(text_, end);
    const uint8_t kind = model_.split_classes[c.code_point] & split::kClassBits;
    if (kind != split::kBlank && kind != split::kNewline && kind != split::kSpace) break;
    const bool run = text_[end] == ' ' && end + 1 < text_.size() && text_[end + 1] == ' ';
    if (run) return blocks_.pattern().End({text_.data(), end}, at);
    end += c.size;
  }
  return blocks_.pattern().End(text_, at);
}

// The end of the word that begins at `at`, of spaces and characters of one class after them: where SplitBlocks finds one.
size_t SplitScanner::WordEnd(size_t at) const {
  while (at < text_.size() && text_[at] == ' ') ++at;
  uint32_t size = 0;
  for (uint8_t before = 0; at < text_.size(); at += size) {
    uint32_t bytes;
    const char32_t c = utf8::DecodeValid(text_.data() + at, &bytes);
    const uint8_t kind = model_.split_classes[c] & split::kClassBits;
    const bool apart = c == U' ' || kind != before || (kind == split::kDigit && blocks_.digits_apart());
    if (size != 0 && apart && text_[at - 1] != ' ' && !SplitBlocks::EndsWithMetaspace({text_.data(), at})) break;
    before = kind, size = bytes;
  }
  return at;
}

// The end of the first part of a split's rest [at, end).
size_t SplitScanner::PartEnd(size_t at, size_t end) const {
  while (at < end && !MayCut(text_[at])) ++at;
  if (at == end) return end;
  uint32_t size;
  char32_t before = utf8::DecodeValid(text_.data() + at, &size);
  for (at += size; at < end; at += size) {
    if (!MayCut(text_[at])) return PartEnd(at, end);
    const char32_t c = utf8::DecodeValid(text_.data() + at, &size);
    if (!blocks_.tables().MayHold(before, c)) break;
    before = c;
  }
  return at;
}

// The class of the last character that one decomposes to, 0 of one that does not.
uint8_t SplitScanner::LastClass(char32_t c) const {
  const uint32_t range = model_.decomp[c], size = range & 0xff;
  if (size == 0) return 0;
  const size_t last = (range >> 8) + size - 1;
  return last < model_.map_pool.size() ? model_.ccc[model_.map_pool[last]] : 0;
}

// Whether NFC may join a character to what stands before it, or put it before that: the last starter
// composes with it, or a mark before it, also one that the starter was composed with, has a greater
// class.
bool SplitScanner::Joins(size_t at, char32_t c) const {
  const uint8_t ccc = model_.ccc[c];
  constexpr uint32_t kMost = 32;  // marks; a longer row is not looked at
  for (uint32_t n = 0; at != 0; ++n) {
    at = utf8::Previous(text_, at);
    const char32_t before = utf8::CodePointAt(text_, at);
    const uint8_t ccc_before = model_.ccc[before];
    if (n == kMost || (n == 0 && ccc != 0 && ccc_before > ccc)) return true;
    if (ccc_before != 0) continue;
    if (ccc != 0 && LastClass(before) > ccc) return true;
    const bool composes = (model_.split_classes[c] & split::kOrdered) != split::kOrdered;
    return composes && (ccc != 0 || n == 0) && normalize::Compose(model_, before, c) != 0;
  }
  return false;
}

}  // namespace rankfeed::fast
