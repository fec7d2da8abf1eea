// SPDX-License-Identifier: MIT
// split/pattern.cc: see pattern.h. What the engine of regular expressions finds by trying again is
// worked out from the runs of classes here.
#include "split/pattern.h"

#include "base/utf8.h"

namespace rankfeed::split {
namespace {

template <class... Classes>
constexpr uint32_t Bits(Classes... classes) {
  return ((1u << classes) | ...);
}

constexpr uint32_t kNone = 0;
constexpr uint32_t kAllSigns = Bits(kSign, kApostrophe, kSlash);
constexpr uint32_t kAllSpaces = Bits(kBlank, kNewline, kSpace);
constexpr uint32_t kAllLetters = Bits(kUpper, kLower, kLetter);
constexpr uint32_t kUncased = Bits(kLetter, kMark);

bool IsKana(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fa5) || (c >= 0x3040 && c <= 0x30ff);
}
bool IsLatin(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

Pattern::Pattern(const Model& model, uint32_t knobs)
    : classes_(model.split_classes), knobs_(knobs) {
  constexpr uint32_t kLetterKinds[] = {kNone, kAllLetters, kAllLetters | Bits(kMark), kNone};
  constexpr uint32_t kPrefixKinds[] = {
      kNone, Bits(kBlank), kAllSigns | Bits(kOther, kBlank, kSpace, kMark),
      Bits(kOther, kBlank, kSpace, kDigit, kMark)};
  constexpr uint32_t kOtherKinds[] = {kNone, kAllSigns | Bits(kOther, kMark),
                                      kAllSigns | Bits(kOther), kAllSigns};
  letters_ = kLetterKinds[(knobs & kLettersMask) / kLetters];
  prefix_ = kPrefixKinds[(knobs & kPrefixMask) / kBlankPrefix];
  others_ = kOtherKinds[(knobs & kOthersMask) / kOthersAndMarks];
  if (Has(kNewlineTail | kSlashTail)) tail_ = Bits(kNewline);
  if (Has(kSlashTail)) tail_ |= Bits(kSlash);
  most_digits_ = (knobs & kDigitsMask) / kOneDigit;
  if (most_digits_ > 3) most_digits_ = SIZE_MAX;
}

Pattern::Character Pattern::At(std::string_view text, size_t at) const {
  if (at >= text.size()) return {};
  Character c;
  c.code_point = utf8::DecodeValid(text.data() + at, &c.size);
  c.kind = 1u << (classes_[c.code_point] & kClassBits);
  return c;
}

// The end of the run of at most `most` characters of these classes from `at` on.
size_t Pattern::Run(std::string_view text, size_t at, uint32_t kinds, size_t most) const {
  for (size_t count = 0; count < most; ++count) {
    const Character c = At(text, at);
    if ((c.kind & kinds) == 0) break;
    at += c.size;
  }
  return at;
}

size_t Pattern::End(std::string_view text, size_t begin) const {
  if (const size_t end = Match(text, begin); end != begin) return end;
  // The text that no arm takes, up to the next match; where none begins, looking costs a few
  // characters.
  size_t at = begin;
  do {
    at += At(text, at).size;
  } while (at < text.size() && Match(text, at) == at);
  return at;
}

size_t Pattern::Match(std::string_view text, size_t at) const {
  const Character first = At(text, at);
  if (Has(kKana)) {
    size_t end = at;
    for (Character k = first; k.size != 0 && IsKana(k.code_point); k = At(text, end)) end += k.size;
    if (end != at) return end;
  }
  if (Has(kContraction)) {
    if (const size_t end = Contraction(text, at); end != at) return end;
  }
  if (Has(kSignAndLatin) && first.code_point < 0x80 && (first.kind & kAllSigns) != 0) {
    size_t end = at + 1;
    while (end < text.size() && IsLatin(text[end])) ++end;
    if (end != at + 1) return end;
  }
  if (Has(kLettersMask)) {
    if (const size_t end = Letters(text, at, first); end != at) {
      return Has(kContractionSuffix) ? Contraction(text, end) : end;
    }
  }
  const size_t after_blank = first.kind == Bits(kBlank) ? at + first.size : at;
  const size_t digits = Has(kBlankBeforeDigits) ? after_blank : at;
  if (const size_t end = Run(text, digits, Bits(kDigit), most_digits_); end != digits) return end;
  if (const size_t end = Run(text, after_blank, others_); end != after_blank) {
    return Run(text, end, tail_);
  }
  return (first.kind & kAllSpaces) != 0 && Has(kSpaces) ? Spaces(text, at) : at;
}

size_t Pattern::Contraction(std::string_view text, size_t at) const {
  const auto byte = [&](size_t i) {
    if (i >= text.size()) return '\0';
    return Has(kAnyCase) && IsLatin(text[i]) ? static_cast<char>(text[i] | 0x20) : text[i];
  };
  if (byte(at) != '\'') return at;
  const char a = byte(at + 1), b = byte(at + 2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
  return Has(kAnyCase) && a == '\xc5' && b == '\xbf' ? at + 3 : at;
}

// The end of the letters at `at` with what may stand before them, or `at`. A mark may be both.
size_t Pattern::Letters(std::string_view text, size_t at, const Character& first) const {
  const size_t after = (first.kind & prefix_) != 0 ? at + first.size : at;
  if (letters_ != 0) {
    const size_t from = (first.kind & letters_) != 0 ? at : after;
    const size_t end = Run(text, from, letters_);
    return end != from ? end : at;
  }
  if (const size_t end = CasedLetters(text, after); end != after) return end;
  if (const size_t end = CasedLetters(text, at); end != at) return end;
  const size_t end = Run(text, after, Bits(kUpper));
  return end != after ? end : at;
}

// The first arm of kCasedLetters without a prefix. The run of what may stand before the lower case
// letters gives back what it has to: all after the last character that is of both kinds.
size_t Pattern::CasedLetters(std::string_view text, size_t at) const {
  size_t end = at, last = at;
  bool gives_back = false;
  for (Character c = At(text, at);; c = At(text, end)) {
    if ((c.kind & Bits(kLower)) != 0) return Run(text, end, kUncased | Bits(kLower));
    if ((c.kind & (kUncased | Bits(kUpper))) == 0) break;
    if ((c.kind & kUncased) != 0) {
      gives_back = true;
      last = end;
    }
    end += c.size;
  }
  return gives_back ? Run(text, last, kUncased) : at;
}

// The end of the split that white space begins.
size_t Pattern::Spaces(std::string_view text, size_t at) const {
  size_t end = at, last = at, after_newline = at;
  for (Character c = At(text, at); (c.kind & kAllSpaces) != 0; c = At(text, end)) {
    last = end;
    end += c.size;
    if (c.kind == Bits(kNewline)) after_newline = end;
  }
  if (Has(kWholeTail) && end == text.size()) return end;
  if (Has(kNewlines) && after_newline != at) return after_newline;
  return end == text.size() || last == at ? end : last;  // the last one is left to what comes next
}

}  // namespace rankfeed::split
