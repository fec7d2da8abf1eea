// SPDX-License-Identifier: MIT
// general/hf_plain.cc: characters of hf_characters.h that need not go through the chain one by one.
#include <algorithm>

#include "base/utf8.h"
#include "general/hf_characters.h"
#include "normalize/charsmap.h"
#include "normalize/filters.h"
#include "unicode/properties.h"

namespace rankfeed::general {
namespace {

using image::NormalizerOp;
using image::PreTokenizerOp;
using image::Step;

std::span<const uint32_t> Decomposed(const Model& model, char32_t c, normalize::Form form) {
  return unicode::Mapping(model, form.compatible ? model.decomp_k : model.decomp, c);
}

// Whether an element of the normalizer leaves a character as it is beside other plain ones.
bool IsPlain(const Model& model, const Step& step, char32_t c) {
  char bytes[4], out_bytes[4];
  const std::string_view character(bytes, utf8::Encode(c, bytes));
  const auto op = NormalizerOp{step.op};
  switch (op) {
    case NormalizerOp::kPrecompiled:
      return c != '\r' && c != '\n' &&
             (model.props[c] & image::kGraphemeMask) == image::kGraphemeOther &&
             !Charsmap(model.charsmap_units, model.charsmap_pool).Shortest(character);
    case NormalizerOp::kStrip:
    case NormalizerOp::kReplaceSpaces:
      return !unicode::IsWhiteSpace(c);
    case NormalizerOp::kLowercase:
      return unicode::Mapping(model, model.lower, c).empty();
    case NormalizerOp::kNfc:
    case NormalizerOp::kNfd:
    case NormalizerOp::kNfkc:
    case NormalizerOp::kNfkd:
      return StaysAlone(model, c, FormOf(op));
    case NormalizerOp::kStripAccents:
      return !unicode::HasProp(model, c, image::kCombiningMark);
    case NormalizerOp::kNmt: {
      const normalize::NormalizedText in{bytes, nullptr, nullptr, 4,
                                         static_cast<uint32_t>(character.size())};
      normalize::NormalizedText out{out_bytes, nullptr, nullptr, 4, 0};
      return normalize::RunNmt(in, &out) && out.view() == character;
    }
    case NormalizerOp::kPrepend:
      return true;
    case NormalizerOp::kReplace:
    case NormalizerOp::kReplaceRun:
      return model.text(step.a).find(character) == std::string_view::npos;
  }
  return false;
}

// The same of a pre-tokenizer, if it neither drops the character nor splits beside it.
bool IsPlainToSplit(const Model& model, const Step& step, char32_t c) {
  switch (PreTokenizerOp{step.op}) {
    case PreTokenizerOp::kMetaspace:
      return c != ' ' && c != utf8::Decode(model.text(step.a), 0).code_point;
    case PreTokenizerOp::kWhitespaceSplit:
      return !unicode::IsWhiteSpace(c);
    case PreTokenizerOp::kWhitespace:
      return unicode::HasProp(model, c, image::kWord);
    case PreTokenizerOp::kPunctuation:
      return !unicode::HasProp(model, c, image::kPunctuationProp);
    case PreTokenizerOp::kDigits:
      return !unicode::HasProp(model, c, image::kNumeric);
    case PreTokenizerOp::kSplitString:
      return false;
  }
  return false;
}

}  // namespace

normalize::Form FormOf(NormalizerOp op) {
  return {op == NormalizerOp::kNfkc || op == NormalizerOp::kNfkd,
          op == NormalizerOp::kNfc || op == NormalizerOp::kNfkc};
}

bool StartsApart(const Model& model, char32_t c, normalize::Form form) {
  if (c < 0x80) return true;
  const std::span<const uint32_t> parts = Decomposed(model, c, form);
  const char32_t first = parts.empty() ? c : parts[0];
  if (model.ccc[first] != 0) return false;
  if (!form.composed) return true;
  if (first >= 0x1161 && first <= 0x11c2) return false;  // Hangul vowels and final consonants
  return std::none_of(model.compose.begin(), model.compose.end(),
                      [first](const image::ComposePair& pair) { return pair.second == first; });
}

bool StaysAlone(const Model& model, char32_t c, normalize::Form form) {
  if (c < 0x80) return true;
  const bool hangul = (c >= 0x1100 && c <= 0x11ff) || (c >= 0xac00 && c <= 0xd7a3);
  return !hangul && StartsApart(model, c, form) && Decomposed(model, c, form).empty();
}

bool PlainCharacters::Find(char32_t c) const {
  return std::all_of(model_.normalizer.begin(), model_.normalizer.end(),
                     [&](const Step& step) { return IsPlain(model_, step, c); }) &&
         std::all_of(model_.pre_tokenizer.begin(), model_.pre_tokenizer.end(),
                     [&](const Step& step) { return IsPlainToSplit(model_, step, c); });
}

// Whether a stage is as plain characters leave it; adds those that wait in it, the first to leave
// it first.
bool HfCharacters::IsWaiting(uint32_t stage, Character** waiting, uint32_t* count) {
  Stage& s = stages_[stage];
  const auto wait = [&](Character* c) {
    waiting[(*count)++] = c;
    return c->mark == 0 && plain_->Has(c->c);
  };
  const Step& step = StepOf(stage);
  if (stage >= normalizer_count_) {
    switch (PreTokenizerOp{step.op}) {
      case PreTokenizerOp::kMetaspace:
        return !s.has_held;
      case PreTokenizerOp::kWhitespaceSplit:
        return !s.after_match;
      case PreTokenizerOp::kWhitespace:
        return s.kind == kWordKind;
      case PreTokenizerOp::kPunctuation:
      case PreTokenizerOp::kDigits:
        return s.inside && !s.after_match;
      case PreTokenizerOp::kSplitString:
        return false;
    }
    return false;
  }
  const bool even = s.taken >= s.front && s.text_size == 0;
  switch (NormalizerOp{step.op}) {
    case NormalizerOp::kPrecompiled:
      return even && s.has_held && s.change == 0 && s.singles == 0 && !s.open &&
             s.ahead_size == 1 && wait(&s.held) && wait(&s.ahead[0]);
    case NormalizerOp::kStrip:
      return s.inside && s.count == 0;
    case NormalizerOp::kNfc:
    case NormalizerOp::kNfd:
    case NormalizerOp::kNfkc:
    case NormalizerOp::kNfkd:
      return forms_[s.form].at == forms_[s.form].size && s.has_held && wait(&s.held);
    case NormalizerOp::kLowercase:
      return s.list_size == 0;
    case NormalizerOp::kStripAccents:
    case NormalizerOp::kNmt:
      return true;
    case NormalizerOp::kPrepend:
      return even && s.inside && !s.has_held;
    case NormalizerOp::kReplace:
      return even && !s.has_held && s.matched == 0;
    case NormalizerOp::kReplaceRun:
    case NormalizerOp::kReplaceSpaces:
      return even && !s.has_held && !s.inside && s.count == 0;
  }
  return false;
}

// Reads the plain characters that are next.
uint32_t HfCharacters::ReadPlain(uint32_t* to, uint32_t count) {
  uint32_t i = 0;
  for (uint32_t size; i < count && at_ != end_; at_ += size) {
    char32_t c = static_cast<unsigned char>(text_[at_]);
    size = 1;
    if (c >= 0x80) {
      const utf8::Decoded d = utf8::Decode({text_, end_}, at_);
      c = d.code_point;
      size = d.size;
    }
    if (!plain_->Has(c)) break;
    to[i++] = c;
  }
  return i;
}

// Plain characters go through the chain one by one, each stage keeping as many back as before:
// those that wait come first, and as many of the last wait instead.
uint32_t HfCharacters::RunPlain(const CharacterArrays& out, uint32_t at, uint32_t count) {
  constexpr uint32_t kPause = 16;
  pause_ = kPause;
  if (!began_ || at_ == 0) return 0;
  Character* waiting[kMaxWaiting];
  uint32_t waiting_count = 0;
  for (uint32_t i = stage_count_; i > 0; --i) {
    if (!IsWaiting(i - 1, waiting, &waiting_count)) return 0;
  }
  if (waiting_count >= count) return 0;
  uint32_t* const to = out.c + at;
  for (uint32_t i = 0; i < waiting_count; ++i) to[i] = waiting[i]->c;
  const uint32_t made = ReadPlain(to + waiting_count, count - waiting_count);
  std::fill_n(out.mark + at, made, 0u);
  for (uint32_t i = 0; i < waiting_count; ++i) waiting[i]->c = to[made + i];
  for (uint32_t stage = 0; stage < normalizer_count_; ++stage) stages_[stage].taken += made;
  if (made > kPause) pause_ = 0;
  return made;
}

}  // namespace rankfeed::general
