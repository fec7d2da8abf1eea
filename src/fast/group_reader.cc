// SPDX-License-Identifier: MIT
// fast/group_reader.cc: see group_reader.h.
#include "fast/group_reader.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "normalize/normalize.h"
#include "normalize/precompiled.h"
#include "normalize/sp_normalize.h"

namespace rankfeed::fast {

void GroupReader::Scratch::Carve(Layout& layout) {
  for (char*& text : texts) text = layout.Take<char>(kNormalizedBytes);
  for (uint32_t*& array : work) array = layout.Take<uint32_t>(kNormalizedBytes);
  elements = layout.Take<uint16_t>(kNormalizedBytes);
  groups = layout.Take<KnownGroups::Memory>(1);
}

GroupReader::GroupReader(const Model& model, const NormalizedTokens& normalized_tokens,
                         const Scratch& scratch)
    : model_(model),
      normalized_tokens_(normalized_tokens),
      scratch_(scratch),
      signs_(model),
      groups_(model),
      symbols_(model),
      known_groups_(scratch.groups),
      keeps_other_spaces_((model.segment.config->rules & image::kDropsOther) != 0 &&
                          !normalize::JoinsWhiteSpace(model)) {}

// White space that is no space, in what `raw` normalizes to: HuggingFace may split there too, or
// drop it at an end of the stretch, unless it stood in the text (queue.h looks for that).
// SentencePiece splits at spaces, and no charsmap that spells a U+2581 comes here
// (builder/fast/eligibility.cc).
bool GroupReader::IsOtherSpace(char32_t c, std::string_view raw) const {
  if (!model_.huggingface() || c == ' ') return false;
  if (!unicode::IsWhiteSpace(c)) return c == 0x2581;
  char bytes[4];
  const std::string_view own(bytes, utf8::Encode(c, bytes));
  return !keeps_other_spaces_ || raw.find(own) == std::string_view::npos;
}

// False if the text is too long. A group keeps its spaces.
bool GroupReader::Normalize(std::string_view text, bool is_group, std::string_view* normalized) const {
  if (text.size() > kMaxNormalizable) return false;
  if (model_.huggingface()) {
    normalize::Buffers buffers;
    for (int i = 0; i < 2; ++i) {
      buffers.text[i] = {scratch_.texts[i], nullptr, nullptr, kNormalizedBytes, 0};
    }
    std::copy(std::begin(scratch_.work), std::end(scratch_.work), buffers.work);
    if (!normalize::Load(text, 0, static_cast<uint32_t>(text.size()), &buffers) ||
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
  if (!normalize::SpNormalize(normalizer, text, scratch_.texts[0], nullptr, kNormalizedBytes, &result)) {
    return false;
  }
  *normalized = {scratch_.texts[0], result.size};
  return true;
}

rankfeed_reason GroupReader::Read(std::string_view raw, bool is_group, std::span<const uint16_t>* elements) {
  std::string_view normalized;
  if (!Normalize(raw, is_group, &normalized)) return RANKFEED_REASON_LENGTH;
  if (normalized_tokens_.MayBeginIn(normalized)) return RANKFEED_REASON_ADDED_TOKEN;
  // Spaces inside one replacement do not collapse: each is a U+2581 of its own.
  if (!model_.huggingface() && normalized.find("  ") != std::string_view::npos) {
    return RANKFEED_REASON_CONTEXT;
  }
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
    if (!two && IsOtherSpace(c, raw)) return RANKFEED_REASON_CONTEXT;
    if (has_signs) {
      if (count + 2 > kNormalizedBytes) return RANKFEED_REASON_LENGTH;
      if (signs_.Is(c)) to[count++] = image::kSign;
    }
    const uint32_t code = codes[c];
    to[count++] = static_cast<uint16_t>(c == ' ' ? 0 : code != 0 ? code : code_count);
  }
  *elements = {to, count};
  return RANKFEED_REASON_NONE;
}

rankfeed_reason GroupReader::ReadGroup(std::string_view segment, size_t begin,
                                       CharacterGroups::Extent extent,
                                       std::span<const uint16_t>* elements) {
  if (symbols_.MayEndAt(segment, begin)) return RANKFEED_REASON_ADDED_TOKEN;
  const std::string_view group(segment.data() + begin, extent.end - begin);
  if (const KnownGroups::Entry* const known = known_groups_.Find(group)) {
    *elements = {known->codes, known->count};
    return RANKFEED_REASON_NONE;
  }
  if (extent.leaves) return RANKFEED_REASON_CHARACTER;
  const rankfeed_reason reason = Read(group, /*is_group=*/true, elements);
  if (reason == RANKFEED_REASON_NONE) known_groups_.Keep(group, *elements);
  return reason;
}

uint32_t GroupReader::CodesOf(std::string_view segment, bool word_start, std::span<uint16_t> codes) const {
  if (word_start) codes[0] = static_cast<uint16_t>(model_.segment.config->space_code);
  uint32_t count = word_start;
  image::CharInfo previous;
  for (size_t pos = 0; pos < segment.size();) {
    const Character c = CharacterAt(model_.segment, segment, pos);
    if (!c.valid || c.info.NormalizesAfter(previous)) break;
    if (codes.size() - count < image::kMaxExpansionCodes) return 0;
    pos += c.size;
    previous = c.info;
    if (c.info.Expands()) {
      for (const uint16_t code : ExpansionOf(model_.segment, c.info)) codes[count++] = code;
    } else {
      codes[count++] = static_cast<uint16_t>(c.info.code());
    }
    if (pos == segment.size()) return count;
  }
  std::string_view text;
  if (!Normalize(segment, /*is_group=*/false, &text)) return 0;
  count = word_start;
  for (size_t pos = 0; pos < text.size();) {
    if (count == codes.size()) return 0;
    uint32_t size;
    codes[count++] = static_cast<uint16_t>(CodeOf(utf8::DecodeValid(text.data() + pos, &size)));
    pos += size;
  }
  return count;
}

}  // namespace rankfeed::fast
