// SPDX-License-Identifier: MIT
// image/char_info.h: what a raw character means inside a word, in 32 bits of an image.
#pragma once

#include <compare>
#include <cstdint>

namespace rankfeed::fast::avx512 {
struct CharInfos;
}

namespace rankfeed::image {

// Why a mark may be read together with the character before it, its base: if both have the same
// reason. A bit each: it
inline constexpr uint32_t kMarkAfterKey = 1;     // comes after the first character of some key,
inline constexpr uint32_t kMarkOfTwoBytes = 2;   // has two bytes (HuggingFace: vanishes there),
inline constexpr uint32_t kMarkOfMoreBytes = 4;  // has three or four,
inline constexpr uint32_t kMarkInPattern = 8;    // is in a pattern that a Replace looks for,
inline constexpr uint32_t kMarkReorders = 16;    // is sorted before the base, or composed with it.
// Reasons of the charsmap: the mark may be in one cluster with what is before it.
inline constexpr uint32_t kClusterMarks = kMarkAfterKey | kMarkOfTwoBytes | kMarkOfMoreBytes;

class CharInfo {
 public:
  // Makes the info of a character; the builder puts its parts together. Nothing joins a character
  // of no info.
  constexpr CharInfo() = default;
  static constexpr CharInfo OfCode(uint32_t code) { return CharInfo(code); }
  static constexpr uint32_t kLastList = 0xffff;  // the last place that a list may have
  static constexpr CharInfo OfList(uint32_t at) { return CharInfo(kExpands | at); }
  static constexpr CharInfo OfNormalizer() { return CharInfo(kNormalizes); }
  static constexpr CharInfo OfGeneralPath() { return CharInfo(kGeneralPath); }
  static constexpr CharInfo OfSpace() { return CharInfo(kSpace); }
  static constexpr CharInfo OfNoBoundary() { return CharInfo(kNoBoundary); }
  static constexpr CharInfo OfUnknown() { return CharInfo(kUnknown); }
  static constexpr CharInfo OfMarks(uint32_t reasons) { return CharInfo(reasons << kMarkShift); }
  static constexpr CharInfo OfBases(uint32_t reasons) { return CharInfo(reasons << kBaseShift); }
  constexpr CharInfo operator|(CharInfo more) const { return CharInfo(bits_ | more.bits_); }
  constexpr CharInfo& operator|=(CharInfo more) { return *this = *this | more; }
  constexpr auto operator<=>(const CharInfo&) const = default;

  // Its code, or the place of its list.
  constexpr uint32_t code() const { return bits_ & kCode; }
  // It normalizes, on its own, to the codes of that list of kExpansions. If it ends a word too, a 0
  // in the list is a space, and the code after kSign is that of a sign.
  constexpr bool Expands() const { return Has(kExpands); }
  // Its segment must go through the normalizer.
  constexpr bool Normalizes() const { return Has(kNormalizes); }
  // Its text must take the general path; with a code, only where the character is at an end of its
  // segment or next to another of these.
  constexpr bool TakesGeneralPath() const { return Has(kGeneralPath); }
  // It normalizes to one space, or to a list that holds some. With a code, of models with
  // independent words: it is a word of its own.
  constexpr bool EndsWord() const { return Has(kSpace); }
  // No segment may end next to it.
  constexpr bool ForbidsBoundary() const { return Has(kNoBoundary); }
  // Its code is no piece of its own.
  constexpr bool IsUnknown() const { return Has(kUnknown); }
  constexpr bool IsMark() const { return Has(kMarks); }
  // Returns whether the character may become something that depends on others.
  constexpr bool IsDoubtful() const { return Has(kNormalizes | kGeneralPath | kMarks); }
  // Why it may be read together with the character before it, and with the one after it.
  constexpr uint32_t marks() const { return (bits_ & kMarks) >> kMarkShift; }
  constexpr uint32_t bases() const { return bits_ >> kBaseShift; }

  // It is one code, if it is not read together with another character.
  constexpr bool IsOneCode() const { return !Has(kNotOne); }
  // It is one code and no mark; and, where it stands alone, one that segments may end next to.
  constexpr bool IsDirect() const { return !Has(~(kDirect | kNoBoundary)); }
  constexpr bool StandsAlone() const { return !Has(~kDirect); }
  // It is one space or one word of its own.
  constexpr bool IsOneWord() const { return (bits_ & kNotOne) == kSpace; }

  // The same after another character: whether it is read together with that, or must go through the
  // normalizer; is one code; one space or one word; a list without spaces.
  constexpr bool Joins(CharInfo last) const { return Has(Joining(last)); }
  constexpr bool NormalizesAfter(CharInfo last) const { return Has(kNormalizes | Joining(last)); }
  constexpr bool Follows(CharInfo last) const { return !Has(kNotOne | Joining(last)); }
  constexpr bool IsOneWordAfter(CharInfo last) const {
    return (bits_ & (kNotOne | Joining(last))) == kSpace;
  }
  constexpr bool IsListAfter(CharInfo last) const {
    return (bits_ & (kNotOne | Joining(last))) == kExpands;
  }
  // Neither is a piece of its own.
  constexpr bool IsUnknownAfter(CharInfo last) const { return Has(last.bits_ & kUnknown); }
  constexpr CharInfo AsUnknown() const { return *this | OfUnknown(); }

 private:
  friend struct fast::avx512::CharInfos;  // asks of sixteen at once

  static constexpr uint32_t kCode = 0xffff, kExpands = 1 << 16, kNormalizes = 1 << 17,
                            kGeneralPath = 1 << 18, kSpace = 1 << 19, kNoBoundary = 1 << 20,
                            kUnknown = 1 << 21, kMarkShift = 22, kBaseShift = 27,
                            kMarks = 31u << kMarkShift, kBases = 31u << kBaseShift;
  static constexpr uint32_t kNotOne = kExpands | kNormalizes | kGeneralPath | kSpace;
  static constexpr uint32_t kDirect = kCode | kUnknown | kBases;

  constexpr explicit CharInfo(uint32_t bits) : bits_(bits) {}
  constexpr bool Has(uint32_t bits) const { return (bits_ & bits) != 0; }
  // The marks that may be read together with a character.
  static constexpr uint32_t Joining(CharInfo base) {
    return kMarks & base.bits_ >> (kBaseShift - kMarkShift);
  }

  uint32_t bits_ = 0;
};
static_assert(sizeof(CharInfo) == 4);

}  // namespace rankfeed::image
