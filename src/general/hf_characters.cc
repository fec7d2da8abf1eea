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

// Longer patterns would be searched in a time that grows with their square.
constexpr size_t kMaxPattern = 256;

bool IsOneCharacter(std::string_view text) {
  return !text.empty() && utf8::Decode(text, 0).size == text.size();
}

char32_t FirstOf(std::string_view text) {
  return utf8::Decode(text, 0).code_point;
}

// Bytes of a begin of a pattern that are one still where its first character is none: as much of
// what was matched stays.
uint32_t KeptOf(std::string_view pattern, uint32_t matched) {
  uint32_t keep = matched - 1;
  while (std::memcmp(pattern.data(), pattern.data() + matched - keep, keep) != 0) --keep;
  return keep;
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
      return !model.text(step.a).empty() && model.text(step.a).size() <= kMaxPattern;
  }
  return false;
}

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

HfCharacters::HfCharacters(const Model& model, PlainCharacters* plain, std::string_view text,
                           uint32_t begin, uint32_t end, const Numbering& numbering)
    : model_(&model),
      plain_(plain),
      text_(text.data()),
      at_(begin),
      end_(end),
      normalizer_count_(static_cast<uint32_t>(model.normalizer.size())),
      numbered_(numbering.numbered) {
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
    const auto op = PreTokenizerOp{step.op};
    if (op == PreTokenizerOp::kMetaspace || op == PreTokenizerOp::kSplitString) {
      stage.first = FirstOf(model.text(step.a));
    }
  }
  stage_count_ = std::min(stage_count_, numbering.stages);
}

bool HfCharacters::Numbers(const Step& step) {
  if (step.op == static_cast<uint32_t>(image::Op::kSplitString)) return true;
  switch (NormalizerOp{step.op}) {
    case NormalizerOp::kStrip:
    case NormalizerOp::kLowercase:
    case NormalizerOp::kStripAccents:
    case NormalizerOp::kNmt:
      return false;
    case NormalizerOp::kPrecompiled:
    case NormalizerOp::kNfc:
    case NormalizerOp::kNfd:
    case NormalizerOp::kNfkc:
    case NormalizerOp::kNfkd:
    case NormalizerOp::kPrepend:
    case NormalizerOp::kReplace:
    case NormalizerOp::kReplaceRun:
    case NormalizerOp::kReplaceSpaces:
      return true;
  }
  return false;  // a pre-tokenizer
}

// The next character before that stage; behind the last one, what the chain makes.
bool HfCharacters::Take(uint32_t stage, Made* c) {
  if (!(stage == 0 ? Source(c) : Pull(stage - 1, c))) return false;
  if (stage == normalizer_count_ && !began_) {
    began_ = true;
    c->mark |= kBegins;
  }
  if (stage < stage_count_) stages_[stage].front += c->mark & kFront;
  if (stage == numbered_) c->from = taken_++;
  return true;
}

bool HfCharacters::Source(Made* c) {
  if (at_ == end_) return false;
  const uint32_t mark = at_ == 0 ? kFront : 0;
  if (const auto byte = static_cast<unsigned char>(text_[at_]); byte < 0x80) {
    *c = {byte, mark, at_};
    ++at_;
    return true;
  }
  const utf8::Decoded d = utf8::Decode({text_, end_}, at_);
  *c = {d.code_point, mark, at_};
  at_ += d.size;
  return true;
}

bool HfCharacters::Pull(uint32_t stage, Made* c) {
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
        return SplitString(stage, c);
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
bool HfCharacters::TakeText(Stage& s, Made* c) const {
  if (s.text_size == 0) return false;
  if (const auto byte = static_cast<unsigned char>(*s.text); byte < 0x80) {
    *c = OfText(s, byte);
    ++s.text;
    --s.text_size;
    return true;
  }
  const utf8::Decoded d = utf8::Decode({s.text, s.text_size}, 0);
  *c = OfText(s, d.code_point);
  s.text += d.size;
  s.text_size -= d.size;
  return true;
}

HfCharacters::Made HfCharacters::OfText(Stage& s, char32_t c) const {
  return s.takes ? Taken(s, c, s.taken++) : Made{c, s.text_mark, s.text_from};
}

// From now on such a text is to come, in place of that character, or as those that are next.
void HfCharacters::PutText(Stage& s, std::string_view text, const Made& like) const {
  PutTaken(s, text);
  s.text_mark = like.mark;
  s.text_from = like.from;
  s.takes = false;
}
void HfCharacters::PutTaken(Stage& s, std::string_view text) const {
  s.text = text.data();
  s.text_size = static_cast<uint32_t>(text.size());
  s.takes = true;
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
bool HfCharacters::Release(Stage& s, Made* c) const {
  *c = Taken(s, s.held.c, s.taken++);
  s.has_held = false;
  return true;
}

// Takes and passes on the next character of a stage that is in the middle of nothing, if it does
// not look for that one; otherwise it is held.
template <class F>
bool HfCharacters::PassOn(uint32_t stage, Made* c, F is_sought) {
  Stage& s = stages_[stage];
  if (s.has_held || s.text_size != 0 || !Hold(stage) || is_sought(s.held.c)) return false;
  return Release(s, c);
}

bool HfCharacters::Strip(uint32_t stage, Made* c) {
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
    Made other;
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

bool HfCharacters::Lowercase(uint32_t stage, Made* c) {
  Stage& s = stages_[stage];
  for (;;) {
    if (s.list_size != 0) {
      *c = {*s.list++, s.text_mark, s.text_from};
      --s.list_size;
      return true;
    }
    if (!Take(stage, c)) return false;
    const std::span<const uint32_t> mapped = unicode::Mapping(*model_, model_->lower, c->c);
    if (mapped.empty()) return true;
    s.list = mapped.data();
    s.list_size = static_cast<uint32_t>(mapped.size());
    s.text_mark = c->mark;
    s.text_from = c->from;
  }
}

bool HfCharacters::StripAccents(uint32_t stage, Made* c) {
  while (Take(stage, c)) {
    if (!unicode::HasProp(*model_, c->c, image::kCombiningMark)) return true;
  }
  return false;
}

bool HfCharacters::Nmt(uint32_t stage, Made* c) {
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

bool HfCharacters::Prepend(uint32_t stage, Made* c) {
  Stage& s = stages_[stage];
  if (!s.inside) {
    if (!Hold(stage)) return false;
    s.inside = true;
    PutText(s, model_->text(StepOf(stage).a), Taken(s, 0, s.taken));
  }
  if (TakeText(s, c)) return true;
  return Hold(stage) && Release(s, c);
}

bool HfCharacters::Replace(uint32_t stage, Made* c) {
  const Step& step = StepOf(stage);
  const std::string_view pattern = model_->text(step.a);
  Stage& s = stages_[stage];
  const auto begins = [&s](char32_t of) { return of == s.first; };
  if (s.matched == 0 && PassOn(stage, c, begins)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (!Hold(stage)) {
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
      s.matched = 0;
      s.taken += CountCharacters(pattern);
      PutText(s, model_->text(step.b), Taken(s, 0, s.taken - 1));
      continue;
    }
    if (s.matched == 0) return Release(s, c);
    const uint32_t keep = KeptOf(pattern, s.matched);
    PutTaken(s, {pattern.data(), s.matched - keep});
    s.matched = keep;
  }
}

bool HfCharacters::ReplaceRun(uint32_t stage, Made* c) {
  const Step& step = StepOf(stage);
  Stage& s = stages_[stage];
  const char32_t character = s.first;
  const auto is_it = [character](char32_t of) { return of == character; };
  if (s.count == 0 && !s.inside && PassOn(stage, c, is_it)) return true;
  for (;;) {
    if (TakeText(s, c)) return true;
    if (s.inside) {  // a run that is too short
      *c = Taken(s, character, s.taken++);
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
    PutText(s, model_->text(step.b), Taken(s, 0, s.taken - 1));
  }
}

bool HfCharacters::ReplaceSpaces(uint32_t stage, Made* c) {
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
    *c = Taken(s, first, s.taken - 1);
    if (!replaced) return true;
    PutText(s, model_->text(StepOf(stage).b), *c);
  }
}

// normalize::Transform: a character that was made goes out when the next one comes, as what is
// dropped until then is taken off its change.
bool HfCharacters::FlushChanged(Stage& s, Made* c) const {
  if (!s.has_held) return false;
  s.has_held = false;
  const uint64_t like = s.change > 0 && s.taken > 0 ? s.taken - 1 : s.taken;
  *c = Taken(s, s.held.c, like);
  if (s.change <= 0) s.taken += static_cast<uint64_t>(1 - int64_t{s.change});
  return true;
}

bool HfCharacters::PushChanged(Stage& s, char32_t made, int32_t change, Made* c) const {
  const bool flushed = FlushChanged(s, c);
  s.held.c = made;
  s.change = change;
  s.has_held = true;
  return flushed;
}

// `count` characters become what a key maps to.
void HfCharacters::PutReplacement(Stage& s, std::string_view replacement, int32_t count) const {
  PutText(s, replacement, {});
  s.replaced = count;
  s.made = 0;
  if (replacement.empty() && s.has_held) s.change -= count;
}

bool HfCharacters::Precompiled(uint32_t stage, Made* c) {
  const Charsmap charsmap(model_->charsmap_units, model_->charsmap_pool);
  Stage& s = stages_[stage];
  for (;;) {
    Made made;
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
  const auto kind = [this](const Made& of) { return model_->props[of.c] & image::kGraphemeMask; };
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

bool HfCharacters::NormalForm(uint32_t stage, Made* c) {
  Form& form = forms_[stages_[stage].form];
  while (form.at == form.size) {
    if (!RunForm(stage)) return false;
  }
  const uint64_t from = form.from + form.behind[form.at];
  *c = Taken(stages_[stage], form.made[form.at++], from);
  return true;
}

// Normalizes the next characters that are read together. False at the end.
bool HfCharacters::RunForm(uint32_t stage) {
  const normalize::Form rules = FormOf(NormalizerOp{StepOf(stage).op});
  Stage& s = stages_[stage];
  Form& form = forms_[s.form];
  if (!Hold(stage)) return false;
  const char32_t first = s.held.c;
  s.has_held = false;
  form.from = s.taken++;
  const bool more = Hold(stage) && !StartsApart(*model_, s.held.c, rules);
  if (!more && StaysAlone(*model_, first, rules)) {
    form.made[0] = first;
    form.behind[0] = 0;
    form.at = 0;
    form.size = 1;
    return true;
  }
  return RunTogether(stage, first, rules);
}

// The same of the first one and those behind it, of which s.held is one if it does not start apart.
bool HfCharacters::RunTogether(uint32_t stage, char32_t first, normalize::Form rules) {
  Stage& s = stages_[stage];
  Form& form = forms_[s.form];
  char in_bytes[4 * kFormReads];
  uint32_t in_behind[4 * kFormReads], in_end[4 * kFormReads];
  normalize::NormalizedText in;
  in.data = in_bytes;
  in.begin = in_behind;
  in.end = in_end;
  in.capacity = sizeof(in_bytes);
  uint32_t count = 0;
  const auto put = [&](char32_t c) {
    const uint32_t size = utf8::Encode(c, in_bytes + in.size);
    std::fill_n(in_behind + in.size, size, count++);
    std::fill_n(in_end + in.size, size, 0u);
    in.size += size;
  };
  put(first);
  while (Hold(stage) && !StartsApart(*model_, s.held.c, rules)) {
    if (in.capacity - in.size < 4) {
      failed_ = true;
      return false;
    }
    put(s.held.c);
    s.has_held = false;
    ++s.taken;
  }

  char out_bytes[4 * kFormMakes];
  uint32_t out_behind[4 * kFormMakes], out_end[4 * kFormMakes];
  uint32_t work[3][4 * kFormMakes];
  normalize::NormalizedText out;
  out.data = out_bytes;
  out.begin = out_behind;
  out.end = out_end;
  out.capacity = sizeof(out_bytes);
  const bool asked = stage == numbered_ || form.from < s.front;
  if (!asked) in.begin = in.end = out.begin = out.end = nullptr;  // so they are not looked at
  uint32_t* const works[3] = {work[0], work[1], work[2]};
  failed_ |= !normalize::RunForm(*model_, rules, works, in, &out);
  form.at = form.size = 0;
  for (uint32_t pos = 0, size; pos < out.size && !failed_; pos += size) {
    const char32_t made = utf8::DecodeValid(out_bytes + pos, &size);
    failed_ |= form.size == kFormMakes;
    if (failed_) break;
    form.behind[form.size] = static_cast<uint8_t>(asked ? out_behind[pos] : 0);
    form.made[form.size++] = made;
  }
  return !failed_;
}

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
