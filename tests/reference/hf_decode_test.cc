// SPDX-License-Identifier: MIT
// Decoding in HuggingFace mode against the tokenizers 0.23.2 wheel, and where the wheel panics.
#include "reference/hf_decode.h"

#include <gtest/gtest.h>

#include "reference/hf_tiny.h"

namespace rankfeed::hf_test {
namespace {

struct Case {
  const char* decoder;
  std::vector<int32_t> ids;
  bool skip_special;
  const char* want;
};

// clang-format off
const Case kCases[] = {
    {kNone, {1, 33, 34, 2}, false, "<s> \342\226\201hello \342\226\201world </s>"},
    {kNone, {1, 33, 34, 2}, true, "\342\226\201hello \342\226\201world"},
    {kNone, {33, 999, 4, 5}, false, "\342\226\201hello \342\226\201 a"},
    {kNone, {5, 5, 5, 6, 5, 25, 7}, false, "a a a b a ab c"},
    {kNone, {40, 6}, false, "<0x41> b"},
    {kNone, {}, false, ""},
    {kNone, {5, 6, 5, 5, 5}, false, "a b a a a"},
    {kNone, {40}, false, "<0x41>"},
    {kAlways, {1, 33, 34, 2}, false, "<s> hello world</s>"},
    {kAlways, {1, 33, 34, 2}, true, "hello world"},
    {kAlways, {33, 999, 4, 5}, false, "hello a"},
    {kAlways, {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {kAlways, {40, 6}, false, "<0x41>b"},
    {kAlways, {}, false, ""},
    {kAlways, {5, 6, 5, 5, 5}, false, "abaaa"},
    {kAlways, {40}, false, "<0x41>"},
    {kNever, {1, 33, 34, 2}, false, "<s> hello world</s>"},
    {kNever, {1, 33, 34, 2}, true, " hello world"},
    {kNever, {33, 999, 4, 5}, false, " hello a"},
    {kNever, {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {kNever, {40, 6}, false, "<0x41>b"},
    {kNever, {}, false, ""},
    {kNever, {5, 6, 5, 5, 5}, false, "abaaa"},
    {kNever, {40}, false, "<0x41>"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {1, 33, 34, 2}, false, "<s> hello world</s>"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {1, 33, 34, 2}, true, " hello world"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {33, 999, 4, 5}, false, " hello a"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {40, 6}, false, "<0x41>b"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {}, false, ""},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})", {40}, false, "<0x41>"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {1, 33, 34, 2}, false, "<s>\342\226\201hello\342\226\201world</s>"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {1, 33, 34, 2}, true, "\342\226\201hello\342\226\201world"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {33, 999, 4, 5}, false, "\342\226\201hello\342\226\201a"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {5, 5, 5, 6, 5, 25, 7}, false, "aaabaxc"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {40, 6}, false, "<0x41>b"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {}, false, ""},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"x"})", {40}, false, "<0x41>"},
    {R"({"type":"Fuse"})", {1, 33, 34, 2}, false, "<s>\342\226\201hello\342\226\201world</s>"},
    {R"({"type":"Fuse"})", {1, 33, 34, 2}, true, "\342\226\201hello\342\226\201world"},
    {R"({"type":"Fuse"})", {33, 999, 4, 5}, false, "\342\226\201hello\342\226\201a"},
    {R"({"type":"Fuse"})", {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {R"({"type":"Fuse"})", {40, 6}, false, "<0x41>b"},
    {R"({"type":"Fuse"})", {}, false, ""},
    {R"({"type":"Fuse"})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"Fuse"})", {40}, false, "<0x41>"},
    {R"({"type":"ByteFallback"})", {1, 33, 34, 2}, false, "<s>\342\226\201hello\342\226\201world</s>"},
    {R"({"type":"ByteFallback"})", {1, 33, 34, 2}, true, "\342\226\201hello\342\226\201world"},
    {R"({"type":"ByteFallback"})", {33, 999, 4, 5}, false, "\342\226\201hello\342\226\201a"},
    {R"({"type":"ByteFallback"})", {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {R"({"type":"ByteFallback"})", {40, 6}, false, "Ab"},
    {R"({"type":"ByteFallback"})", {}, false, ""},
    {R"({"type":"ByteFallback"})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"ByteFallback"})", {40}, false, "A"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {1, 33, 34, 2}, false, "<s> hello world</s>"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {1, 33, 34, 2}, true, "hello world"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {33, 999, 4, 5}, false, "hello a"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {40, 6}, false, "Ab"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {}, false, ""},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]})", {40}, false, "A"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {1, 33, 34, 2}, false, "<s>\342\226\201hello\342\226\201world</s>"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {1, 33, 34, 2}, true, "\342\226\201hello\342\226\201world"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {33, 999, 4, 5}, false, "\342\226\201hello\342\226\201a"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {5, 5, 5, 6, 5, 25, 7}, false, "axxc"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {40, 6}, false, "<0x41>b"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {}, false, ""},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"String":"aab"},"content":"x"}]})", {40}, false, "<0x41>"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {1, 33, 34, 2}, false, "<s>\342\226\201hello\342\226\201world</s>"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {1, 33, 34, 2}, true, "\342\226\201hello\342\226\201world"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {33, 999, 4, 5}, false, "\342\226\201hello\342\226\201"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {5, 5, 5, 6, 5, 25, 7}, false, "aabaabc"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {40, 6}, false, "<0x41>b"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {5, 6, 5, 5, 5}, false, "ba"},
    {R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})", {40}, false, "<0x41>"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {1, 33, 34, 2}, false, "<s>helloworld</s>"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {1, 33, 34, 2}, true, "helloworld"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {33, 999, 4, 5}, false, "helloa"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {5, 5, 5, 6, 5, 25, 7}, false, "aaabaabc"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {40, 6}, false, "<0x41>b"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {}, false, ""},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {5, 6, 5, 5, 5}, false, "abaaa"},
    {R"({"type":"Strip","content":"▁","start":1,"stop":0})", {40}, false, "<0x41>"},
};
// clang-format on

TEST(HfDecode, EqualsTheWheel) {
  std::unique_ptr<Engine> engine;
  const Case* last = nullptr;
  for (const Case& c : kCases) {
    if (last == nullptr || std::string_view(last->decoder) != c.decoder) {
      TinyFile file;
      file.decoder = c.decoder;
      engine = std::make_unique<Engine>(file);
      last = &c;
    }
    EXPECT_EQ(engine->Decode(c.ids, c.skip_special), c.want) << c.decoder;
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
