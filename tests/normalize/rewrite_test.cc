// SPDX-License-Identifier: MIT
// The small normalizers with their ranges, as NormalizedString of tokenizers 0.23.2 keeps them.
#include "normalize/rewrite.h"

#include <gtest/gtest.h>

#include <string>

#include "normalize/table_model.h"
#include "unicode/properties.h"

namespace rankfeed::normalize {
namespace {

// Characters with ranges after run(in, out).
template <class F>
std::string Ranges(std::string_view input, F run) {
  OwnedText in(input, input.size() * 8 + 16), out(input.size() * 8 + 16);
  EXPECT_TRUE(run(in.text, &out.text));
  return out.ranges();
}

TEST(Rewrite, Strip) {
  const auto strip = [](bool left, bool right) {
    return Ranges(" \u3000a b\u00a0\n",
                  [&](const auto& in, auto* out) { return RunStrip(left, right, in, out); });
  };
  EXPECT_EQ(strip(true, true), "a:4-5  :5-6 b:6-7");
  EXPECT_EQ(strip(true, false), "a:4-5  :5-6 b:6-7 \u00a0:7-9 \n:9-10");
  EXPECT_EQ(strip(false, true), " :0-1 \u3000:1-4 a:4-5  :5-6 b:6-7");
  EXPECT_EQ(Ranges("  ", [](const auto& in, auto* out) { return RunStrip(true, true, in, out); }),
            "");
}

TEST(Rewrite, Lowercase) {
  const TableModel tables({image::Op::kLowercase});
  const auto lower = [&](const auto& in, auto* out) {
    return RunLowercase(tables.model(), in, out);
  };
  EXPECT_EQ(Ranges("A\u0130b", lower), "a:0-1 i:1-3 \u0307:1-3 b:3-4");
  EXPECT_EQ(Ranges("\u03a3\u03a3", lower), "\u03c3:0-2 \u03c3:2-4");  // no final sigma
  EXPECT_EQ(Ranges("\u1e9e", lower), "\u00df:0-3");
}

TEST(Rewrite, FiltersKeepRanges) {
  const TableModel tables({});
  EXPECT_EQ(
      Ranges("\u0301e\u0301x",
             [&](const auto& in, auto* out) { return RunStripAccents(tables.model(), in, out); }),
      "e:2-3 x:5-6");
  EXPECT_EQ(Ranges("\x01"
                   "a\x0b\t\u2581\u00a0",
                   RunNmt),
            "a:1-2  :3-4  :4-7 \u00a0:7-9");
}

TEST(Rewrite, Prepend) {
  EXPECT_EQ(Ranges("\u00e9x", [](const auto& in, auto* out) { return RunPrepend("ab", in, out); }),
            "a:0-2 b:0-2 \u00e9:0-2 x:2-3");
}

TEST(Rewrite, ReplacementsTakeTheRangeOfTheLastCharacter) {
  const auto replace = [](const char* pattern, const char* content) {
    return Ranges("aaab\u00e9",
                  [&](const auto& in, auto* out) { return RunReplace(pattern, content, in, out); });
  };
  EXPECT_EQ(replace("aa", "xy"), "x:1-2 y:1-2 a:2-3 b:3-4 \u00e9:4-6");
  EXPECT_EQ(replace("a", ""), "b:3-4 \u00e9:4-6");
  EXPECT_EQ(replace("z", "y"), "a:0-1 a:1-2 a:2-3 b:3-4 \u00e9:4-6");
}

TEST(Rewrite, Runs) {
  const auto runs = [](uint32_t least) {
    return Ranges("  a b   ", [&](const auto& in, auto* out) {
      return RunReplaceRun(" ", least, "_", in, out);
    });
  };
  EXPECT_EQ(runs(2), "_:1-2 a:2-3  :3-4 b:4-5 _:7-8");
  EXPECT_EQ(runs(1), "_:1-2 a:2-3 _:3-4 b:4-5 _:7-8");
  EXPECT_EQ(runs(3), " :0-1  :1-2 a:2-3  :3-4 b:4-5 _:7-8");
  EXPECT_EQ(Ranges("a\n b\t\tc d\u3000e\r",
                   [](const auto& in, auto* out) { return RunReplaceSpaces(" ", in, out); }),
            "a:0-1  :2-3 b:3-4  :5-6 c:6-7  :7-8 d:8-9 \u3000:9-12 e:12-13  :13-14");
}

TEST(Rewrite, WhiteSpaceIsUnicodeWhiteSpace) {
  uint32_t count = 0;
  for (char32_t c = 0; c <= utf8::kMaxCodePoint; ++c) count += unicode::IsWhiteSpace(c);
  EXPECT_EQ(count, 25u);  // PropList.txt, unchanged since Unicode 6.3
  EXPECT_FALSE(unicode::IsWhiteSpace(0x200b));
  EXPECT_FALSE(unicode::IsWhiteSpace(0xfeff));
  EXPECT_FALSE(unicode::IsWhiteSpace(0x180e));
}

TEST(Rewrite, OutputTooSmall) {
  OwnedText in("abc", 16), out(4);
  EXPECT_FALSE(RunPrepend("xy", in.text, &out.text));
  EXPECT_TRUE(RunPrepend("x", in.text, &out.text));
}

}  // namespace
}  // namespace rankfeed::normalize
