// SPDX-License-Identifier: MIT
#include "segment/split_scan.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "normalize/unicode_forms.h"

namespace rankfeed::segment {
namespace {

uint32_t KnobsOf(const Model& model) {
  for (const image::Step& step : model.pre_tokenizer) {
    if (step.op == static_cast<uint32_t>(image::Op::kSplitPattern)) return step.arg0;
  }
  return 0;
}

bool HasThreeBytes(std::string_view text, size_t at) {
  return (static_cast<uint8_t>(text[at]) & 0xf0) == 0xe0;
}

}  // namespace

SplitScanner::SplitScanner(const Model& model)
    : model_(model),
      pattern_(model, KnobsOf(model)),
      space_run_(model.segment.config->space_run),
      composes_(!model.normalizer.empty()) {}

bool SplitScanner::Start(std::string_view text) {
  text_ = text;
  run_ = split_ = 0;
  if (space_run_ == 0) run_ = text.size();
  for (size_t at = 0; at < text.size();) {
    stable_ = at;
    uint64_t word = ~uint64_t{0};
    if (text.size() - at >= sizeof(word)) std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & 0x8080808080808080u) == 0) {
      at += sizeof(word);
      continue;
    }
    const utf8::Decoded c = utf8::DecodeInline(text, at);
    if (c.code_point >= 0x80 && !IsStable(at, c)) return false;
    at += c.size;
  }
  return true;
}

uint32_t SplitScanner::Next(size_t at, size_t bytes, const Segments& segments, size_t* end) {
  const size_t stop = std::min(text_.size(), at + bytes);
  uint32_t count = 0;
  for (; at < stop; ++count) {
    if (split_ <= at) split_ = SplitEnd(at);
    segments.begins[count] = static_cast<uint32_t>(at);
    at = PartEnd(at, split_);
    segments.ends[count] = static_cast<uint32_t>(at);
  }
  *end = at;
  return count;
}

// The end of the split, or of the added token, that begins at `at`. A run of spaces is as many of the
// longest as fit, and one of two or more that are left; a single one is the next word's.
size_t SplitScanner::SplitEnd(size_t at) {
  if (run_ < at || (at == 0 && space_run_ != 0)) run_ = std::min(text_.find("  ", at), text_.size());
  if (run_ != at || run_ == text_.size()) return pattern_.End({text_.data(), run_}, at);
  const size_t size = std::min(text_.find_first_not_of(' ', at), text_.size()) - at;
  if (size <= 1) {
    run_ = std::min(text_.find("  ", at), text_.size());
    return pattern_.End({text_.data(), run_}, at);
  }
  const size_t token = std::min<size_t>(size, space_run_);
  run_ = at + token;  // what is left of the run
  return at + token;
}

// The end of the first part of a split's rest [at, end).
size_t SplitScanner::PartEnd(size_t at, size_t end) const {
  while (at < end && !HasThreeBytes(text_, at)) ++at;
  if (at == end) return end;
  const uint64_t* const pairs = model_.segment.spanned_pairs.data();
  char32_t before = utf8::CodePointAt(text_, at);
  for (at += 3; at < end; at += 3) {
    if (!HasThreeBytes(text_, at)) return PartEnd(at, end);
    const char32_t c = utf8::CodePointAt(text_, at);
    if (!image::Spanned(pairs, before, c) && !image::Spanned(pairs, before, image::kAnyCharacter)) {
      break;
    }
    before = c;
  }
  return at;
}

// Whether NFC leaves a character of the text alone.
bool SplitScanner::IsStable(size_t at, const utf8::Decoded& c) const {
  if (!c.valid) return false;
  const uint8_t kind = model_.split_classes[c.code_point];
  if (!composes_ || (kind & (split::kUnstable | split::kCombining)) == 0) return true;
  return (kind & split::kUnstable) == 0 && !Joins(at, c.code_point);
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
    return (ccc != 0 || n == 0) && normalize::Compose(model_, before, c) != 0;
  }
  return false;
}

}  // namespace rankfeed::segment
