// SPDX-License-Identifier: MIT
// Decoding in HuggingFace mode against the tokenizers 0.23.2 wheel, and where the wheel panics.
#include "reference/hf_decode.h"

#include <gtest/gtest.h>

#include "reference/hf_tiny.h"

namespace rankfeed::hf_test {
namespace {

struct Input {
  std::vector<int32_t> ids;
  bool skip_special;
};
struct Case {
  const char* decoder;
  const char* wants[8];  // of kInputs; null: not asked of the wheel
};

// clang-format off
const Input kInputs[] = {{{1, 33, 34, 2}, false}, {{1, 33, 34, 2}, true}, {{33, 999, 4, 5}, false}, {{5, 5, 5, 6, 5, 25, 7}, false},
                         {{40, 6}, false}, {{}, false}, {{5, 6, 5, 5, 5}, false}, {{40}, false}};
const Case kCases[] = {
    {kNone,
     {"<s> \342\226\201hello \342\226\201world </s>", "\342\226\201hello \342\226\201world", "\342\226\201hello \342\226\201 a", "a a a b a ab c", "<0x41> b", "", "a b a a a", "<0x41>"}},
    {kAlways,
     {"<s> hello world</s>", "hello world", "hello a", "aaabaabc", "<0x41>b", "", "abaaa", "<0x41>"}},
    {kNever,
     {"<s> hello world</s>", " hello world", " hello a", "aaabaabc", "<0x41>b", "", "abaaa", "<0x41>"}},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})",
     {"<s> hello world</s>", " hello world", " hello a", "aaabaabc", "<0x41>b", "", "abaaa", "<0x41>"}},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})",
     {"<s>\342\226\201hello\342\226\201world</s>", "\342\226\201hello\342\226\201world", "\342\226\201hello\342\226\201a", "aaabaxc", "<0x41>b", "", "abaaa", "<0x41>"}},
    {R"({"type":"Fuse"})",
     {"<s>\342\226\201hello\342\226\201world</s>", "\342\226\201hello\342\226\201world", "\342\226\201hello\342\226\201a", "aaabaabc", "<0x41>b", "", "abaaa", "<0x41>"}},
    {R"({"type":"ByteFallback"})",
     {"<s>\342\226\201hello\342\226\201world</s>", "\342\226\201hello\342\226\201world", "\342\226\201hello\342\226\201a", "aaabaabc", "Ab", "", "abaaa", "A"}},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})",
     {"<s> hello world</s>", "hello world", "hello a", "aaabaabc", "Ab", "", "abaaa", "A"}},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})",
     {"<s>\342\226\201hello\342\226\201world</s>", "\342\226\201hello\342\226\201world", "\342\226\201hello\342\226\201a", "axxc", "<0x41>b", "", "abaaa", "<0x41>"}},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})",
     {"<s>\342\226\201hello\342\226\201world</s>", "\342\226\201hello\342\226\201world", "\342\226\201hello\342\226\201", "aabaabc", "<0x41>b", nullptr, "ba", "<0x41>"}},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})",
     {"<s>helloworld</s>", "helloworld", "helloa", "aaabaabc", "<0x41>b", "", "abaaa", "<0x41>"}},
};
// clang-format on

TEST(HfDecode, EqualsTheWheel) {
  for (const Case& c : kCases) {
    TinyFile file;
    file.decoder = c.decoder;
    Engine engine(file);
    for (size_t i = 0; i < std::size(kInputs); ++i) {
      if (c.wants[i] == nullptr) continue;
      EXPECT_EQ(engine.Decode(kInputs[i].ids, kInputs[i].skip_special), c.wants[i]) << c.decoder;
    }
  }
}

TEST(HfDecode, StripOfTooShortATokenLeavesNothing) {
  TinyFile file;
  file.decoder = R"({"type":"Strip","content":"a","start":1,"stop":2})";  // panics in the wheel
  Engine engine(file);
  EXPECT_EQ(engine.Decode({5, 6}, false), "b");
}

TEST(HfDecode, IdsOutsideTheVocabularyAreDropped) {
  Engine engine{TinyFile()};
  EXPECT_EQ(engine.Decode({-1, 5, 1 << 30, 6}, false), "a b");
}

}  // namespace
}  // namespace rankfeed::hf_test
