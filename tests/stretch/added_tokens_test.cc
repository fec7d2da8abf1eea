// SPDX-License-Identifier: MIT
// Added tokens in HuggingFace mode: matches, widening, single_word, normalized contents, special
// tokens as text. Expectations are those of the tokenizers 0.23.2 wheel.
#include "stretch/added_tokens.h"

#include <gtest/gtest.h>

#include "reference/hf_tiny.h"

namespace rankfeed::hf_test {
namespace {

struct Case {
  const char* normalizer;
  std::vector<Added> added;
  const char *text, *want, *want_split_special;
};

// clang-format off
const Case kCases[] = {
    {kNone, {{"ab", 0}, {"abc", 0}}, "abcab",
     "26:0-3 25:3-5",
     "26:0-3 25:3-5"},
    {kNone, {{"ab", 0}, {"abc", 0}}, "dabd",
     "4:0-1 8:0-1 25:1-3 4:3-4 8:3-4",
     "4:0-1 8:0-1 25:1-3 4:3-4 8:3-4"},
    {kNone, {{"ab", 1}, {"a", 0}}, "ab abc ab,",
     "25:0-2 27:2-5 7:5-6 4:6-7 25:7-9 4:9-10 18:9-10",
     "25:0-2 27:2-5 7:5-6 4:6-7 25:7-9 4:9-10 18:9-10"},
    {kNone, {{"ab", 1}, {"a", 0}}, "\303\251ab ab",
     "4:0-1 22:0-1 25:1-3 4:3-4 25:4-6",
     "4:0-1 22:0-1 25:1-3 4:3-4 25:4-6"},
    {kNone, {{"a", 6}}, "b  a  b",
     "24:0-1 5:1-6 24:6-7",
     "24:0-1 5:1-6 24:6-7"},
    {kNone, {{"a", 6}}, "a a",
     "5:0-2 5:2-3",
     "5:0-2 5:2-3"},
    {kNone, {{"a", 6}}, " a ",
     "5:0-3",
     "5:0-3"},
    {kNone, {{"a", 4}, {" b", 0}}, "a bc",
     "5:0-2 41:1-3 4:3-4 7:3-4",
     "5:0-2 41:1-3 4:3-4 7:3-4"},
    {kNone, {{"a", 4}, {" b", 0}}, "a  b",
     "5:0-3 41:2-4",
     "5:0-3 41:2-4"},
    {R"({"type":"Lowercase"})", {{"AB", 8}, {"C", 16}}, "abAB Ab",
     "41:0-2 41:2-4 4:4-5 41:5-7",
     "41:0-2 41:2-4 4:4-5 41:5-7"},
    {R"({"type":"Lowercase"})", {{"AB", 8}, {"C", 16}}, "abC c",
     "41:0-2 42:2-3 4:3-4 7:4-5",
     "41:0-2 4:2-3 7:2-3 4:3-4 7:4-5"},
    {R"({"type":"Lowercase"})", {{"AB", 14}}, "d  aB  d",
     "4:0-1 8:0-1 41:1-7 4:7-8 8:7-8",
     "4:0-1 8:0-1 41:1-7 4:7-8 8:7-8"},
    {R"({"type":"Strip","strip_left":true,"strip_right":true})", {{"<s>", 16}}, "  a <s>  b ",
     "23:2-3 1:4-7 24:9-10",
     "23:2-3 4:3-4 1:4-7 4:7-8 24:8-10"},
    {kNone, {{"\346\227\245", 0}}, "\346\227\245\346\234\254 \346\227\245",
     "38:0-1 4:1-2 0:1-2 4:2-3 38:3-4",
     "38:0-1 4:1-2 0:1-2 4:2-3 38:3-4"},
    {kNone, {{"\357\277\275", 0}}, "a\357\277\275b",
     "23:0-1 41:1-2 24:2-3",
     "23:0-1 41:1-2 24:2-3"},
    // A byte that is no character is read as U+FFFD, which the wheel is given.
    {kNone, {{"a\357\277\275", 0}}, "ba\200a\377b",
     "24:0-1 41:1-3 41:3-5 24:5-6",
     "24:0-1 41:1-3 41:3-5 24:5-6"},
};
// clang-format on

TEST(HfAddedTokens, EqualsTheWheel) {
  for (const Case& c : kCases) {
    TinyFile file;
    file.normalizer = c.normalizer;
    file.pre_tokenizer = kAlways;
    file.added = c.added;
    Engine engine(file);
    EXPECT_EQ(engine.Encode(c.text), c.want) << c.normalizer << " \"" << c.text << '"';
    EXPECT_EQ(engine.Encode(c.text, RANKFEED_SPLIT_SPECIAL_TOKENS), c.want_split_special)
        << c.normalizer << " \"" << c.text << '"';
  }
}

}  // namespace
}  // namespace rankfeed::hf_test
