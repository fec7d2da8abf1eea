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

bool IsOne(std::string_view text, char32_t c) {
  char bytes[4];
  return text == std::string_view(bytes, utf8::Encode(c, bytes));
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
      return StartsApart(model, c, FormOf(op)) && StaysAlone(model, c, FormOf(op));
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

// The same of what finds added tokens. between: it stands between plain characters.
bool IsPlainToFinder(const Model& model, char32_t c, bool between) {
  if (model.added_normalized.empty()) return true;
  if (BeginsAdded(model, c)) return false;
  // Behind a word the finder would not know what became of a space.
  if (between) return !HasNormalizedAdded(model, image::kSingleWord);
  return !unicode::IsWhiteSpace(c) || !HasNormalizedAdded(model, image::kLstrip);
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
      return !IsOne(model.text(step.a), c);
  }
  return false;
}

// What an element of the normalizer makes of one character between plain ones. False: not known.
bool PassNormalizer(const Model& model, const Step& step, char32_t* c) {
  const auto op = NormalizerOp{step.op};
  if (op == NormalizerOp::kStrip || (op == NormalizerOp::kReplaceSpaces && *c == ' ')) return true;
  if (op == NormalizerOp::kReplaceRun && step.arg0 > 1) return true;
  if (IsPlain(model, step, *c)) return true;
  const bool replaces = op == NormalizerOp::kReplace || op == NormalizerOp::kReplaceRun;
  if (!replaces || !IsOne(model.text(step.a), *c) || model.text(step.b).empty()) return false;
  const utf8::Decoded content = utf8::Decode(model.text(step.b), 0);
  *c = content.code_point;
  return content.valid && content.size == model.text(step.b).size();
}

// The same of the pre-tokenizer, and for what became of a space before.
bool PassPreTokenizer(const Model& model, const Step& step, Separator* made) {
  const bool dropped = made->kind == Separator::kDropped;
  switch (PreTokenizerOp{step.op}) {
    case PreTokenizerOp::kMetaspace: {
      const char32_t replacement = utf8::Decode(model.text(step.a), 0).code_point;
      if (dropped) {
        if (step.arg0 == image::kPrependAlways) *made = {Separator::kOfNext, replacement, true};
        return true;
      }
      if (made->c != ' ' && made->c != replacement) return !made->begins;
      made->c = replacement;
      made->begins = made->begins || step.arg1 != 0;
      return true;
    }
    case PreTokenizerOp::kWhitespaceSplit:
    case PreTokenizerOp::kWhitespace:
      if (!dropped && unicode::IsWhiteSpace(made->c)) *made = {Separator::kDropped, 0, false};
      return made->kind == Separator::kDropped ||
             step.op == static_cast<uint32_t>(image::Op::kWhitespaceSplit);
    case PreTokenizerOp::kPunctuation:
      return dropped || !unicode::HasProp(model, made->c, image::kPunctuationProp);
    case PreTokenizerOp::kDigits:
      return dropped || !unicode::HasProp(model, made->c, image::kNumeric);
    case PreTokenizerOp::kSplitString:
      return dropped || !IsOne(model.text(step.a), made->c);
  }
  return false;
}

Separator SeparatorOf(const Model& model) {
  Separator made{Separator::kOwn, ' ', false};
  for (const Step& step : model.normalizer) {
    if (!PassNormalizer(model, step, &made.c)) return {};
  }
  if (!IsPlainToFinder(model, made.c, /*between=*/true)) return {};
  for (const Step& step : model.pre_tokenizer) {
    if (!PassPreTokenizer(model, step, &made)) return {};
  }
  return made;
}

}  // namespace

PlainCharacters::PlainCharacters(const Model& model)
    : model_(model), separator_(SeparatorOf(model)) {}

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
  return !hangul && Decomposed(model, c, form).empty();
}

bool IsPlainBefore(const Model& model, uint32_t stages, char32_t c) {
  return std::all_of(model.normalizer.begin(), model.normalizer.begin() + stages,
                     [&](const Step& step) { return IsPlain(model, step, c); });
}

bool PlainCharacters::Find(char32_t c) const {
  return std::all_of(model_.normalizer.begin(), model_.normalizer.end(),
                     [&](const Step& step) { return IsPlain(model_, step, c); }) &&
         IsPlainToFinder(model_, c, /*between=*/false) &&
         std::all_of(model_.pre_tokenizer.begin(), model_.pre_tokenizer.end(),
                     [&](const Step& step) { return IsPlainToSplit(model_, step, c); });
}

// Whether a stage is as plain characters leave it; adds those that wait in it, the first to leave
// it first.
template <bool kPlaces>
bool HfChain<kPlaces>::IsWaiting(uint32_t stage, Char** waiting, uint32_t* count) {
  Stage& s = stages_[stage];
  const auto wait = [&](Char* c) {
    waiting[(*count)++] = c;
    return c->mark == 0 && plain_->Has(c->c);
  };
  if (stage == finder_stage_) {
    return finder_.size == 0 && finder_.passed == 0 && finder_.spaces == 0 && !finder_.begins;
  }
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
      case PreTokenizerOp::kSplitString:
        return s.inside && !s.after_match;
    }
    return false;
  }
  const bool even = s.taken >= s.front && s.text_size == 0;
  if constexpr (kPlaces) {
    if (s.own.behind) return false;  // they are numbered one by one
  }
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
      return forms_[s.form].at == forms_[s.form].size && s.has_held && wait(&s.held) &&
             !(row_.on && row_.stage == stage);
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

// Whether a plain character is there, behind which *at is then.
template <bool kPlaces>
bool HfChain<kPlaces>::PlainAt(uint32_t* at) const {
  if (*at == end_) return false;
  char32_t c = static_cast<unsigned char>(text_[*at]);
  uint32_t size = 1;
  if (c >= 0x80) {
    const utf8::Decoded d = utf8::Decode({text_, end_}, *at);
    c = d.code_point;
    size = d.size;
  }
  *at += size;
  return plain_->Has(c);
}

// Reads the plain characters that are next.
template <bool kPlaces>
template <class Out>
uint32_t HfChain<kPlaces>::ReadPlain(Out& out, uint32_t at, uint32_t count) {
  uint32_t* const to = out.c + at;
  const char* const text = text_;
  const uint32_t end = end_;
  uint32_t i = 0, pos = at_;  // not at_, which to[i] might be
  for (; i < count && pos != end; ++i) {
    if (const auto byte = static_cast<unsigned char>(text[pos]); byte < 0x80) {
      if (!plain_->HasAscii(byte)) break;
      if constexpr (kPlaces) out.SetPlace(at + i, {pos, pos + 1});
      to[i] = byte;
      ++pos;
      continue;
    }
    const utf8::Decoded d = utf8::Decode({text, end}, pos);
    if (!plain_->Has(d.code_point)) break;
    if constexpr (kPlaces) out.SetPlace(at + i, {pos, pos + d.size});
    to[i] = d.code_point;
    pos += d.size;
  }
  std::fill_n(out.mark + at, i, 0u);
  at_ = pos;
  return i;
}

// Plain characters that come to a stage go through it and those behind it one by one, each keeping
// as many back as before: those that wait come first, and as many of the last wait instead.
// read(at, count, least): puts them from `at` on and returns how many there are; the last `least`
// are plain.
template <bool kPlaces>
template <class Out, class ReadMore>
uint32_t HfChain<kPlaces>::RunBehind(uint32_t first, Out& out, uint32_t at, uint32_t count,
                                     ReadMore read) {
  Char* waiting[kMaxWaiting];
  uint32_t waiting_count = 0;
  for (uint32_t i = stage_count_; i > first; --i) {
    if (!IsWaiting(i - 1, waiting, &waiting_count)) return 0;
  }
  if (waiting_count >= count) return 0;
  for (uint32_t i = 0; i < waiting_count; ++i) {
    out.c[at + i] = waiting[i]->c;
    out.mark[at + i] = 0;
    if constexpr (kPlaces) out.SetPlace(at + i, waiting[i]->place);
  }
  const uint32_t made = read(at + waiting_count, count - waiting_count, waiting_count);
  for (uint32_t i = 0; i < waiting_count; ++i) {
    waiting[i]->c = out.c[at + made + i];
    if constexpr (kPlaces) waiting[i]->place = out.PlaceAt(at + made + i);
  }
  for (uint32_t stage = first; stage < normalizer_count_; ++stage) stages_[stage].taken += made;
  if (HasFinder() && made != 0) {
    finder_.before = out.c[at + made - 1];
    finder_.has_before = true;
  }
  return made;
}

// Of the text. Where there are none again and again, it looks for them less often.
template <bool kPlaces>
uint32_t HfChain<kPlaces>::RunPlain(const CharacterArrays& out, uint32_t at, uint32_t count) {
  constexpr uint32_t kMaxPause = 16;
  words_at_ = words_count_ = 0;
  uint32_t made = 0, next = at_;
  if (began_ && at_ != 0 && PlainAt(&next)) {
    made = RunBehind(0, out, at, count, [&](uint32_t to, uint32_t most, uint32_t) {
      return ReadPlain(out, to, most);
    });
  }
  if (began_ && at_ != 0 && at_ != end_ && text_[at_] == ' ') FillWords();
  // The first failure is often that something waits for the next character.
  const bool some = made != 0 || words_count_ != 0;
  pause_ = words_count_ != 0 ? 0 : made != 0 ? 1 : next_pause_;
  next_pause_ = some ? 0 : std::min(2 * next_pause_ + 1, kMaxPause);
  return made;
}

// Words with a space between them, the first of which is read.
template <bool kPlaces>
void HfChain<kPlaces>::FillWords() {
  if (plain_->separator().kind == Separator::kUnknown) return;
  words_count_ = RunBehind(0, words_, 0, kWords, [&](uint32_t to, uint32_t most, uint32_t least) {
    return ReadWords(to, most, least);
  });
}

// Behind each space there are as many plain characters as wait, so that the last ones are some, and
// one more where the first is not as others.
template <bool kPlaces>
uint32_t HfChain<kPlaces>::ReadWords(uint32_t at, uint32_t count, uint32_t least) {
  const Separator separator = plain_->separator();
  // The finder must know what follows white space that a token may take.
  const bool alone = separator.kind == Separator::kOwn && !finder_.has_lstrip;
  least = alone ? std::max(least, 1u) : least + 1;
  uint32_t i = 0;
  while (at_ != end_ && text_[at_] == ' ' && count - i > least) {
    uint32_t next = at_ + 1;
    Place place{at_, next};
    for (uint32_t n = 0; n < least; ++n) {
      if (!PlainAt(&next)) return i;
      if (n == 0 && separator.kind == Separator::kOfNext) place = {at_ + 1, next};
    }
    if (separator.kind != Separator::kDropped) {
      words_.c[at + i] = separator.c;
      words_.mark[at + i] = separator.begins ? kBegins : 0;
      if constexpr (kPlaces) words_.SetPlace(at + i, place);
      ++i;
    }
    ++at_;
    const uint32_t first = i;
    i += ReadPlain(words_, at + i, count - i);
    if (separator.kind == Separator::kDropped) words_.mark[at + first] = kBegins;
  }
  return i;
}

// What was read ahead of the word.
template <bool kPlaces>
uint32_t HfChain<kPlaces>::RunWords(const CharacterArrays& out, uint32_t at, uint32_t count) {
  const uint32_t first = words_at_, most = first + std::min(count, words_count_ - first);
  for (; words_at_ != most && (words_.mark[words_at_] & kBegins) == 0; ++words_at_) {
    const uint32_t to = at + words_at_ - first;
    out.c[to] = words_.c[words_at_];
    out.mark[to] = words_.mark[words_at_];
    if constexpr (kPlaces) out.SetPlace(to, words_.PlaceAt(words_at_));
  }
  return words_at_ - first;
}

// The plain characters that are next of those that a form made.
template <bool kPlaces>
uint32_t HfChain<kPlaces>::ReadMade(Form& form, const CharacterArrays& out, uint32_t at,
                                    uint32_t count) {
  uint32_t i = 0;
  for (; i < count && form.at != form.size; ++i, ++form.at) {
    const uint32_t made = form.made[form.at];
    if ((made & kFrontBit) != 0 || !plain_->Has(made)) break;
    out.c[at + i] = made;
    out.mark[at + i] = 0;
    if constexpr (kPlaces) out.SetPlace(at + i, form.place[form.at]);
  }
  return i;
}

template <bool kPlaces>
uint32_t HfChain<kPlaces>::RunMade(const CharacterArrays& out, uint32_t at, uint32_t count) {
  const uint32_t stage = made_by_;
  Form& form = forms_[stages_[stage].form];
  if (form.at == form.size) {
    made_by_ = kNoStage;
    return 0;
  }
  const uint32_t next = form.made[form.at];
  if (!began_ || (next & kFrontBit) != 0 || !plain_->Has(next)) return 0;
  return RunBehind(stage + 1, out, at, count, [&](uint32_t to, uint32_t most, uint32_t) {
    return ReadMade(form, out, to, most);
  });
}

template uint32_t HfChain<false>::RunPlain(const CharacterArrays&, uint32_t, uint32_t);
template uint32_t HfChain<true>::RunPlain(const CharacterArrays&, uint32_t, uint32_t);
template uint32_t HfChain<false>::RunMade(const CharacterArrays&, uint32_t, uint32_t);
template uint32_t HfChain<true>::RunMade(const CharacterArrays&, uint32_t, uint32_t);
template uint32_t HfChain<false>::RunWords(const CharacterArrays&, uint32_t, uint32_t);
template uint32_t HfChain<true>::RunWords(const CharacterArrays&, uint32_t, uint32_t);

}  // namespace rankfeed::general
