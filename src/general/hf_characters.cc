// SPDX-License-Identifier: MIT
// general/hf_characters.cc: see hf_characters.h. What each element does, and whence, stands in
// src/normalize and general/hf_pretokenize.cc; here is the same of one character after the other.
#include "general/hf_characters.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/utf8.h"
#include "normalize/charsmap.h"
#include "normalize/filters.h"
#include "normalize/precompiled.h"
#include "unicode/properties.h"

namespace rankfeed::general {
namespace {

using image::NormalizerOp;
using image::PreTokenizerOp;
using image::Step;

// Of a Stage's text: characters taken, which keep their own marks.
constexpr uint32_t kTaken = ~uint32_t{0};
// Longer patterns would be searched in a time that grows with their square.
constexpr size_t kMaxPattern = 256;

bool IsOneCharacter(std::string_view text) {
  return !text.empty() && utf8::Decode(text, 0).size == text.size();
}

char32_t FirstOf(std::string_view text) {
  return utf8::Decode(text, 0).code_point;
}

uint32_t CountCharacters(std::string_view text) {
  uint32_t count = 0;
  for (const char c : text) count += !utf8::IsContinuation(c);
  return count;
}

bool HasNormalizer(const Model& model, const Step& step, uint32_t* forms, uint32_t* strips) {
  switch (NormalizerOp{step.op}) {
    case NormalizerOp::kStrip:
      *strips += step.arg1 != 0;
      return true;
    case NormalizerOp::kNfc:
    case NormalizerOp::kNfd:
    case NormalizerOp::kNfkc:
    case NormalizerOp::kNfkd:
      ++*forms;
      return true;
    case NormalizerOp::kReplace:
      return !model.text(step.a).empty() && model.text(step.a).size() <= kMaxPattern;
    case NormalizerOp::kReplaceRun:
      return IsOneCharacter(model.text(step.a));
    case NormalizerOp::kPrecompiled:
    case NormalizerOp::kLowercase:
    case NormalizerOp::kStripAccents:
    case NormalizerOp::kNmt:
    case NormalizerOp::kPrepend:
    case NormalizerOp::kReplaceSpaces:
      return true;
  }
  return false;
}

bool HasPreTokenizer(const Model& model, const Step& step) {
  switch (PreTokenizerOp{step.op}) {
    case PreTokenizerOp::kMetaspace:
      return IsOneCharacter(model.text(step.a));
    case PreTokenizerOp::kWhitespaceSplit:
    case PreTokenizerOp::kWhitespace:
    case PreTokenizerOp::kPunctuation:
    case PreTokenizerOp::kDigits:
      return true;
    case PreTokenizerOp::kSplitString:
      return false;
  }
  return false;
}

}  // namespace

bool HfCharacters::Has(const Model& model) {
  uint32_t forms = 0, strips = 0;
  for (const Step& step : model.normalizer) {
    if (!HasNormalizer(model, step, &forms, &strips)) return false;
  }
  for (const Step& step : model.pre_tokenizer) {
    if (!HasPreTokenizer(model, step)) return false;
  }
  // White space before the end is looked at twice, by a second Strip four times.
  return model.added_normalized.empty() && forms <= kMaxForms && strips <= 2 &&
         model.normalizer.size() + model.pre_tokenizer.size() <= kMaxStages &&
         model.config->max_piece_chars <= LongScratch::kMaxPieceChars;
}

HfCharacters::HfCharacters(const Model& model, PlainCharacters* plain, KnownForms* known,
                           std::string_view text, uint32_t begin, uint32_t end)
    : model_(&model),
      plain_(plain),
      known_(known),
      text_(text.data()),
      at_(begin),
      end_(end),
      normalizer_count_(static_cast<uint32_t>(model.normalizer.size())) {
  uint32_t forms = 0;
  for (const Step& step : model.normalizer) {
    Stage& stage = stages_[stage_count_];
    stage.step = &step;
    ++stage_count_;
    const auto op = NormalizerOp{step.op};
    const bool form = op == NormalizerOp::kNfc || op == NormalizerOp::kNfd ||
                      op == NormalizerOp::kNfkc || op == NormalizerOp::kNfkd;
    stage.form = forms % kMaxForms;
    forms += form;
    if (op == NormalizerOp::kReplace || op == NormalizerOp::kReplaceRun) {
      stage.first = FirstOf(model.text(step.a));
    }
  }
  for (const Step& step : model.pre_tokenizer) {
    Stage& stage = stages_[stage_count_++];
    stage.step = &step;
    if (PreTokenizerOp{step.op} == PreTokenizerOp::kMetaspace) {
      stage.first = FirstOf(model.text(step.a));
    }
  }
}

// The next character before that stage; behind the last one, what the chain makes.
bool HfCharacters::Take(uint32_t stage, Character* c) {
  if (!(stage == 0 ? Source(c) : Pull(stage - 1, c))) return false;
  if (stage == normalizer_count_ && !began_) {
    began_ = true;
    c->mark |= kBegins;
  }
  if (stage < stage_count_) stages_[stage].front += c->mark & kFront;
  return true;
}

bool HfCharacters::Source(Character* c) {
  if (at_ == end_) return false;
  const uint32_t mark = at_ == 0 ? kFront : 0;
  if (const auto byte = static_cast<unsigned char>(text_[at_]); byte < 0x80) {
    *c = {byte, mark};
    ++at_;
    return true;
  }
  const utf8::Decoded d = utf8::Decode({text_, end_}, at_);
  *c = {d.code_point, mark};
  at_ += d.size;
  return true;
}

bool HfCharacters::Pull(uint32_t stage, Character* c) {
  const Step& step = StepOf(stage);
  if (stage >= normalizer_count_) {
    switch (PreTokenizerOp{step.op}) {
      case PreTokenizerOp::kMetaspace:
        return Metaspace(stage, c);
      case PreTokenizerOp::kWhitespaceSplit:
        return WhitespaceSplit(stage, c);
      case PreTokenizerOp::kWhitespace:
        return Whitespace(stage, c);
      case PreTokenizerOp::kPunctuation:
        return SplitAt(stage, image::kPunctuationProp, step.arg0, c);
      case PreTokenizerOp::kDigits:
        return SplitAt(stage, image::kNumeric,
                       step.arg0 != 0 ? image::kIsolated : image::kContiguous, c);
      case PreTokenizerOp::kSplitString:
        return false;
    }
    return false;
  }
  switch (NormalizerOp{step.op}) {
    case NormalizerOp::kPrecompiled:
      return Precompiled(stage, c);
    case NormalizerOp::kStrip:
      return Strip(stage, c);
    case NormalizerOp::kLowercase:
      return Lowercase(stage, c);
    case NormalizerOp::kNfc:
    case NormalizerOp::kNfd:
    case NormalizerOp::kNfkc:
    case NormalizerOp::kNfkd:
      return NormalForm(stage, c);
    case NormalizerOp::kStripAccents:
      return StripAccents(stage, c);
    case NormalizerOp::kNmt:
      return Nmt(stage, c);
    case NormalizerOp::kPrepend:
      return Prepend(stage, c);
    case NormalizerOp::kReplace:
      return Replace(stage, c);
    case NormalizerOp::kReplaceRun:
      return ReplaceRun(stage, c);
    case NormalizerOp::kReplaceSpaces:
      return ReplaceSpaces(stage, c);
  }
  return false;
}

// The next character of a text that is to come.
bool HfCharacters::TakeText(Stage& s, Character* c) const {
  if (s.text_size == 0) return false;
  if (const auto byte = static_cast<unsigned char>(*s.text); byte < 0x80) {
    *c = {byte, s.text_mark == kTaken ? FrontOf(s, s.taken++) : s.text_mark};
    ++s.text;
    --s.text_size;
    return true;
  }
  const utf8::Decoded d = utf8::Decode({s.text, s.text_size}, 0);
  *c = {d.code_point, s.text_mark == kTaken ? FrontOf(s, s.taken++) : s.text_mark};
  s.text += d.size;
  s.text_size -= d.size;
  return true;
}

void HfCharacters::PutText(Stage& s, std::string_view text, uint32_t mark) const {
  s.text = text.data();
  s.text_size = static_cast<uint32_t>(text.size());
  s.text_mark = mark;
}

// Whether there is a character in s.held; otherwise nothing is left before the stage.
bool HfCharacters::Hold(uint32_t stage) {
  Stage& s = stages_[stage];
  if (!s.has_held && !s.ended) {
    s.has_held = Take(stage, &s.held);
    s.ended = !s.has_held;
  }
  return s.has_held;
}

// Passes the held character on as it is.
bool HfCharacters::Release(Stage& s, Character* c) const {
  *c = {s.held.c, FrontOf(s, s.taken++)};
  s.has_held = false;
  return true;
}

// Takes and passes on the next character of a stage that is in the middle of nothing, if it does
// not look for that one; otherwise it is held.
template <class F>
bool HfCharacters::PassOn(uint32_t stage, Character* c, F is_sought) {
  Stage& s = stages_[stage];
  if (s.has_held || s.text_size != 0 || !Hold(stage) || is_sought(s.held.c)) return false;
  return Release(s, c);
}

bool HfCharacters::Strip(uint32_t stage, Character* c) {
  const Step& step = StepOf(stage);
  Stage& s = stages_[stage];
  while (!s.ended && Take(stage, c)) {
    if (s.count != 0) {  // known to have others behind it
      --s.count;
      return true;
    }
    if (!unicode::IsWhiteSpace(c->c)) {
      s.inside = true;
      return true;
    }
    if (step.arg0 != 0 && !s.inside) continue;
    if (step.arg1 == 0) return true;
    HfCharacters ahead = *this;
    Character other;
    bool ends = true;
    uint64_t count = 0;
    while (ends && ahead.Take(stage, &other)) {
      ends = unicode::IsWhiteSpace(other.c);
      ++count;
    }
    if (ends) break;
    s.count = count - 1;
    return true;
  }
  s.ended = true;
  return false;
}

bool HfCharacters::Lowercase(uint32_t stage, Character* c) {
  Stage& s = stages_[stage];
  for (;;) {
    if (s.list_size != 0) {
      *c = {*s.list++, s.text_mark};
      --s.list_size;
      return true;
    }
    if (!Take(stage, c)) return false;
    const std::span<const uint32_t> mapped = unicode::Mapping(*model_, model_->lower, c->c);
    if (mapped.empty()) return true;
    s.list = mapped.data();
    s.list_size = static_cast<uint32_t>(mapped.size());
    s.text_mark = c->mark;
  }
}

bool HfCharacters::StripAccents(uint32_t stage, Character* c) {
  while (Take(stage, c)) {
    if (!unicode::HasProp(*model_, c->c, image::kCombiningMark)) return true;
  }
  return false;
}

bool HfCharacters::Nmt(uint32_t stage, Character* c) {
  while (Take(stage, c)) {
    char in_bytes[4], out_bytes[4];
    normalize::NormalizedText in, out;
    in.data = in_bytes;
    in.size = in.capacity = utf8::Encode(c->c, in_bytes);
    out.data = out_bytes;
    out.capacity = sizeof(out_bytes);
    normalize::RunNmt(in, &out);
    if (out.size == 0) continue;
    c->c = FirstOf(out.view());
    return true;
  }
  return false;
}

bool HfCharacters::Prepend(uint32_t stage, Character* c) {
  Stage& s = stages_[stage];
  if (!s.inside) {
    if (!Hold(stage)) return false;
    s.inside = true;
    PutText(s, model_->text(StepOf(stage).a), s.held.mark);
  }
  if (TakeText(s, c)) return true;
  return Hold(stage) && Release(s, c);
}

bool HfCharacters::Replace(uint32_t stage, Character* c) {
  const Step& step = StepOf(stage);
  const std::string_view pattern = model_->text(step.a);
  Stage& s = stages_[stage];
  const auto begins = [&s](char32_t of) { return of == s.first; };
  if (s.matched == 0 && PassOn(stage, c, begins)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (!Hold(stage)) {
      if (s.matched == 0) return false;
      PutText(s, {pattern.data(), s.matched}, kTaken);
      s.matched = 0;
      continue;
    }
    const utf8::Decoded next = utf8::Decode(pattern, s.matched);
    if (next.valid && next.code_point == s.held.c) {
      s.has_held = false;
      s.matched += next.size;
      if (s.matched < pattern.size()) continue;
      s.matched = 0;
      s.taken += CountCharacters(pattern);
      PutText(s, model_->text(step.b), FrontOf(s, s.taken - 1));
      continue;
    }
    if (s.matched == 0) return Release(s, c);
    // As much of what was matched goes on as leaves a begin of the pattern.
    uint32_t keep = s.matched - 1;
    while (std::memcmp(pattern.data(), pattern.data() + s.matched - keep, keep) != 0) --keep;
    PutText(s, {pattern.data(), s.matched - keep}, kTaken);
    s.matched = keep;
  }
}

bool HfCharacters::ReplaceRun(uint32_t stage, Character* c) {
  const Step& step = StepOf(stage);
  Stage& s = stages_[stage];
  const char32_t character = s.first;
  const auto is_it = [character](char32_t of) { return of == character; };
  if (s.count == 0 && !s.inside && PassOn(stage, c, is_it)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (s.inside) {  // a run that is too short
      *c = {character, FrontOf(s, s.taken++)};
      s.inside = --s.count != 0;
      return true;
    }
    if (Hold(stage) && s.held.c == character) {
      s.has_held = false;
      ++s.count;
      continue;
    }
    if (s.count == 0) return s.has_held && Release(s, c);
    s.inside = s.count < step.arg0;
    if (s.inside) continue;
    s.taken += s.count;
    s.count = 0;
    PutText(s, model_->text(step.b), FrontOf(s, s.taken - 1));
  }
}

bool HfCharacters::ReplaceSpaces(uint32_t stage, Character* c) {
  Stage& s = stages_[stage];
  if (s.count == 0 && PassOn(stage, c, unicode::IsWhiteSpace)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (Hold(stage) && unicode::IsWhiteSpace(s.held.c)) {
      if (s.count++ == 0) s.ahead[0] = s.held;
      s.has_held = false;
      continue;
    }
    if (s.count == 0) return s.has_held && Release(s, c);
    const char32_t first = s.ahead[0].c;
    const bool replaced = s.count > 1 || first == '\n' || first == '\r' || first == '\t';
    s.taken += s.count;
    s.count = 0;
    const uint32_t mark = FrontOf(s, s.taken - 1);
    if (!replaced) {
      *c = {first, mark};
      return true;
    }
    PutText(s, model_->text(StepOf(stage).b), mark);
  }
}

// normalize::Transform: a character that was made goes out when the next one comes, as what is
// dropped until then is taken off its change.
bool HfCharacters::FlushChanged(Stage& s, Character* c) const {
  if (!s.has_held) return false;
  s.has_held = false;
  const uint64_t like = s.change > 0 && s.taken > 0 ? s.taken - 1 : s.taken;
  *c = {s.held.c, FrontOf(s, like)};
  if (s.change <= 0) s.taken += static_cast<uint64_t>(1 - int64_t{s.change});
  return true;
}

bool HfCharacters::PushChanged(Stage& s, char32_t made, int32_t change, Character* c) const {
  const bool flushed = FlushChanged(s, c);
  s.held.c = made;
  s.change = change;
  s.has_held = true;
  return flushed;
}

// `count` characters become what a key maps to.
void HfCharacters::PutReplacement(Stage& s, std::string_view replacement, int32_t count) const {
  PutText(s, replacement, 0);
  s.replaced = count;
  s.made = 0;
  if (replacement.empty() && s.has_held) s.change -= count;
}

bool HfCharacters::Precompiled(uint32_t stage, Character* c) {
  const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
  Stage& s = stages_[stage];
  for (;;) {
    Character made;
    if (TakeText(s, &made)) {
      const bool flushed = PushChanged(s, made.c, s.made < s.replaced ? 0 : 1, c);
      ++s.made;
      if (s.text_size == 0 && s.made < s.replaced) s.change -= s.replaced - s.made;
      if (flushed) return true;
      continue;
    }
    if (s.singles == 0 && !s.open && KeptAlone(stage)) {
      const char32_t kept = s.ahead[0].c;
      s.ahead[0] = s.ahead[1];
      --s.ahead_size;
      if (PushChanged(s, kept, 0, c)) return true;
      continue;
    }
    if (s.singles == 0 && !OpenCluster(stage)) return FlushChanged(s, c);
    if (s.singles == 0) continue;  // it was replaced as a whole
    const char32_t single = s.ahead[0].c;
    std::copy(s.ahead + 1, s.ahead + s.ahead_size, s.ahead);
    --s.ahead_size;
    --s.singles;
    char bytes[4];
    if (const CharsmapMatch match = charsmap.Shortest({bytes, utf8::Encode(single, bytes)})) {
      PutReplacement(s, match.replacement, 1);
    } else if (PushChanged(s, single, 0, c)) {
      return true;
    }
  }
}

// Whether the next character is ASCII that no key begins with, in a cluster of its own, as most
// are: two ASCII characters join only as CR LF.
bool HfCharacters::KeptAlone(uint32_t stage) {
  Stage& s = stages_[stage];
  if (s.ahead_size == 0) s.ahead_size = Take(stage, &s.ahead[0]) ? 1 : 0;
  const char32_t c = s.ahead[0].c;
  if (s.ahead_size == 0 || c >= 0x80 || c == '\r') return false;
  if ((s.kept[c / 64] >> c % 64 & 1) == 0) {
    const char byte = static_cast<char>(c);
    const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
    if (charsmap.Shortest({&byte, 1})) return false;
    s.kept[c / 64] |= uint64_t{1} << c % 64;
  }
  if (s.ahead_size == 1 && Take(stage, &s.ahead[1])) s.ahead_size = 2;
  return s.ahead_size == 1 || s.ahead[1].c < 0x80;
}

// Reads a cluster on, or the next one as far as it may be replaced as a whole, and replaces it.
// s.singles: characters that are replaced each. False at the end.
bool HfCharacters::OpenCluster(uint32_t stage) {
  Stage& s = stages_[stage];
  const auto kind = [this](const Character& of) {
    return model_->props[of.c] & image::kGraphemeMask;
  };
  if (s.ahead_size == 0) {
    if (!Take(stage, &s.ahead[0])) return false;
    s.ahead_size = 1;
  }
  if (s.open && s.rules.Joins(kind(s.ahead[0]))) {
    s.singles = 1;
    return true;
  }
  s.rules = unicode::ClusterRules(kind(s.ahead[0]));
  char bytes[normalize::kWholeClusterBytes + 4];
  uint32_t size = utf8::Encode(s.ahead[0].c, bytes);
  uint8_t count = 1;
  s.open = true;
  while (s.open && size < normalize::kWholeClusterBytes) {
    s.open = s.ahead_size > count || Take(stage, &s.ahead[count]);
    if (!s.open) break;
    s.ahead_size = std::max<uint8_t>(s.ahead_size, count + 1);
    s.open = s.rules.Joins(kind(s.ahead[count]));
    if (s.open) size += utf8::Encode(s.ahead[count++].c, bytes + size);
  }
  if (!s.open) {
    const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
    if (const CharsmapMatch match = charsmap.Shortest({bytes, size})) {
      std::copy(s.ahead + count, s.ahead + s.ahead_size, s.ahead);
      s.ahead_size -= count;
      PutReplacement(s, match.replacement, count);
      return true;
    }
  }
  s.singles = count;
  return true;
}

bool HfCharacters::Metaspace(uint32_t stage, Character* c) {
  const Step& step = StepOf(stage);
  Stage& s = stages_[stage];
  const char32_t replacement = s.first;
  if (s.has_held) {
    s.has_held = false;
    *c = s.held;
    return true;
  }
  if (!Take(stage, c)) return false;
  if (c->c == ' ' || c->c == replacement) {
    c->c = replacement;
    if (step.arg1 != 0) c->mark |= kBegins;
    return true;
  }
  const bool wanted = step.arg0 == image::kPrependAlways ||
                      (step.arg0 == image::kPrependFirst && (c->mark & kFront) != 0);
  if ((c->mark & kBegins) == 0 || !wanted) return true;
  s.held = {c->c, c->mark & ~kBegins};
  s.has_held = true;
  c->c = replacement;
  return true;
}

bool HfCharacters::WhitespaceSplit(uint32_t stage, Character* c) {
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    if (unicode::IsWhiteSpace(c->c)) {
      s.after_match = true;
      continue;
    }
    if (s.after_match) c->mark |= kBegins;
    s.after_match = false;
    return true;
  }
  return false;
}

bool HfCharacters::Whitespace(uint32_t stage, Character* c) {
  constexpr uint8_t kSpace = 0, kWord = kWordKind, kOther = 2;
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    const uint8_t kind = unicode::HasProp(*model_, c->c, image::kWord) ? kWord
                         : unicode::IsWhiteSpace(c->c)                 ? kSpace
                                                                       : kOther;
    if (kind != s.kind) c->mark |= kBegins;
    s.kind = kind;
    if (kind != kSpace) return true;
  }
  return false;
}

bool HfCharacters::SplitAt(uint32_t stage, image::UnicodeProp prop, uint32_t behavior,
                           Character* c) {
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    const bool match = unicode::HasProp(*model_, c->c, prop), after = s.after_match;
    const bool open = s.inside && (c->mark & kBegins) == 0;
    s.after_match = match;
    s.inside = !(behavior == image::kRemoved && match);
    if (!s.inside) continue;
    bool joins = !match && !after;
    switch (static_cast<image::SplitBehavior>(behavior)) {
      case image::kContiguous:
        joins |= match && after;
        break;
      case image::kMergedWithPrevious:
        joins |= match && !after;
        break;
      case image::kMergedWithNext:
        joins |= !match && after;
        break;
      case image::kRemoved:
      case image::kIsolated:
        break;
    }
    if (!open || !joins) c->mark |= kBegins;
    return true;
  }
  return false;
}

}  // namespace rankfeed::general
