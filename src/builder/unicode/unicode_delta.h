// SPDX-License-Identifier: MIT
// builder/unicode/unicode_delta.h: where the Unicode data of the HuggingFace reference differ from ICU 72.
//
// The reference, the tokenizers wheel (its sources were read at 0.23.2), takes its Unicode data from
// five crates of five ages; ICU 72 (Unicode 15.0) agrees with none of them. Each function below is ICU
// plus the correction that reproduces the wheel. All were found by sweeping every code point through the
// wheel; tests/oracle/unicode_sweep.py does so again and compares with the engine.
//
//   property                    source in the wheel                          Unicode
//   grapheme cluster breaks     unicode-segmentation 1.13.3                  17.0
//   NFC NFD NFKC NFKD           unicode-normalization-alignments 0.1.12       9.0
//   combining mark              the same crate, is_combining_mark             9.0
//   punctuation                 unicode_categories 0.1.1                      8.0
//   BertNormalizer's sets       the same crate                                8.0
//   numeric, lower case         Rust 1.98 core::char                         17.0
//   \w                          regex-syntax 0.8.11                          16.0
//   \p{L} and the like           Oniguruma 6.9.10                             16.0
//   white space, \s             all of them: equal to ICU White_Space (stable since 6.3)
//
// A code point that ICU 72 calls unassigned has age 0.0 here, so age cut-offs treat it as new.
#pragma once

#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/uvernum.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "split/pattern.h"

namespace rankfeed::builder {

static_assert(U_ICU_VERSION_MAJOR_NUM == 72, "the tables below are differences from ICU 72");

struct CodePointRange {
  uint32_t first, last;
};
struct CodePointShift {
  uint32_t first, last;
  int32_t delta;  // mapped = code point + delta
};

template <size_t N>
constexpr bool InRanges(const CodePointRange (&ranges)[N], uint32_t c) {
  const auto* it =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](uint32_t x, const CodePointRange& r) { return x < r.first; });
  return it != std::begin(ranges) && c <= std::prev(it)->last;
}

// Assigned in Unicode major.0 or earlier.
inline bool AssignedBy(UChar32 c, uint8_t major) {
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] != 0 && (age[0] < major || (age[0] == major && age[1] == 0));
}

// ---- Grapheme clusters: Unicode 17.0 ------------------------------------------------------------
// Marks new in 16.0 and 17.0, and spacing marks that 16.0 made Extend (Indic viramas and the like).
inline constexpr CodePointRange kExtendAdded[] = {
    {0x0897, 0x0897},   {0x0CC0, 0x0CC0},   {0x0CC7, 0x0CC8},   {0x0CCA, 0x0CCB},
    {0x1715, 0x1715},   {0x1734, 0x1734},   {0x1ACF, 0x1ADD},   {0x1AE0, 0x1AEB},
    {0x1B3B, 0x1B3B},   {0x1B3D, 0x1B3D},   {0x1B43, 0x1B44},   {0x1BAA, 0x1BAA},
    {0x1BF2, 0x1BF3},   {0xA953, 0xA953},   {0xA9C0, 0xA9C0},   {0x10D69, 0x10D6D},
    {0x10EFA, 0x10EFC}, {0x111C0, 0x111C0}, {0x11235, 0x11235}, {0x1134D, 0x1134D},
    {0x113B8, 0x113B8}, {0x113BB, 0x113C0}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5},
    {0x113C7, 0x113C9}, {0x113CE, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2},
    {0x116B6, 0x116B6}, {0x1193D, 0x1193D}, {0x11B60, 0x11B60}, {0x11B62, 0x11B64},
    {0x11B66, 0x11B66}, {0x11F41, 0x11F41}, {0x11F5A, 0x11F5A}, {0x1611E, 0x16129},
    {0x1612D, 0x1612F}, {0x16FF0, 0x16FF1}, {0x1D166, 0x1D166}, {0x1D16D, 0x1D16D},
    {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF},
    {0x1E6F5, 0x1E6F5}};

// New in 16.0 and 17.0, except U+1171E, which was Extend until 15.1.
inline constexpr CodePointRange kSpacingMarkAdded[] = {
    {0x113B9, 0x113BA}, {0x113CA, 0x113CA}, {0x113CC, 0x113CD}, {0x1171E, 0x1171E},
    {0x11B61, 0x11B61}, {0x11B65, 0x11B65}, {0x11B67, 0x11B67}, {0x1612A, 0x1612C}};

inline constexpr CodePointRange kPrependAdded[] = {{0x113D1, 0x113D1}};    // new in 16.0
inline constexpr CodePointRange kPrependRemoved[] = {{0x11A3A, 0x11A3A}};  // Prepend until 16.0

// Kirat Rai vowel signs: Hangul-like V since 16.0.
inline constexpr CodePointRange kHangulVAdded[] = {{0x16D63, 0x16D63}, {0x16D67, 0x16D6A}};

// Extended_Pictographic no more in 17.0 (symbols and unassigned places that never became emoji).
inline constexpr CodePointRange kPictographicRemoved[] = {
    {0x2388, 0x2388},   {0x2605, 0x2605},   {0x2607, 0x260D},   {0x260F, 0x2610},
    {0x2612, 0x2612},   {0x2616, 0x2617},   {0x2619, 0x261C},   {0x261E, 0x261F},
    {0x2621, 0x2621},   {0x2624, 0x2625},   {0x2627, 0x2629},   {0x262B, 0x262D},
    {0x2630, 0x2637},   {0x263B, 0x263F},   {0x2641, 0x2641},   {0x2643, 0x2647},
    {0x2654, 0x265E},   {0x2661, 0x2662},   {0x2664, 0x2664},   {0x2667, 0x2667},
    {0x2669, 0x267A},   {0x267C, 0x267D},   {0x2680, 0x2685},   {0x2690, 0x2691},
    {0x2698, 0x2698},   {0x269A, 0x269A},   {0x269D, 0x269F},   {0x26A2, 0x26A6},
    {0x26A8, 0x26A9},   {0x26AC, 0x26AF},   {0x26B2, 0x26BC},   {0x26BF, 0x26C3},
    {0x26C6, 0x26C7},   {0x26C9, 0x26CD},   {0x26D0, 0x26D0},   {0x26D2, 0x26D2},
    {0x26D5, 0x26E8},   {0x26EB, 0x26EF},   {0x26F6, 0x26F6},   {0x26FB, 0x26FC},
    {0x26FE, 0x2701},   {0x2703, 0x2704},   {0x270E, 0x270E},   {0x2710, 0x2711},
    {0x2765, 0x2767},   {0x1F000, 0x1F003}, {0x1F005, 0x1F02B}, {0x1F030, 0x1F093},
    {0x1F0A0, 0x1F0AE}, {0x1F0B1, 0x1F0BF}, {0x1F0C1, 0x1F0CE}, {0x1F0D1, 0x1F0F5},
    {0x1F10D, 0x1F10F}, {0x1F12F, 0x1F12F}, {0x1F16C, 0x1F16F}, {0x1F1AD, 0x1F1AD},
    {0x1F260, 0x1F265}, {0x1F322, 0x1F323}, {0x1F394, 0x1F395}, {0x1F398, 0x1F398},
    {0x1F39C, 0x1F39D}, {0x1F3F1, 0x1F3F2}, {0x1F3F6, 0x1F3F6}, {0x1F4FE, 0x1F4FE},
    {0x1F546, 0x1F548}, {0x1F54F, 0x1F54F}, {0x1F568, 0x1F56E}, {0x1F571, 0x1F572},
    {0x1F57B, 0x1F586}, {0x1F588, 0x1F589}, {0x1F58E, 0x1F58F}, {0x1F591, 0x1F594},
    {0x1F597, 0x1F5A3}, {0x1F5A6, 0x1F5A7}, {0x1F5A9, 0x1F5B0}, {0x1F5B3, 0x1F5BB},
    {0x1F5BD, 0x1F5C1}, {0x1F5C5, 0x1F5D0}, {0x1F5D4, 0x1F5DB}, {0x1F5DF, 0x1F5E0},
    {0x1F5E2, 0x1F5E2}, {0x1F5E4, 0x1F5E7}, {0x1F5E9, 0x1F5EE}, {0x1F5F0, 0x1F5F2},
    {0x1F5F4, 0x1F5F9}, {0x1F6C6, 0x1F6CA}, {0x1F6D3, 0x1F6D4}, {0x1F6E6, 0x1F6E8},
    {0x1F6EA, 0x1F6EA}, {0x1F6F1, 0x1F6F2}, {0x1F774, 0x1F77F}, {0x1F7D5, 0x1F7D9},
    {0x1F8B0, 0x1F8BB}, {0x1F8C0, 0x1F8C1}, {0x1F8D0, 0x1F8D8}, {0x1FA00, 0x1FA57},
    {0x1FA60, 0x1FA6D}};

// Indic_Conjunct_Break, unknown to ICU 72. InCB=Extend is what is Extend or ZWJ below, less ZWNJ
// and the linkers.
inline constexpr CodePointRange kInCbConsonant[] = {
    {0x0915, 0x0939},   {0x0958, 0x095F},   {0x0978, 0x097F},   {0x0995, 0x09A8},
    {0x09AA, 0x09B0},   {0x09B2, 0x09B2},   {0x09B6, 0x09B9},   {0x09DC, 0x09DD},
    {0x09DF, 0x09DF},   {0x09F0, 0x09F1},   {0x0A95, 0x0AA8},   {0x0AAA, 0x0AB0},
    {0x0AB2, 0x0AB3},   {0x0AB5, 0x0AB9},   {0x0AF9, 0x0AF9},   {0x0B15, 0x0B28},
    {0x0B2A, 0x0B30},   {0x0B32, 0x0B33},   {0x0B35, 0x0B39},   {0x0B5C, 0x0B5D},
    {0x0B5F, 0x0B5F},   {0x0B71, 0x0B71},   {0x0C15, 0x0C28},   {0x0C2A, 0x0C39},
    {0x0C58, 0x0C5A},   {0x0D15, 0x0D3A},   {0x1000, 0x102A},   {0x103F, 0x103F},
    {0x1050, 0x1055},   {0x105A, 0x105D},   {0x1061, 0x1061},   {0x1065, 0x1066},
    {0x106E, 0x1070},   {0x1075, 0x1081},   {0x108E, 0x108E},   {0x1780, 0x17B3},
    {0x1A20, 0x1A54},   {0x1B0B, 0x1B0C},   {0x1B13, 0x1B33},   {0x1B45, 0x1B4C},
    {0x1B83, 0x1BA0},   {0x1BAE, 0x1BAF},   {0x1BBB, 0x1BBD},   {0xA989, 0xA98B},
    {0xA98F, 0xA9B2},   {0xA9E0, 0xA9E4},   {0xA9E7, 0xA9EF},   {0xA9FA, 0xA9FE},
    {0xAA60, 0xAA6F},   {0xAA71, 0xAA73},   {0xAA7A, 0xAA7A},   {0xAA7E, 0xAA7F},
    {0xAAE0, 0xAAEA},   {0xABC0, 0xABDA},   {0x10A00, 0x10A00}, {0x10A10, 0x10A13},
    {0x10A15, 0x10A17}, {0x10A19, 0x10A35}, {0x11103, 0x11126}, {0x11144, 0x11144},
    {0x11147, 0x11147}, {0x11380, 0x11389}, {0x1138B, 0x1138B}, {0x1138E, 0x1138E},
    {0x11390, 0x113B5}, {0x11900, 0x11906}, {0x11909, 0x11909}, {0x1190C, 0x11913},
    {0x11915, 0x11916}, {0x11918, 0x1192F}, {0x11A00, 0x11A00}, {0x11A0B, 0x11A32},
    {0x11A50, 0x11A50}, {0x11A5C, 0x11A83}, {0x11F04, 0x11F10}, {0x11F12, 0x11F33}};

inline constexpr CodePointRange kInCbLinker[] = {
    {0x094D, 0x094D},   {0x09CD, 0x09CD},   {0x0ACD, 0x0ACD},   {0x0B4D, 0x0B4D},
    {0x0C4D, 0x0C4D},   {0x0D4D, 0x0D4D},   {0x1039, 0x1039},   {0x17D2, 0x17D2},
    {0x1A60, 0x1A60},   {0x1B44, 0x1B44},   {0x1BAB, 0x1BAB},   {0xA9C0, 0xA9C0},
    {0xAAF6, 0xAAF6},   {0x10A3F, 0x10A3F}, {0x11133, 0x11133}, {0x113D0, 0x113D0},
    {0x1193E, 0x1193E}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11F42, 0x11F42}};

enum class GraphemeBreak : uint8_t {
  kOther,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kSpacingMark,
  kPrepend,
  kRegionalIndicator,
  kL,
  kV,
  kT,
  kLv,
  kLvt
};

inline GraphemeBreak HfGraphemeBreak(UChar32 c) {
  if (InRanges(kExtendAdded, c)) return GraphemeBreak::kExtend;
  if (InRanges(kSpacingMarkAdded, c)) return GraphemeBreak::kSpacingMark;
  if (InRanges(kPrependAdded, c)) return GraphemeBreak::kPrepend;
  if (InRanges(kPrependRemoved, c)) return GraphemeBreak::kOther;
  if (InRanges(kHangulVAdded, c)) return GraphemeBreak::kV;
  switch (u_getIntPropertyValue(c, UCHAR_GRAPHEME_CLUSTER_BREAK)) {
    case U_GCB_CR:
      return GraphemeBreak::kCr;
    case U_GCB_LF:
      return GraphemeBreak::kLf;
    case U_GCB_CONTROL:
      return GraphemeBreak::kControl;
    case U_GCB_EXTEND:
      return GraphemeBreak::kExtend;
    case U_GCB_ZWJ:
      return GraphemeBreak::kZwj;
    case U_GCB_SPACING_MARK:
      return GraphemeBreak::kSpacingMark;
    case U_GCB_PREPEND:
      return GraphemeBreak::kPrepend;
    case U_GCB_REGIONAL_INDICATOR:
      return GraphemeBreak::kRegionalIndicator;
    case U_GCB_L:
      return GraphemeBreak::kL;
    case U_GCB_V:
      return GraphemeBreak::kV;
    case U_GCB_T:
      return GraphemeBreak::kT;
    case U_GCB_LV:
      return GraphemeBreak::kLv;
    case U_GCB_LVT:
      return GraphemeBreak::kLvt;
    default:
      return GraphemeBreak::kOther;
  }
}

inline bool HfPictographic(UChar32 c) {  // for GB11
  return u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) && !InRanges(kPictographicRemoved, c);
}

// For GB9c: consonant [extend linker]* linker [extend linker]* x consonant.
enum class ConjunctBreak : uint8_t { kNone, kConsonant, kExtend, kLinker };
inline ConjunctBreak HfConjunctBreak(UChar32 c) {
  if (InRanges(kInCbConsonant, c)) return ConjunctBreak::kConsonant;
  if (InRanges(kInCbLinker, c)) return ConjunctBreak::kLinker;
  if (c == 0x200C) return ConjunctBreak::kNone;
  const GraphemeBreak g = HfGraphemeBreak(c);
  return g == GraphemeBreak::kExtend || g == GraphemeBreak::kZwj ? ConjunctBreak::kExtend
                                                                 : ConjunctBreak::kNone;
}

// Every pictographic and every consonant is GraphemeBreak::kOther, every linker is kExtend, so the
// three properties fit one class per code point (image::GraphemeClass).
//
// The Precompiled normalizer shows a cluster boundary only where it separates a cluster of at most
// five bytes, yet that needs more than the Extend, Prepend and CR LF rules, with the nmt_nfkc map
// too: in U+0915 U+094D U+0958 U+0301 rule GB9c joins everything to one long cluster, so U+0301
// stays, where U+0958 U+0301 alone is five bytes and loses it; in U+260E U+200D U+2122 U+0301 rule
// GB11 does the same. Both confirmed with the wheel.

// ---- Normalization forms: Unicode 9.0 -----------------------------------------------------------
// A code point assigned later has no decomposition, no composition and combining class 0. With
// that rule alone ICU equals the wheel (all code points, all marks against every combining class,
// all canonical pairs, random sequences). As ICU filter: UnicodeSet("[:age=9.0:]") for
// FilteredNormalizer2.
inline bool HfNormalizationKnows(UChar32 c) {
  return AssignedBy(c, 9);
}
inline uint8_t HfCombiningClass(UChar32 c) {
  return HfNormalizationKnows(c) ? u_getCombiningClass(c) : 0;
}

// StripAccents. General_Category M of Unicode 9.0: two signs became letters in 12.0, one
// punctuation became a mark in 11.0.
inline bool HfCombiningMark(UChar32 c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;
  return (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0 && AssignedBy(c, 9) && c != 0x111C9;
}

// ---- Punctuation pre-tokenizer: Unicode 8.0 -----------------------------------------------------
// ASCII punctuation (symbols such as $ included) or General_Category P of 8.0: U+166D became a
// symbol in 12.0, U+111C9 a mark in 11.0.
inline bool HfPunctuation(UChar32 c) {
  if (c < 0x80) return c > 0x20 && c < 0x7F && !u_isalnum(c);
  if (c == 0x166D || c == 0x111C9) return true;
  return (U_GET_GC_MASK(c) & U_GC_P_MASK) != 0 && AssignedBy(c, 8);
}

// ---- BertNormalizer: Unicode 8.0 ----------------------------------------------------------------
// clean_text removes Other, but for the unassigned (the crate has no Cn), TAB, LF and CR; and U+FFFD.
inline bool HfBertRemoved(UChar32 c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  switch (u_charType(c)) {
    case U_CONTROL_CHAR:
    case U_PRIVATE_USE_CHAR:
      return true;
    case U_FORMAT_CHAR:
      return AssignedBy(c, 8);
    default:
      return c == 0xFFFD;
  }
}

// strip_accents. General_Category Mn of 8.0: U+1734 became a spacing mark in 14.0; U+1885, U+1886,
// U+A9BD and U+111C9 became nonspacing marks later.
inline bool HfNonspacingMark(UChar32 c) {
  if (c == 0x1734) return true;
  if (c == 0x1885 || c == 0x1886 || c == 0xA9BD || c == 0x111C9) return false;
  return u_charType(c) == U_NON_SPACING_MARK && AssignedBy(c, 8);
}

// ---- Digits pre-tokenizer, char::is_numeric: Nd, Nl, No of Unicode 17.0
// --------------------------
inline constexpr CodePointRange kNumericAdded[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9},
    {0x11DE0, 0x11DE9}, {0x16130, 0x16139}, {0x16D70, 0x16D79},
    {0x16FF4, 0x16FF6}, {0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA}};

inline bool HfNumeric(UChar32 c) {
  return (U_GET_GC_MASK(c) & U_GC_N_MASK) != 0 || InRanges(kNumericAdded, c);
}

// ---- \w of single_word and of the Whitespace pre-tokenizer: Unicode 16.0
// ------------------------- Alphabetic, M, Nd, Pc, Join_Control (UTS #18 Annex C).
inline constexpr CodePointRange kWordAdded[] = {
    {0x0897, 0x0897},   {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},
    {0x105C0, 0x105F3}, {0x10D40, 0x10D65}, {0x10D69, 0x10D6D}, {0x10D6F, 0x10D85},
    {0x10EC2, 0x10EC4}, {0x10EFC, 0x10EFC}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
    {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113C0}, {0x113C2, 0x113C2},
    {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D3}, {0x113E1, 0x113E2},
    {0x116D0, 0x116E3}, {0x11BC0, 0x11BE0}, {0x11BF0, 0x11BF9}, {0x11F5A, 0x11F5A},
    {0x13460, 0x143FA}, {0x16100, 0x16139}, {0x16D40, 0x16D6C}, {0x16D70, 0x16D79},
    {0x18CFF, 0x18CFF}, {0x1CCF0, 0x1CCF9}, {0x1E5D0, 0x1E5FA}, {0x2EBF0, 0x2EE5D}};

inline bool HfWord(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
         (U_GET_GC_MASK(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         InRanges(kWordAdded, c);
}

// ---- \p{...} in the pattern of a Split: Unicode 16.0 --------------------------------------------
// General categories are as in ICU but for the code points that are new.
struct SplitClassRange {
  uint32_t first, last;
  split::Class of;
};
inline constexpr SplitClassRange kSplitClassAdded[] = {
    {0x0897, 0x0897, split::kMark}, {0x1B4E, 0x1B4F, split::kSign}, {0x1B7F, 0x1B7F, split::kSign},
    {0x1C89, 0x1C89, split::kUpper}, {0x1C8A, 0x1C8A, split::kLower}, {0x2427, 0x2429, split::kSign},
    {0x2FFC, 0x2FFF, split::kSign}, {0x31E4, 0x31E5, split::kSign}, {0x31EF, 0x31EF, split::kSign},
    {0xA7CB, 0xA7CC, split::kUpper}, {0xA7CD, 0xA7CD, split::kLower}, {0xA7DA, 0xA7DA, split::kUpper},
    {0xA7DB, 0xA7DB, split::kLower}, {0xA7DC, 0xA7DC, split::kUpper}, {0x105C0, 0x105F3, split::kLetter},
    {0x10D40, 0x10D49, split::kDigit}, {0x10D4A, 0x10D4F, split::kLetter}, {0x10D50, 0x10D65, split::kUpper},
    {0x10D69, 0x10D6D, split::kMark}, {0x10D6E, 0x10D6E, split::kSign}, {0x10D6F, 0x10D6F, split::kLetter},
    {0x10D70, 0x10D85, split::kLower}, {0x10D8E, 0x10D8F, split::kSign}, {0x10EC2, 0x10EC4, split::kLetter},
    {0x10EFC, 0x10EFC, split::kMark}, {0x11380, 0x11389, split::kLetter}, {0x1138B, 0x1138B, split::kLetter},
    {0x1138E, 0x1138E, split::kLetter}, {0x11390, 0x113B5, split::kLetter}, {0x113B7, 0x113B7, split::kLetter},
    {0x113B8, 0x113C0, split::kMark}, {0x113C2, 0x113C2, split::kMark}, {0x113C5, 0x113C5, split::kMark},
    {0x113C7, 0x113CA, split::kMark}, {0x113CC, 0x113D0, split::kMark}, {0x113D1, 0x113D1, split::kLetter},
    {0x113D2, 0x113D2, split::kMark}, {0x113D3, 0x113D3, split::kLetter}, {0x113D4, 0x113D5, split::kSign},
    {0x113D7, 0x113D8, split::kSign}, {0x113E1, 0x113E2, split::kMark}, {0x116D0, 0x116E3, split::kDigit},
    {0x11BC0, 0x11BE0, split::kLetter}, {0x11BE1, 0x11BE1, split::kSign}, {0x11BF0, 0x11BF9, split::kDigit},
    {0x11F5A, 0x11F5A, split::kMark}, {0x13460, 0x143FA, split::kLetter}, {0x16100, 0x1611D, split::kLetter},
    {0x1611E, 0x1612F, split::kMark}, {0x16130, 0x16139, split::kDigit}, {0x16D40, 0x16D6C, split::kLetter},
    {0x16D6D, 0x16D6F, split::kSign}, {0x16D70, 0x16D79, split::kDigit}, {0x18CFF, 0x18CFF, split::kLetter},
    {0x1CC00, 0x1CCEF, split::kSign}, {0x1CCF0, 0x1CCF9, split::kDigit}, {0x1CD00, 0x1CEB3, split::kSign},
    {0x1E5D0, 0x1E5ED, split::kLetter}, {0x1E5EE, 0x1E5EF, split::kMark}, {0x1E5F0, 0x1E5F0, split::kLetter},
    {0x1E5F1, 0x1E5FA, split::kDigit}, {0x1E5FF, 0x1E5FF, split::kSign}, {0x1F8B2, 0x1F8BB, split::kSign},
    {0x1F8C0, 0x1F8C1, split::kSign}, {0x1FA89, 0x1FA89, split::kSign}, {0x1FA8F, 0x1FA8F, split::kSign},
    {0x1FABE, 0x1FABE, split::kSign}, {0x1FAC6, 0x1FAC6, split::kSign}, {0x1FADC, 0x1FADC, split::kSign},
    {0x1FADF, 0x1FADF, split::kSign}, {0x1FAE9, 0x1FAE9, split::kSign}, {0x1FBCB, 0x1FBEF, split::kSign},
    {0x2EBF0, 0x2EE5D, split::kLetter}};

inline split::Class HfSplitClass(UChar32 c) {
  if (c == ' ') return split::kBlank;
  if (c == '\r' || c == '\n') return split::kNewline;
  if (c == '\'') return split::kApostrophe;
  if (c == '/') return split::kSlash;
  if (u_isUWhiteSpace(c)) return split::kSpace;
  for (const SplitClassRange& r : kSplitClassAdded) {
    if (static_cast<uint32_t>(c) >= r.first && static_cast<uint32_t>(c) <= r.last) return r.of;
  }
  const uint32_t category = U_GET_GC_MASK(c);
  const auto is = [&](uint32_t mask) { return (category & mask) != 0; };
  if (is(U_GC_LU_MASK | U_GC_LT_MASK)) return split::kUpper;
  if (is(U_GC_LL_MASK)) return split::kLower;
  if (is(U_GC_L_MASK)) return split::kLetter;
  if (is(U_GC_M_MASK)) return split::kMark;
  if (is(U_GC_N_MASK)) return split::kDigit;
  return is(U_GC_P_MASK | U_GC_S_MASK) ? split::kSign : split::kOther;
}

// ---- Lowercase, char::to_lowercase of one character: Unicode 17.0
// -------------------------------- Without context: U+03A3 is always U+03C3. U+0130 is two
// characters, U+0069 U+0307, as in ICU's full mapping.
inline constexpr CodePointShift kLowerAdded[] = {
    {0x1C89, 0x1C89, 1},      {0xA7CB, 0xA7CB, 0x264 - 0xA7CB},
    {0xA7CC, 0xA7CC, 1},      {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},      {0xA7D4, 0xA7D4, 1},
    {0xA7DA, 0xA7DA, 1},      {0xA7DC, 0xA7DC, 0x19B - 0xA7DC},
    {0x10D50, 0x10D65, 0x20}, {0x16EA0, 0x16EB8, 0x1B}};
// Simple mapping; U+0130 is for the caller.
inline UChar32 HfLowercase(UChar32 c) {
  for (const CodePointShift& s : kLowerAdded) {
    if (static_cast<uint32_t>(c) >= s.first && static_cast<uint32_t>(c) <= s.last)
      return c + s.delta;
  }
  return u_tolower(c);
}

}  // namespace rankfeed::builder
