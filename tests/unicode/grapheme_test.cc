// SPDX-License-Identifier: MIT
// The rules of UAX #29 by class; tests/oracle compares real text with the wheel.
#include "unicode/grapheme.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace rankfeed::unicode {
namespace {

using namespace image;  // NOLINT: the class names

// "x" where the character joins the one before, "|" where a cluster begins.
std::string Breaks(std::initializer_list<uint32_t> classes) {
  std::string shown;
  ClusterRules rules(kGraphemeOther);
  bool first = true;
  for (const uint32_t c : classes) {
    if (!first && rules.Joins(c)) {
      shown += 'x';
    } else {
      shown += '|';
      rules = ClusterRules(c);
    }
    first = false;
  }
  return shown;
}

TEST(Grapheme, ControlsStandAlone) {
  EXPECT_EQ(Breaks({kGraphemeCr, kGraphemeLf, kGraphemeLf}), "|x|");  // GB3, GB4
  EXPECT_EQ(Breaks({kGraphemeLf, kGraphemeCr}), "||");
  EXPECT_EQ(Breaks({kGraphemeControl, kGraphemeExtend, kGraphemeExtend}), "||x");  // GB4
  EXPECT_EQ(Breaks({kGraphemePrepend, kGraphemeControl}), "||");                   // GB5
}

TEST(Grapheme, MarksJoin) {
  EXPECT_EQ(Breaks({kGraphemeOther, kGraphemeExtend, kGraphemeZwj, kGraphemeSpacingMark,
                    kGraphemeLinker, kGraphemeZwnj, kGraphemeOther}),
            "|xxxxx|");                                                        // GB9, GB9a
  EXPECT_EQ(Breaks({kGraphemePrepend, kGraphemePrepend, kGraphemeL}), "|xx");  // GB9b
}

TEST(Grapheme, Hangul) {
  EXPECT_EQ(Breaks({kGraphemeL, kGraphemeL, kGraphemeV, kGraphemeV, kGraphemeT, kGraphemeT}),
            "|xxxxx");
  EXPECT_EQ(Breaks({kGraphemeLv, kGraphemeT, kGraphemeV}), "|x|");
  EXPECT_EQ(Breaks({kGraphemeLvt, kGraphemeV}), "||");
  EXPECT_EQ(Breaks({kGraphemeL, kGraphemeLvt, kGraphemeT, kGraphemeL}), "|xx|");
  EXPECT_EQ(Breaks({kGraphemeL, kGraphemeExtend, kGraphemeV}), "|x|");
}

TEST(Grapheme, Conjuncts) {  // GB9c
  EXPECT_EQ(Breaks({kGraphemeConsonant, kGraphemeLinker, kGraphemeConsonant}), "|xx");
  EXPECT_EQ(Breaks({kGraphemeConsonant, kGraphemeExtend, kGraphemeLinker, kGraphemeZwj,
                    kGraphemeConsonant}),
            "|xxxx");
  EXPECT_EQ(Breaks({kGraphemeConsonant, kGraphemeExtend, kGraphemeConsonant}), "|x|");
  EXPECT_EQ(Breaks({kGraphemeConsonant, kGraphemeLinker, kGraphemeZwnj, kGraphemeConsonant}),
            "|xx|");
  EXPECT_EQ(Breaks({kGraphemeOther, kGraphemeLinker, kGraphemeConsonant}), "|x|");
  EXPECT_EQ(Breaks({kGraphemeConsonant, kGraphemeLinker, kGraphemeConsonant, kGraphemeLinker,
                    kGraphemeConsonant}),
            "|xxxx");
  EXPECT_EQ(Breaks({kGraphemeConsonant, kGraphemeLinker, kGraphemeConsonant, kGraphemeConsonant}),
            "|xx|");
}

TEST(Grapheme, Emoji) {  // GB11
  const uint32_t p = kGraphemePictographic;
  EXPECT_EQ(Breaks({p, kGraphemeZwj, p, kGraphemeExtend, kGraphemeZwj, p}), "|xxxxx");
  EXPECT_EQ(Breaks({p, kGraphemeZwj, kGraphemeZwj, p}), "|xx|");
  EXPECT_EQ(Breaks({p, kGraphemeZwj, kGraphemeExtend, p}), "|xx|");
  EXPECT_EQ(Breaks({kGraphemeOther, kGraphemeZwj, p}), "|x|");
  EXPECT_EQ(Breaks({p, p}), "||");
}

TEST(Grapheme, Flags) {  // GB12, GB13
  const uint32_t r = kGraphemeRegionalIndicator;
  EXPECT_EQ(Breaks({r, r, r, r, r}), "|x|x|");
  EXPECT_EQ(Breaks({kGraphemePrepend, r, r, r}), "|xx|");
  EXPECT_EQ(Breaks({r, kGraphemeExtend, r, r}), "|x|x");
}

TEST(Grapheme, EndClustersOfAsciiAfterOneCharacterButForCrLf) {
  const Model model = {};  // ASCII needs no table
  EXPECT_EQ(ClusterEnd(model, "\r\n\n", 0), 2u);
  EXPECT_EQ(ClusterEnd(model, "a\r\n", 1), 3u);
  for (const char* text : {"\n\r", "\n\n", "\r\r", "ab", "a\n", "\ra", "\r", "a"}) {
    EXPECT_EQ(ClusterEnd(model, text, 0), 1u) << text;
  }
}

}  // namespace
}  // namespace rankfeed::unicode
