// SPDX-License-Identifier: MIT
// trim_offsets: its parts, and whole rows against the tokenizers 0.23.2 wheel.
#include "reference/hf_trim_offsets.h"

#include <gtest/gtest.h>

#include "reference/hf_tiny.h"

namespace rankfeed::hf_test {

using reference::CountEndSpaces, reference::EndSpaces, reference::TrimBack, reference::TrimFront;

namespace {

TEST(HfTrimOffsets, CountsCharactersAtBothEnds) {
  const EndSpaces spaces = CountEndSpaces("\u3000 \u0120a b\t\u00a0");
  EXPECT_EQ(spaces.leading, 3u);
  EXPECT_EQ(spaces.trailing, 2u);
  EXPECT_EQ(CountEndSpaces("  ").leading, 2u);
  EXPECT_EQ(CountEndSpaces("  ").trailing, 2u);
  EXPECT_EQ(CountEndSpaces("").leading, 0u);
}

TEST(HfTrimOffsets, MovesByCharactersOfTheText) {
  EXPECT_EQ(TrimFront("\u00e9\u3000x", 0, 6, 2), 5u);
  EXPECT_EQ(TrimFront("\u00e9\u3000x", 0, 2, 2), 2u);
  EXPECT_EQ(TrimBack("\u00e9\u3000x", 6, 2), 2u);
  EXPECT_EQ(TrimBack("\u00e9\u3000x", 6, 4), 6u);  // fewer than four: nothing happens
}

struct Texts {
  const char *text, *with_prefix, *without;  // add_prefix_space; null: not asked of the wheel
};
struct Case {
  const char *normalizer, *pre_tokenizer;
  std::vector<Added> added;
  std::vector<Texts> texts;
};

// clang-format off
const Case kCases[] = {
    {kNone, kNone, {},
     {{" x ", "0:0-2", "0:1-2"},
      {"  x\011", "0:2-3", "0:2-3"},
      {"a x", "5:0-1 0:2-3", "5:0-1 0:2-3"},
      {"\304\240x\304\240", "0:0-2", "0:1-2"},
      {" ", "0:0-0", "0:1-1"},
      {"\303\251  x", "22:0-1 0:3-4", "22:0-1 0:3-4"},
      {"x\343\200\200\343\200\200", "0:0-1", "0:0-1"}}},
    {kNone, kAlways, {{"<m>", 22}},
     {{"a  <m>  b", "23:0-1 41:3-6 24:8-9", "23:0-1 41:3-6 24:8-9"},
      {"  <m>", "41:2-5", "41:2-5"},
      {"<m> ", "41:0-3", "41:0-3"}}},
    {kNone, kAlways, {{"m", 14}},
     {{"a  m  b", "23:0-1 41:3-4 24:6-7", "23:0-1 41:3-4 24:6-7"},
      {"  m", "41:2-3", "41:2-3"},
      {" m", "41:0-2", "41:1-2"},
      {"m ", "41:0-1", "41:0-1"}}},
    {kNone, kAlways, {{"m", 10}, {" ", 8}},
     {{"a  m  b", "23:0-1 42:2-2 42:3-3 41:3-4 42:5-5 42:6-6 24:6-7", "23:0-1 42:2-2 42:3-3 41:3-4 42:5-5 42:6-6 24:6-7"},
      {" ", "42:0-0", "42:1-1"},
      {"a b", "23:0-1 42:2-2 24:2-3", "23:0-1 42:2-2 24:2-3"},
      {" a", "42:0-0 23:1-2", "42:1-1 23:1-2"}}},
    {R"({"type":"Lowercase"})", kWords, {{"m", 10}},
     {{"\343\200\200 M", "41:2-3", "41:2-3"},
      {"a M", "23:0-1 41:2-3", "23:0-1 41:2-3"}}},
    // A token that begins inside the white space that the one before it takes.
    {kNone, kNone, {{" ", 12}},
     {{"a  b", "5:0-1 41:3-3 41:3-3 6:3-4", nullptr},
      {"  \343\200\200b", "41:3-3 41:3-3 6:3-4", nullptr},
      {"  b", nullptr, "41:2-2 41:2-2 6:2-3"},
      {"<m>   b", nullptr, "0:0-3 41:6-6 41:6-6 41:6-6 6:6-7"}}},
};
// clang-format on

TEST(HfTrimOffsets, EqualsTheWheel) {
  for (const Case& c : kCases) {
    for (const bool prefix : {true, false}) {
      TinyFile file;
      file.normalizer = c.normalizer;
      file.pre_tokenizer = c.pre_tokenizer;
      file.added = c.added;
      file.post_processor =
          std::string(R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",1],)") +
          R"("trim_offsets":true,"add_prefix_space":)" + (prefix ? "true}" : "false}");
      Engine engine(file);
      for (const Texts& one : c.texts) {
        const char* const want = prefix ? one.with_prefix : one.without;
        if (want == nullptr) continue;
        EXPECT_EQ(engine.Encode(one.text), want) << prefix << c.normalizer << c.pre_tokenizer << " \"" << one.text << '"';
      }
    }
  }
}

}  // namespace
}  // namespace rankfeed::hf_test
