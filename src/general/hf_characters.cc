// SPDX-License-Identifier: MIT
// general/hf_characters.cc: see hf_characters.h. What each element does, and whence, stands in
// src/normalize and general/hf_pretokenize.cc; here is the same of one character after the other.
#include "general/hf_characters.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/utf8.h"
#include "normalize/filters.h"
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

// Elements of which the chain has not any number.
struct Counts {
  uint32_t forms = 0, strips = 0, precompiled = 0;
};

bool HasNormalizer(const Model& model, const Step& step, Counts* counts) {
  switch (NormalizerOp{step.op}) {
    case NormalizerOp::kStrip:
      counts->strips += step.arg1 != 0;
      return true;
    case NormalizerOp::kNfc:
    case NormalizerOp::kNfd:
    case NormalizerOp::kNfkc:
    case NormalizerOp::kNfkd:
      ++counts->forms;
      return true;
    case NormalizerOp::kReplace:
      return !model.text(step.a).empty() && model.text(step.a).size() <= kMaxPattern;
    case NormalizerOp::kReplaceRun:
      return IsOneCharacter(model.text(step.a));
    case NormalizerOp::kPrecompiled:
      ++counts->precompiled;
      return true;
    case NormalizerOp::kLowercase:
    case NormalizerOp::kStripAccents:
    case NormalizerOp::kNmt:
    case NormalizerOp::kPrepend:
    case NormalizerOp::kReplaceSpaces:
      return true;
  }
  return false;
}

// Whether a step holds no more than `most` characters back.
bool HoldsBack(const Model& model, const Step& step, uint32_t most) {
  switch (NormalizerOp{step.op}) {
    case NormalizerOp::kReplace:
      return CountCharacters(model.text(step.a)) <= most;
    case NormalizerOp::kReplaceRun:
      return step.arg0 <= most;
    default:
      return true;
  }
}

// Whether added tokens of normalized text are found with little ahead. Where white space begins one
// and others take it behind them, matches lie in others.
bool FindsAdded(const Model& model, uint32_t most_bytes) {
  if (model.max_added_bytes > most_bytes) return false;
  if (!HasNormalizedAdded(model, image::kRstrip)) return true;
  const auto begins_with_space = [&](const image::AddedToken& token) {
    const std::string_view text = model.text(token.normalized);
    return !text.empty() && unicode::IsWhiteSpace(FirstOf(text));
  };
  return std::none_of(model.added_tokens.begin(), model.added_tokens.end(), begins_with_space);
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
      // With arg1 what is between is the match.
      return step.arg1 == 0 && IsOneCharacter(model.text(step.a));
  }
  return false;
}

}  // namespace

template <bool kPlaces>
bool HfChain<kPlaces>::Has(const Model& model) {
  Counts counts;
  for (const Step& step : model.normalizer) {
    if (!HasNormalizer(model, step, &counts)) return false;
    if (kPlaces && !HoldsBack(model, step, kMaxKept)) return false;
  }
  if (kPlaces && counts.precompiled > 1) return false;
  for (const Step& step : model.pre_tokenizer) {
    if (!HasPreTokenizer(model, step)) return false;
  }
  // White space before the end is looked at twice, by a second Strip four times.
  if (!model.added_normalized.empty()) {
    if (!FindsAdded(model, kMaxAddedBytes)) return false;
    counts.strips += HasNormalizedAdded(model, image::kLstrip);
  }
  return counts.forms <= kMaxForms && counts.strips <= 2 &&
         model.normalizer.size() + model.pre_tokenizer.size() < kMaxStages &&
         model.config->max_piece_chars <= LongScratch::kMaxPieceChars;
}

template <bool kPlaces>
HfChain<kPlaces>::HfChain(const Model& model, PlainCharacters* plain, KnownForms* known,
                          std::string_view text, uint32_t begin, uint32_t end, bool skip_special)
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
    const auto op = NormalizerOp{step.op};
    if (kPlaces && op == NormalizerOp::kPrecompiled) precompiled_ = stage_count_;
    ++stage_count_;
    const bool form = op == NormalizerOp::kNfc || op == NormalizerOp::kNfd ||
                      op == NormalizerOp::kNfkc || op == NormalizerOp::kNfkd;
    stage.form = forms % kMaxForms;
    forms += form;
    if (op == NormalizerOp::kReplace || op == NormalizerOp::kReplaceRun) {
      stage.first = FirstOf(model.text(step.a));
    }
  }
  if (!model.added_normalized.empty()) {
    finder_stage_ = stage_count_++;
    finder_.skip_special = skip_special;
    finder_.has_lstrip = HasNormalizedAdded(model, image::kLstrip);
  }
  for (const Step& step : model.pre_tokenizer) {
    Stage& stage = stages_[stage_count_++];
    stage.step = &step;
    if (const auto op = PreTokenizerOp{step.op};
        op == PreTokenizerOp::kMetaspace || op == PreTokenizerOp::kSplitString) {
      stage.first = FirstOf(model.text(step.a));
    }
  }
}

// The next character before that stage; behind the last one, what the chain makes.
template <bool kPlaces>
bool HfChain<kPlaces>::Take(uint32_t stage, Char* c) {
  if (!(stage == 0 ? Source(c) : Pull(stage - 1, c))) return false;
  if (stage == normalizer_count_ && !began_) {
    began_ = true;
    c->mark |= kBegins;
  }
  if ((c->mark & kFront) != 0 && stage < stage_count_) ++stages_[stage].front;
  return true;
}

template <bool kPlaces>
bool HfChain<kPlaces>::Source(Char* c) {
  if (at_ == end_) return false;
  const uint32_t mark = at_ == 0 ? kFront : 0;
  if (const auto byte = static_cast<unsigned char>(text_[at_]); byte < 0x80) {
    *c = Made(byte, mark, {at_, at_ + 1});
    ++at_;
    return true;
  }
  const utf8::Decoded d = utf8::Decode({text_, end_}, at_);
  *c = Made(d.code_point, mark, {at_, at_ + d.size});
  at_ += d.size;
  return true;
}

template <bool kPlaces>
bool HfChain<kPlaces>::Pull(uint32_t stage, Char* c) {
  if (stage == finder_stage_) return FindAdded(c);
  const Step& step = StepOf(stage);
  if (stage >= normalizer_count_) {
    const auto has = [this](image::UnicodeProp prop) {
      return [this, prop](char32_t of) { return unicode::HasProp(*model_, of, prop); };
    };
    switch (PreTokenizerOp{step.op}) {
      case PreTokenizerOp::kMetaspace:
        return Metaspace(stage, c);
      case PreTokenizerOp::kWhitespaceSplit:
        return WhitespaceSplit(stage, c);
      case PreTokenizerOp::kWhitespace:
        return Whitespace(stage, c);
      case PreTokenizerOp::kPunctuation:
        return SplitAt(stage, step.arg0, c, has(image::kPunctuationProp));
      case PreTokenizerOp::kDigits:
        return SplitAt(stage, step.arg0 != 0 ? image::kIsolated : image::kContiguous, c,
                       has(image::kNumeric));
      case PreTokenizerOp::kSplitString:
        return SplitAt(stage, step.arg0, c,
                       [this, stage](char32_t of) { return of == stages_[stage].first; });
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
template <bool kPlaces>
bool HfChain<kPlaces>::TakeText(Stage& s, Char* c) const {
  if (s.text_size == 0) return false;
  if constexpr (kPlaces) c->place = s.text_mark == kTaken ? s.own.TakeKept() : s.own.like;
  if (const auto byte = static_cast<unsigned char>(*s.text); byte < 0x80) {
    Set(c, byte, s.text_mark == kTaken ? FrontOf(s, s.taken++) : s.text_mark);
    ++s.text;
    --s.text_size;
    return true;
  }
  const utf8::Decoded d = utf8::Decode({s.text, s.text_size}, 0);
  Set(c, d.code_point, s.text_mark == kTaken ? FrontOf(s, s.taken++) : s.text_mark);
  s.text += d.size;
  s.text_size -= d.size;
  return true;
}

template <bool kPlaces>
void HfChain<kPlaces>::PutText(Stage& s, std::string_view text, uint32_t mark) const {
  s.text = text.data();
  s.text_size = static_cast<uint32_t>(text.size());
  s.text_mark = mark;
}

// Whether there is a character in s.held; otherwise nothing is left before the stage.
template <bool kPlaces>
bool HfChain<kPlaces>::Hold(uint32_t stage) {
  Stage& s = stages_[stage];
  if (!s.has_held && !s.ended) {
    s.has_held = Take(stage, &s.held);
    s.ended = !s.has_held;
  }
  return s.has_held;
}

// Passes the held character on as it is.
template <bool kPlaces>
bool HfChain<kPlaces>::Release(Stage& s, Char* c) const {
  *c = s.held;
  c->mark = FrontOf(s, s.taken++);
  s.has_held = false;
  return true;
}

// Takes and passes on the next character of a stage that is in the middle of nothing, if it does
// not look for that one; otherwise it is held.
template <bool kPlaces>
template <class F>
bool HfChain<kPlaces>::PassOn(uint32_t stage, Char* c, F is_sought) {
  Stage& s = stages_[stage];
  if (s.has_held || s.text_size != 0 || !Hold(stage) || is_sought(s.held.c)) return false;
  return Release(s, c);
}

template <bool kPlaces>
bool HfChain<kPlaces>::Strip(uint32_t stage, Char* c) {
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
    HfChain ahead = *this;
    Char other;
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

template <bool kPlaces>
bool HfChain<kPlaces>::Lowercase(uint32_t stage, Char* c) {
  Stage& s = stages_[stage];
  for (;;) {
    if (s.list_size != 0) {
      Set(c, *s.list++, s.text_mark);
      if constexpr (kPlaces) c->place = s.own.like;
      --s.list_size;
      return true;
    }
    if (!Take(stage, c)) return false;
    if (c->c < 0x80 && (c->c < 'A' || c->c > 'Z')) return true;
    const std::span<const uint32_t> mapped = unicode::Mapping(*model_, model_->lower, c->c);
    if (mapped.empty()) return true;
    s.list = mapped.data();
    s.list_size = static_cast<uint32_t>(mapped.size());
    s.text_mark = c->mark;
    SetLike(s, *c);
  }
}

template <bool kPlaces>
bool HfChain<kPlaces>::StripAccents(uint32_t stage, Char* c) {
  while (Take(stage, c)) {
    if (c->c < 0x80 || !unicode::HasProp(*model_, c->c, image::kCombiningMark)) return true;
  }
  return false;
}

template <bool kPlaces>
bool HfChain<kPlaces>::Nmt(uint32_t stage, Char* c) {
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

template <bool kPlaces>
bool HfChain<kPlaces>::Prepend(uint32_t stage, Char* c) {
  Stage& s = stages_[stage];
  if (!s.inside) {
    if (!Hold(stage)) return false;
    s.inside = true;
    PutText(s, model_->text(StepOf(stage).a), s.held.mark);
    SetLike(s, s.held);
  }
  if (TakeText(s, c)) return true;
  return Hold(stage) && Release(s, c);
}

template <bool kPlaces>
bool HfChain<kPlaces>::Replace(uint32_t stage, Char* c) {
  Stage& s = stages_[stage];
  const auto begins = [&s](char32_t of) { return of == s.first; };
  if (s.matched == 0 && PassOn(stage, c, begins)) return true;
  const Step& step = StepOf(stage);
  const std::string_view pattern = model_->text(step.a);
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
      Keep(s, s.held);
      if (s.matched < pattern.size()) continue;
      s.matched = 0;
      DropKept(s);
      SetLike(s, s.held);
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

template <bool kPlaces>
bool HfChain<kPlaces>::ReplaceRun(uint32_t stage, Char* c) {
  const Step& step = StepOf(stage);
  Stage& s = stages_[stage];
  const char32_t character = s.first;
  const auto is_it = [character](char32_t of) { return of == character; };
  if (s.count == 0 && !s.inside && PassOn(stage, c, is_it)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (s.inside) {  // a run that is too short
      Set(c, character, FrontOf(s, s.taken++));
      if constexpr (kPlaces) c->place = s.own.TakeKept();
      s.inside = --s.count != 0;
      return true;
    }
    if (Hold(stage) && s.held.c == character) {
      s.has_held = false;
      SetLike(s, s.held);
      if (++s.count < step.arg0) Keep(s, s.held);
      continue;
    }
    if (s.count == 0) return s.has_held && Release(s, c);
    s.inside = s.count < step.arg0;
    if (s.inside) continue;
    DropKept(s);
    s.taken += s.count;
    s.count = 0;
    PutText(s, model_->text(step.b), FrontOf(s, s.taken - 1));
  }
}

template <bool kPlaces>
bool HfChain<kPlaces>::ReplaceSpaces(uint32_t stage, Char* c) {
  Stage& s = stages_[stage];
  if (s.count == 0 && PassOn(stage, c, unicode::IsWhiteSpace)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (Hold(stage) && unicode::IsWhiteSpace(s.held.c)) {
      if (s.count++ == 0) s.ahead[0] = s.held;
      SetLike(s, s.held);
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
      *c = s.ahead[0];
      c->mark = mark;
      return true;
    }
    PutText(s, model_->text(StepOf(stage).b), mark);
  }
}

template <bool kPlaces>
bool HfChain<kPlaces>::Metaspace(uint32_t stage, Char* c) {
  const Step& step = StepOf(stage);
  Stage& s = stages_[stage];
  const char32_t replacement = s.first;
  if (s.has_held) {
    s.has_held = false;
    *c = s.held;
    return true;
  }
  if (!Take(stage, c)) return false;
  if (IsAdded(*c)) return true;
  if (c->c == ' ' || c->c == replacement) {
    c->c = replacement;
    if (step.arg1 != 0) c->mark |= kBegins;
    return true;
  }
  const bool wanted = step.arg0 == image::kPrependAlways ||
                      (step.arg0 == image::kPrependFirst && (c->mark & kFront) != 0);
  if ((c->mark & kBegins) == 0 || !wanted) return true;
  s.held = *c;
  s.held.mark &= ~kBegins;
  s.has_held = true;
  c->c = replacement;
  return true;
}

template <bool kPlaces>
bool HfChain<kPlaces>::WhitespaceSplit(uint32_t stage, Char* c) {
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    if (IsAdded(*c)) return true;
    if (unicode::IsWhiteSpace(c->c)) {
      s.after_match = true;
      // Runs of it are dropped at once.
      const auto is_dropped = [](char byte) {
        const auto code = static_cast<unsigned char>(byte);
        return code < 0x80 && unicode::IsWhiteSpace(code);
      };
      while (stage == 0 && at_ < end_ && is_dropped(text_[at_])) ++at_;
      continue;
    }
    if (s.after_match) c->mark |= kBegins;
    s.after_match = false;
    return true;
  }
  return false;
}

template <bool kPlaces>
bool HfChain<kPlaces>::Whitespace(uint32_t stage, Char* c) {
  constexpr uint8_t kSpace = 0, kWord = kWordKind, kOther = 2;
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    if (IsAdded(*c)) return true;
    const uint8_t kind = unicode::HasProp(*model_, c->c, image::kWord) ? kWord
                         : unicode::IsWhiteSpace(c->c)                 ? kSpace
                                                                       : kOther;
    if (kind != s.kind) c->mark |= kBegins;
    s.kind = kind;
    if (kind != kSpace) return true;
  }
  return false;
}

template <bool kPlaces>
template <class IsMatch>
bool HfChain<kPlaces>::SplitAt(uint32_t stage, uint32_t behavior, Char* c, IsMatch is_match) {
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    if (IsAdded(*c)) return true;
    const bool match = is_match(c->c), after = s.after_match;
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

template class HfChain<false>;
template class HfChain<true>;

}  // namespace rankfeed::general
