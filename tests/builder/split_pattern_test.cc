// SPDX-License-Identifier: MIT
#include "builder/split/split_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "split/pattern.h"

namespace rankfeed::builder {
namespace {

using namespace split;

constexpr char kLowerCase[] = "'s|'t|'re|'ve|'m|'ll|'d";
constexpr char kAnyCaseText[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr char kSpacesText[] = R"(\s+(?!\S)|\s+)";
constexpr uint32_t kQwenKnobs = kContraction | kAnyCase | kLetters | kSignPrefix | kOneDigit |
                                kOthersAndMarks | kNewlineTail | kNewlines | kSpaces;

std::string Qwen(const std::string& contractions, const std::string& letters = R"([^\r\n\p{L}\p{N}]?\p{L}+)",
                 const std::string& digits = R"(\p{N})",
                 const std::string& others = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)",
                 const std::string& spaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)") {
  return contractions + "|" + letters + "|" + digits + "|" + others + "|" + spaces;
}

TEST(SplitPattern, PublishedOnes) {
  EXPECT_EQ(ReadSplitPattern(std::string(kLowerCase) + R"(| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)" + kSpacesText),
            kGpt2Knobs);
  EXPECT_EQ(ReadSplitPattern(Qwen(kAnyCaseText)), kQwenKnobs);
  const uint32_t without_digits = kQwenKnobs & ~kDigitsMask;
  EXPECT_EQ(ReadSplitPattern(Qwen(kAnyCaseText, R"([^\r\n\p{L}\p{N}]?\p{L}+)", R"(\p{N}{1,3})")),
            without_digits | kThreeDigits);
  EXPECT_EQ(ReadSplitPattern(Qwen(kAnyCaseText, R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)", R"(\p{N})",
                                  R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)")),
            (kQwenKnobs & ~(kLettersMask | kOthersMask)) | kLettersAndMarks | kOthers);
  EXPECT_EQ(ReadSplitPattern("[一-龥぀-ゟ゠-ヿ]+"), kKana);
  EXPECT_EQ(ReadSplitPattern(R"(\p{N}{1,3})"), kThreeDigits);
}

TEST(SplitPattern, SpellingsOfOne) {
  for (const char* contractions :
       {"'(?i:[sdmt]|ll|ve|re)", "(?i:'(?:[dmst]|re|ll|ve))", "(?i:'s)|(?i:'t|'re|'ve)|(?i:'m|'ll|'d)"}) {
    EXPECT_EQ(ReadSplitPattern(Qwen(contractions)), kQwenKnobs) << contractions;
  }
  EXPECT_EQ(ReadSplitPattern(Qwen(kAnyCaseText, R"([^\p{N}\p{L}\n\r]?+[\p{L}]++)", "\\p{N}{1}",
                                  " ?+[^\\p{L}\\s\\p{N}]++[\r\n]*+", R"(\s*[\r\n]|\s{1,}(?!\S)|\s)")),
            kQwenKnobs);
  // What looks like a possessive interval takes digits without end.
  EXPECT_EQ(ReadSplitPattern(Qwen(kAnyCaseText, R"([^\r\n\p{L}\p{N}]?\p{L}+)", R"(\p{N}{1,3}+)")),
            (kQwenKnobs & ~kDigitsMask) | kAnyDigits);
  EXPECT_EQ(ReadSplitPattern(Qwen(kAnyCaseText, R"([^\r\n\p{L}\p{N}]?\p{L}+)", R"(\p{N})",
                                  R"( ?[^\s\p{L}\p{N}]+[\r\n]*)", R"(\s++$|\s*[\r\n]|\s+(?!\S)|\s)")),
            kQwenKnobs | kWholeTail);
}

TEST(SplitPattern, NotOfTheFamily) {
  const std::string letters = R"([^\r\n\p{L}\p{N}]?\p{L}+)", marks = R"([^\r\n\p{L}\p{N}]?+[\p{L}\p{M}]+)",
                    upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  for (const std::string& regex : {
           std::string(), std::string("a"), std::string(R"(\p{L}+)"), std::string(R"(\w+)"), std::string(R"(\s+)"),
           Qwen("'s|'t|'re|'ve|'m|'ll"),                      // one is missing
           Qwen("'s|'t|'re|'ve|'m|'ll|'d|'x"),                // one too many
           Qwen("'s|'t|'re|'ve|'m|'ll|(?i:'d)"),              // of both cases
           Qwen("’s|’t|’re|’ve|’m|’ll|’d"),                   // another apostrophe
           Qwen(kAnyCaseText, marks),                         // takes a mark and never gives it back
           Qwen(kAnyCaseText, R"([^\r\n\p{L}]?\p{L}+)"),      // a digit before letters
           Qwen(kAnyCaseText, R"([^\n\p{L}\p{N}]?\p{L}+)"),   // CR before letters
           Qwen(kAnyCaseText, letters + "?"),                 // as few as it can
           Qwen(kAnyCaseText, letters + "'s?"),
           Qwen(kAnyCaseText, letters, R"(\p{N}{1,4})"),
           Qwen(kAnyCaseText, letters, R"(\p{N}{2})"),
           Qwen(kAnyCaseText, letters, R"(\p{Nd})"),
           Qwen(kAnyCaseText, letters, R"(\p{N})", R"( ?[^\s\p{L}\p{N}]+[\n]*)"),
           Qwen(kAnyCaseText, letters, R"(\p{N})", R"( ?[^\s\p{L}\p{N}]+[\r\n]*)", R"(\s*+[\r\n]+|\s+(?!\S)|\s+)"),
           Qwen(kAnyCaseText, letters, R"(\p{N})", R"( ?[^\s\p{L}\p{N}]+[\r\n]*)", R"(\s*[\r\n]+|\s+)"),
           Qwen(kAnyCaseText, letters, R"(\p{N})", R"( ?[^\s\p{L}\p{N}]+[\r\n]*)", R"(\s*[\r\n]+)"),
           Qwen(kAnyCaseText, letters, R"(\p{N})", R"( ?[^\s\p{L}\p{N}]+[\r\n]*)",
                R"(\s+$|\s*[\r\n]|\s+(?!\S)|\s)"),           // ends before each line feed too
           Qwen(kAnyCaseText, R"(\p{N})", letters),           // another order
           R"([^\r\n\p{L}\p{N}]?)" + upper + "*" + lower + "+|" + R"(\p{N})",  // the second arm is missing
           R"([^\r\n\p{L}\p{N}]?)" + upper + "*+" + lower + "+|" + R"([^\r\n\p{L}\p{N}]?)" + upper + "+" + lower + "*",
           std::string(R"(\p{N}(?:'s|'t|'re|'ve|'m|'ll|'d)?)"),
           std::string(R"(\p{N}|)"), std::string(R"(\p{N}$)"), std::string(R"((?:\p{N}))|"), std::string(R"(\p{N}+?)"),
           std::string("[]"), std::string("[^]"), std::string("[a"), std::string("(?:a"), std::string("\\"),
           std::string("[\\p{N}&&[0-9]]"), std::string("(?i)\\p{N}"), std::string(2000, '(')}) {
    EXPECT_FALSE(ReadSplitPattern(regex)) << regex;
  }
}

TEST(SplitPattern, GrowsWithoutEnd) {
  std::string nested = R"(\p{N})", wide;
  for (int i = 0; i < 100; ++i) nested = "(?:" + nested + ")";
  for (int i = 0; i < 100; ++i) wide += "(?:a|b)";
  for (const std::string& regex : {nested, wide, "'" + wide, std::string("'[!-~][!-~][!-~][!-~][!-~][!-~]")}) {
    EXPECT_FALSE(ReadSplitPattern(regex)) << regex;
  }
}

TEST(SplitPattern, Gaps) {
  EXPECT_TRUE(LeavesNoGaps(kGpt2Knobs));
  EXPECT_TRUE(LeavesNoGaps(kQwenKnobs));
  for (const uint32_t arm : {kLettersMask, kDigitsMask, kOthersMask, kSpaces}) {
    EXPECT_FALSE(LeavesNoGaps(kQwenKnobs & ~arm));
  }
  EXPECT_FALSE(LeavesNoGaps((kQwenKnobs & ~kOthersMask) | kOthers)) << "a mark is no letter";
  EXPECT_FALSE(LeavesNoGaps((kQwenKnobs & ~kOthersMask) | kSigns));
}

}  // namespace
}  // namespace rankfeed::builder
