// SPDX-License-Identifier: MIT
// split/pattern.h: the regular expressions that BPE vocabularies split a text at, as one family: a few
// arms in a fixed order, each there or not and in one of a few forms (builder/split/split_pattern.h reads them).
//
//   contraction | sign and Latin letters | prefix? letters contraction? | ' '? digits |
//   ' '? others tail | \s++$ | \s*newlines | \s+(?!\S) | \s+
//
// A split is a match, the first arm that matches in this order, or what lies between two matches
// (Isolated). Classes of characters are those of Oniguruma 6.9.10 in the reference wheel, Unicode 16.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "image/model.h"

namespace rankfeed::split {

// Patterns tell characters apart by these classes, in the low bits of Model::split_classes.
enum Class : uint8_t {
  kOther,
  kSign,        // P and S but for the next two
  kApostrophe,  // U+0027
  kSlash,       // U+002F
  kBlank,       // U+0020
  kNewline,     // CR, LF
  kSpace,       // White_Space but for the last two
  kDigit,       // N
  kUpper,       // Lu, Lt
  kLower,       // Ll
  kLetter,      // Lm, Lo
  kMark,        // M
};
inline constexpr uint8_t kClassBits = 0x0f;
// Beside the class, for texts that are normalized to NFC: the character becomes another one, or is a part
// of a syllable of Hangul; it may be joined to those before it, or come before them; only the latter.
inline constexpr uint8_t kUnstable = 0x40, kCombining = 0x80, kOrdered = 0xc0;

// The arms, in arg0 of a kSplitPattern step. Any number is a pattern.
enum Knob : uint32_t {
  kContraction = 1u << 0,        // 's|'t|'re|'ve|'m|'ll|'d
  kContractionSuffix = 1u << 1,  // the same after letters
  kAnyCase = 1u << 2,            // of both; U+017F is an s then
  kSignAndLatin = 1u << 3,       // [!-/:-@\[-`{-~][A-Za-z]+
  // [\p{L}], [\p{L}\p{M}], or the two arms of o200k, in which no lower case letter stands before an
  // upper case one: [Lu Lt Lm Lo M]*[Ll Lm Lo M]+ and [Lu Lt Lm Lo M]+[Ll Lm Lo M]*.
  kLetters = 1u << 4,
  kLettersAndMarks = 2u << 4,
  kCasedLetters = 3u << 4,
  kLettersMask = 3u << 4,
  // Prefixes of letters: a blank, [^\r\n\p{L}\p{N}], [^\r\n\p{L}\p{P}\p{S}].
  kBlankPrefix = 1u << 6,
  kSignPrefix = 2u << 6,
  kDigitPrefix = 3u << 6,
  kPrefixMask = 3u << 6,
  // How many digits at most; kAnyDigits is no bound.
  kOneDigit = 1u << 8,
  kTwoDigits = 2u << 8,
  kThreeDigits = 3u << 8,
  kAnyDigits = 4u << 8,
  kDigitsMask = 7u << 8,
  kBlankBeforeDigits = 1u << 11,
  // [^\s\p{L}\p{N}]+, [^\s\p{L}\p{M}\p{N}]+, [\p{P}\p{S}]+, after a blank or not.
  kOthersAndMarks = 1u << 12,
  kOthers = 2u << 12,
  kSigns = 3u << 12,
  kOthersMask = 3u << 12,
  kNewlineTail = 1u << 14,  // and [\r\n]* after them
  kSlashTail = 1u << 15,    // or [\r\n/]*
  kWholeTail = 1u << 16,    // \s++$ before the next; this and the next only with kSpaces
  kNewlines = 1u << 17,     // \s*[\r\n]+
  kSpaces = 1u << 18,       // \s+(?!\S)|\s+
  kKana = 1u << 19,         // [一-龥぀-ゟ゠-ヿ]+, alone
};
inline constexpr uint32_t kMostKnobs = (1u << 20) - 1;
// Knobs of ByteLevel with use_regex.
inline constexpr uint32_t kGpt2Knobs = kContraction | kLetters | kBlankPrefix | kAnyDigits |
                                       kBlankBeforeDigits | kOthersAndMarks | kSpaces;

class Pattern {
 public:
  Pattern(const Model& model, uint32_t knobs);

  // Returns the end of the split of text that begins at `begin`, which is less than text.size() and
  // the end of another or 0. text is valid UTF-8, and its end the end of what the pattern sees. Splits
  // of a text one after the other cost O(text) together.
  size_t End(std::string_view text, size_t begin) const;

  // The end of the contraction at `at`, or `at`.
  size_t Contraction(std::string_view text, size_t at) const;

 private:
  // A character: its class as a bit, no bit after the last.
  struct Character {
    uint32_t kind = 0, size = 0;
    char32_t code_point = 0;
  };

  bool Has(uint32_t knob) const { return (knobs_ & knob) != 0; }
  Character At(std::string_view text, size_t at) const;
  size_t Run(std::string_view text, size_t at, uint32_t kinds, size_t most = SIZE_MAX) const;
  // The end of the match at `at`, or `at`.
  size_t Match(std::string_view text, size_t at) const;
  size_t Letters(std::string_view text, size_t at, const Character& first) const;
  size_t CasedLetters(std::string_view text, size_t at) const;
  size_t Spaces(std::string_view text, size_t at) const;

  const CodePointTable<uint8_t>& classes_;
  const uint32_t knobs_;
  // Classes, as bits, of each arm's characters.
  uint32_t letters_ = 0, prefix_ = 0, others_ = 0, tail_ = 0;
  size_t most_digits_ = 0;
};

}  // namespace rankfeed::split
