// SPDX-License-Identifier: MIT
// segment/decode_normalized.cc: what goes through the normalizer in a segment that is decoded to
// spans: groups of characters that are read together, or the whole segment (decode.h, groups.h).
// With it what depends on the bytes next to a segment.
#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "normalize/precompiled.h"
#include "normalize/sp_normalize.h"
#include "segment/decode.h"

namespace rankfeed::segment {

using Kind = Outcome::Kind;

// White space that is no space, in what `raw` normalizes to: HuggingFace may split there too, or
// drop it at an end of the stretch, unless it stood in the text (queue.h looks for that).
// SentencePiece splits at spaces, and no charsmap that spells a U+2581 comes here
// (builder/eligibility.cc).
bool SpanDecoder::IsOtherThan(char32_t c, std::string_view raw) const {
  if (!model_.huggingface()) return false;
  if (c == 0x2581) return true;
  char bytes[4];
  const std::string_view own(bytes, utf8::Encode(c, bytes));
  return !keeps_other_spaces_ || raw.find(own) == std::string_view::npos;
}

// Appends a character of normalized text, element - 1 of the group from `text` to group_end.
void SpanDecoder::AppendNormalized(char32_t c, const char* text, uint32_t element,
                                   uint32_t group_end) {
  if (signs_.Is(c)) {
    BeginSign();
    AddWordOfSign(CodeOf(c));
    return;
  }
  if (c != ' ') {
    trailing_space_ = false;
    Add(CodeOf(c));
    return;
  }
  Close();
  Open(true, text, element, group_end);
  spaces_ = true;
  trailing_space_ = !every_space_;  // it makes a word there
}

// What a segment with characters that are not normalized one by one becomes, or a group, which
// keeps its spaces. False if it is too long.
bool SpanDecoder::NormalizeWhole(std::string_view segment, std::string_view* normalized,
                                 bool is_group) const {
  if (segment.size() > kMaxNormalizable) return false;
  if (model_.huggingface()) {
    normalize::Buffers buffers;
    for (int i = 0; i < 2; ++i) {
      buffers.text[i] = {scratch_.texts[i], nullptr, nullptr, kNormalizedBytes, 0};
    }
    std::copy(std::begin(scratch_.work), std::end(scratch_.work), buffers.work);
    if (!normalize::Load(segment, 0, static_cast<uint32_t>(segment.size()), &buffers) ||
        normalize::RunSegmentNormalizer(model_, &buffers) != RANKFEED_OK) {
      return false;
    }
    *normalized = buffers.in().view();
    return true;
  }
  normalize::SpNormalizer normalizer = normalize::SpNormalizerOf(model_);
  normalizer.add_dummy_prefix = normalizer.escape_whitespaces = false;
  if (is_group) normalizer.remove_extra_whitespaces = false;
  normalize::SpNormalized result;
  if (!normalize::SpNormalize(normalizer, segment, scratch_.texts[0], nullptr, kNormalizedBytes,
                              &result)) {
    return false;
  }
  *normalized = {scratch_.texts[0], result.size};
  return true;
}

// The same, where it may be taken.
Outcome SpanDecoder::Normalize(std::string_view segment, std::string_view* normalized,
                               bool is_group) const {
  if (!NormalizeWhole(segment, normalized, is_group)) return Outcome::General(RANKFEED_REASON_LENGTH);
  if (normalized_tokens_.MayBeginIn(*normalized)) {
    return Outcome::General(RANKFEED_REASON_ADDED_TOKEN);
  }
  // Spaces inside one replacement do not collapse: each is a U+2581 of its own.
  if (!model_.huggingface() && normalized->find("  ") != std::string_view::npos) {
    return Outcome::General(RANKFEED_REASON_CONTEXT);
  }
  return {};
}

Outcome SpanDecoder::DecodeNormalized(std::string_view segment, bool word_start) {
  std::string_view text;
  const Outcome outcome = Normalize(segment, &text, /*is_group=*/false);
  if (outcome.kind != Kind::kSearch) return outcome;
  const bool huggingface = model_.huggingface();
  if (leaves_nothing_ && text.empty()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  trailing_space_ = spaces_ = word_first_ = false;
  front_ = true;
  at_front_ = front_vanishes_ && before_ == kNoByte;
  Open(word_start, nullptr);
  for (size_t pos = 0; pos < text.size();) {
    if (room() < kCharRoom) {
      TakeBack();
      if (first_size_ + search_.size() == 0) return Outcome::General(RANKFEED_REASON_LENGTH);
      return {Kind::kFull};
    }
    uint32_t size;
    const char32_t c = utf8::DecodeValid(text.data() + pos, &size);
    pos += size;
    if (IsOtherSpace(c, segment)) return Outcome::General(RANKFEED_REASON_CONTEXT);
    if (c != ' ' && !signs_.any()) {  // as AppendNormalized
      trailing_space_ = false;
      Add(CodeOf(c));
      continue;
    }
    AppendNormalized(c, nullptr, 0, 0);
  }
  if (huggingface && LeavesLineEndsTogether()) return Outcome::General(RANKFEED_REASON_CONTEXT);
  Close();
  return {};
}

// Whether a character of kCharGeneralPath is a code where it stands: between two that are, or that
// become several of which the next to it is no space, or at an end of its stretch.
bool SpanDecoder::StandsApart(std::string_view segment, size_t at, uint32_t info) {
  constexpr uint32_t kNoCode = image::kCharNormalizes | image::kCharGeneralPath;
  const size_t next = at + utf8::Decode(segment, at).size;
  if ((info & image::kCharCodeMask) == 0) return false;
  depends_ |= at == 0 || next == segment.size();
  const auto is_code = [this](uint32_t neighbour, bool first) {
    if ((neighbour & kNoCode) != 0) return false;
    if ((neighbour & image::kCharExpands) == 0) return (neighbour & image::kCharSpace) == 0;
    const uint16_t* const list = run_.expansions + (neighbour & image::kCharCodeMask);
    const uint32_t count = ExpansionCount(list);
    return count != 0 && list[first ? 1 : count] != 0;
  };
  const bool apart_before =
      at == 0 ? EndsApart(before_, image::kDropsOtherLeft) : is_code(run_.previous, false);
  if (!apart_before) return false;
  if (next == segment.size()) return EndsApart(after_, image::kDropsOtherRight);
  const utf8::Decoded c = utf8::Decode(segment, next);
  return c.valid && is_code(tables_.char_info[c.code_point], true);
}

// The same of the end of the segment: a sign stands there, or the stretch ends and no Strip drops
// the character.
bool SpanDecoder::EndsApart(int neighbour, uint32_t drops) const {
  if (neighbour == kNoByte) return (tables_.config->rules & drops) == 0;
  return signs_.Has(static_cast<char>(neighbour));
}

// What a group normalizes to, to *elements, which stay until the next.
Outcome SpanDecoder::NormalizeGroup(std::string_view group, std::span<const uint16_t>* elements) {
  std::string_view normalized;
  const Outcome outcome = Normalize(group, &normalized, /*is_group=*/true);
  if (outcome.kind != Kind::kSearch) return outcome;
  // Copies: for all the compiler knows what is stored below is what members point to.
  uint16_t* const to = scratch_.elements;
  const CodePointTable<uint16_t> codes = model_.codes;
  const uint32_t code_count = model_.config->code_count;
  const bool has_signs = signs_.any();
  uint32_t count = 0;  // at most that of bytes, but for signs
  for (const char *text = normalized.data(), *end = text + normalized.size(); text != end;) {
    // U+0100 to U+07FF are no spaces; most marks are of them.
    const auto lead = static_cast<unsigned char>(text[0]);
    const bool two = lead >= 0xc4 && lead < 0xe0;
    uint32_t size = 2;
    const char32_t c =
        two ? (lead & 0x1fu) << 6 | (static_cast<unsigned char>(text[1]) & 0x3fu)
            : utf8::DecodeValid(text, &size);
    text += size;
    if (!two && IsOtherSpace(c, group)) return Outcome::General(RANKFEED_REASON_CONTEXT);
    if (has_signs) {
      if (count + 2 > kNormalizedBytes) return Outcome::General(RANKFEED_REASON_LENGTH);
      if (signs_.Is(c)) to[count++] = image::kSign;
    }
    const uint32_t code = codes[c];
    to[count++] = static_cast<uint16_t>(c == ' ' ? 0 : code != 0 ? code : code_count);
  }
  *elements = {to, count};
  return {};
}

// Whether nothing came of the segment, and CR stands before it and LF after it: where it vanished
// in front of the charsmap, they are one cluster there.
bool SpanDecoder::LeavesLineEndsTogether() {
  const uint32_t open = run_.open();
  const bool empty = run_.size == open || (run_.size == open + 1 && run_.codes[open] == metaspace_);
  const bool nothing = every_space_ && front_ && run_.count == first_count_ && empty;
  depends_ |= nothing;
  return nothing && before_ == '\r' && after_ == '\n';
}

uint32_t SpanDecoder::CodesOf(std::string_view segment, bool word_start, uint16_t* codes) const {
  uint32_t count = 0, previous = 0;
  if (word_start) codes[count++] = metaspace_;
  const uint32_t first = count;
  for (size_t pos = 0; pos < segment.size();) {
    const utf8::Decoded c = utf8::Decode(segment, pos);
    const uint32_t info = tables_.char_info[c.code_point];
    if (!c.valid ||
        (info & (image::kCharNormalizes | image::JoiningMarks(previous))) != 0) {
      const uint32_t normalized = NormalizedCodes(segment, {codes + first, kMaxSegmentCodes - 1});
      if (normalized == 0) return 0;
      count = first + normalized;
      break;
    }
    pos += c.size;
    previous = info;
    if ((info & image::kCharExpands) != 0) {
      const uint16_t* list = tables_.expansions.data() + (info & image::kCharCodeMask);
      const uint32_t expanded = ExpansionCount(list);
      for (uint32_t i = 0; i < expanded; ++i) codes[count++] = list[1 + i];
    } else {
      codes[count++] = static_cast<uint16_t>(info & image::kCharCodeMask);
    }
  }
  return count;
}

uint32_t SpanDecoder::NormalizedCodes(std::string_view segment, std::span<uint16_t> codes) const {
  // Groups of it were normalized before, and its added tokens looked for.
  std::string_view text;
  if (!NormalizeWhole(segment, &text)) return 0;
  uint32_t count = 0;
  for (size_t pos = 0; pos < text.size();) {
    if (count == codes.size()) return 0;
    uint32_t size;
    codes[count++] = static_cast<uint16_t>(CodeOf(utf8::DecodeValid(text.data() + pos, &size)));
    pos += size;
  }
  return count;
}

}  // namespace rankfeed::segment
