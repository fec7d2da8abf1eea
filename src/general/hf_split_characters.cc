// SPDX-License-Identifier: MIT
// general/hf_split_characters.cc: the pre-tokenizers of hf_characters.h. What each does, and
// whence, stands in general/hf_pretokenize.cc.
#include "base/utf8.h"
#include "general/hf_characters.h"
#include "unicode/properties.h"

namespace rankfeed::general {
namespace {

using image::Step;

// Whether a segment joins the one before it (hf_pretokenize.cc, Folder).
bool Joins(uint32_t behavior, bool match, bool after_match) {
  switch (static_cast<image::SplitBehavior>(behavior)) {
    case image::kContiguous:
      return match == after_match;
    case image::kMergedWithPrevious:
      return match && !after_match;
    case image::kMergedWithNext:
      return !match && after_match;
    case image::kRemoved:
    case image::kIsolated:
      break;
  }
  return false;
}

}  // namespace

bool HfCharacters::Metaspace(uint32_t stage, Made* c) {
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
  s.held = {c->c, c->mark & ~kBegins, c->from};
  s.has_held = true;
  c->c = replacement;
  return true;
}

bool HfCharacters::WhitespaceSplit(uint32_t stage, Made* c) {
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

bool HfCharacters::Whitespace(uint32_t stage, Made* c) {
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

bool HfCharacters::SplitAt(uint32_t stage, image::UnicodeProp prop, uint32_t behavior, Made* c) {
  Stage& s = stages_[stage];
  while (Take(stage, c)) {
    const bool match = unicode::HasProp(*model_, c->c, prop), after = s.after_match;
    const bool open = s.inside && (c->mark & kBegins) == 0;
    s.after_match = match;
    s.inside = !(behavior == image::kRemoved && match);
    if (!s.inside) continue;
    const bool joins = (!match && !after) || Joins(behavior, match, after);
    if (!open || !joins) c->mark |= kBegins;
    return true;
  }
  return false;
}

// Characters that begin the pattern wait until it is known whether they are it. s.replaced: those
// in the text that is to come are; kind: the character before was.
bool HfCharacters::SplitString(uint32_t stage, Made* c) {
  const std::string_view pattern = model_->text(StepOf(stage).a);
  Stage& s = stages_[stage];
  for (;;) {
    if (TakeText(s, c)) {
      if (KeepSplit(s, s.replaced != 0, s.made++ == 0, c)) return true;
      continue;
    }
    s.replaced = s.made = 0;
    const bool more = Hold(stage);
    if (more && s.matched == 0 && (s.held.mark & kBegins) != 0) {
      s.held.mark &= ~kBegins;
      s.open = true;
    }
    if (!more || (s.held.mark & kBegins) != 0) {  // nothing goes on across the begin of a split
      if (s.matched == 0) return false;
      PutTaken(s, {pattern.data(), s.matched});
      s.matched = 0;
      continue;
    }
    const utf8::Decoded next = utf8::Decode(pattern, s.matched);
    if (next.valid && next.code_point == s.held.c) {
      s.has_held = false;
      s.matched += next.size;
      if (s.matched < pattern.size()) continue;
      PutTaken(s, pattern);
      s.matched = 0;
      s.replaced = 1;
      continue;
    }
    if (s.matched == 0) {
      Release(s, c);
      if (KeepSplit(s, false, false, c)) return true;
      continue;
    }
    const uint32_t keep = KeptOf(pattern, s.matched);
    PutTaken(s, {pattern.data(), s.matched - keep});
    s.matched = keep;
  }
}

// Whether the next character stays, which is one of the pattern or not. s.open: it begins a split.
bool HfCharacters::KeepSplit(Stage& s, bool pattern, bool first, Made* c) const {
  const bool begins = s.open, match = pattern != (s.step->arg1 != 0);
  const bool segment = begins || (pattern ? first : s.kind != 0);
  s.open = false;
  s.kind = pattern;
  if (segment) {
    const bool joins = !begins && s.inside && Joins(s.step->arg0, match, s.after_match);
    s.inside = joins || s.step->arg0 != image::kRemoved || !match;
    s.after_match = match;
    if (!joins) c->mark |= kBegins;
  }
  return s.inside;
}

}  // namespace rankfeed::general
