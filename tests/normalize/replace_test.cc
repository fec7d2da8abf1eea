// SPDX-License-Identifier: MIT
// Strip, Prepend and the Replace normalizers with their ranges, as NormalizedString of tokenizers
// 0.23.2 keeps them.
#include "normalize/replace.h"

#include <gtest/gtest.h>

#include <string>

#include "normalize/table_model.h"
#include "unicode/properties.h"

namespace rankfeed::normalize {
namespace {

auto Edit(image::EditOp op, const char* a, const char* b, uint32_t arg0 = 0, uint32_t arg1 = 0) {
  return [=](const auto& in, auto* out) {
    return RunEdit({static_cast<uint32_t>(op), arg0, arg1, 0, {}, {}}, a, b, in, out);
  };
}

TEST(Replace, Strip) {
  const auto strip = [](bool left, bool right) {
    return Ranges(" \u3000a b\u00a0\n", Edit(image::EditOp::kStrip, "", "", left, right));
  };
  EXPECT_EQ(strip(true, true), "a:4-5  :5-6 b:6-7");
  EXPECT_EQ(strip(true, false), "a:4-5  :5-6 b:6-7 \u00a0:7-9 \n:9-10");
  EXPECT_EQ(strip(false, true), " :0-1 \u3000:1-4 a:4-5  :5-6 b:6-7");
  EXPECT_EQ(Ranges("  ", Edit(image::EditOp::kStrip, "", "", 1, 1)), "");
}

TEST(Replace, Prepend) {
  EXPECT_EQ(Ranges("\u00e9x", Edit(image::EditOp::kPrepend, "ab", "")),
            "a:0-2 b:0-2 \u00e9:0-2 x:2-3");
}

TEST(Replace, ReplacementsTakeTheRangeOfTheLastCharacter) {
  const auto replace = [](const char* pattern, const char* content) {
    return Ranges("aaab\u00e9", Edit(image::EditOp::kReplace, pattern, content));
  };
  EXPECT_EQ(replace("aa", "xy"), "x:1-2 y:1-2 a:2-3 b:3-4 \u00e9:4-6");
  EXPECT_EQ(replace("a", ""), "b:3-4 \u00e9:4-6");
  EXPECT_EQ(replace("z", "y"), "a:0-1 a:1-2 a:2-3 b:3-4 \u00e9:4-6");
}

TEST(Replace, Runs) {
  const auto runs = [](uint32_t least) {
    return Ranges("  a b   ", Edit(image::EditOp::kReplaceRun, " ", "_", least));
  };
  EXPECT_EQ(runs(2), "_:1-2 a:2-3  :3-4 b:4-5 _:7-8");
  EXPECT_EQ(runs(1), "_:1-2 a:2-3 _:3-4 b:4-5 _:7-8");
  EXPECT_EQ(runs(3), " :0-1  :1-2 a:2-3  :3-4 b:4-5 _:7-8");
  EXPECT_EQ(Ranges("a\n b\t\tc d\u3000e\r",
                   Edit(image::EditOp::kReplaceSpaces, "", " ")),
            "a:0-1  :2-3 b:3-4  :5-6 c:6-7  :7-8 d:8-9 \u3000:9-12 e:12-13  :13-14");
}

TEST(Replace, WhiteSpaceIsUnicodeWhiteSpace) {
  uint32_t count = 0;
  for (char32_t c = 0; c <= utf8::kMaxCodePoint; ++c) count += unicode::IsWhiteSpace(c);
  EXPECT_EQ(count, 25u);  // PropList.txt, unchanged since Unicode 6.3
  EXPECT_FALSE(unicode::IsWhiteSpace(0x200b));
  EXPECT_FALSE(unicode::IsWhiteSpace(0xfeff));
  EXPECT_FALSE(unicode::IsWhiteSpace(0x180e));
}

TEST(Replace, OutputTooSmall) {
  OwnedText in("abc", 16), out(4);
  EXPECT_FALSE(Edit(image::EditOp::kPrepend, "xy", "")(in.text, &out.text));
  EXPECT_TRUE(Edit(image::EditOp::kPrepend, "x", "")(in.text, &out.text));
}

}  // namespace
}  // namespace rankfeed::normalize
