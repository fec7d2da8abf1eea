// SPDX-License-Identifier: MIT
// segment/known_stretches.h: what is found is what was kept; and ids of stretches between added tokens
// that come again, whatever the encoder did before.
#include "segment/known_stretches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "segment/word_forms.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace segment_test;  // NOLINT: the test's own vocabulary
using segment::KnownStretches;
using segment::SegmentKey;

class KnownStretchesTest : public testing::Test {
 protected:
  using Ids = std::vector<int32_t>;
  KnownStretchesTest() { std::memset(static_cast<void*>(memory_.get()), 0xa5, sizeof(*memory_)); }

  static SegmentKey Key(const std::string& stretch, uint32_t mode = 0) {
    const std::string text = "x" + stretch + std::string(KnownStretches::kMaxBytes, 'y');
    return KnownStretches::KeyOf(text.data() + 1, static_cast<uint32_t>(stretch.size()), mode);
  }
  // With -1 in front where it is known.
  Ids Take(const std::string& stretch, uint32_t capacity = 64, uint32_t mode = 0) {
    if (stretch.size() > stretches_.longest()) return {};
    const uint16_t slot = stretches_.Find(Key(stretch, mode));
    if (slot == KnownStretches::kNone) return {};
    Ids ids(capacity, -7);
    TokenSink sink{ids.data(), nullptr, nullptr, capacity, 0};
    stretches_.Take(slot, &sink);
    ids.resize(sink.count, -8);  // that did not fit
    ids.insert(ids.begin(), -1);
    return ids;
  }

  std::unique_ptr<KnownStretches::Memory> memory_ = std::make_unique<KnownStretches::Memory>();
  KnownStretches stretches_{memory_.get()};
};

TEST_F(KnownStretchesTest, FindsWhatWasKeptAndNothingElse) {
  EXPECT_EQ(Take("a"), Ids());  // whatever the memory held before
  stretches_.Keep(Key("a"), Ids{3, 4});
  EXPECT_EQ(Take("a"), (Ids{-1, 3, 4}));
  EXPECT_EQ(Take("a", 1), (Ids{-1, 3, -8}));
  EXPECT_EQ(Take("b"), Ids());
  EXPECT_EQ(Take("a", 64, 1), Ids());  // in another mode
  EXPECT_EQ(Take(std::string("a\0", 2)), Ids());
  stretches_.Keep(Key("\x04"), Ids());
  EXPECT_EQ(Take("\x04"), Ids{-1});
  const std::string longest(KnownStretches::kMaxBytes, 'l');
  stretches_.Keep(Key(longest), Ids(KnownStretches::kMaxIds, 5));
  EXPECT_EQ(Take(longest).size(), KnownStretches::kMaxIds + 1);
  stretches_.Keep(Key("m"), Ids(KnownStretches::kMaxIds + 1, 5));
  EXPECT_EQ(Take("m"), Ids());
}

// An answer stays what it is until it is taken.
TEST_F(KnownStretchesTest, WhatWaitsIsNotReplaced) {
  stretches_.Keep(Key("a"), Ids{3});
  const uint16_t slot = stretches_.Find(Key("a"));
  ASSERT_NE(slot, KnownStretches::kNone);
  for (int i = 0; i < 2000; ++i) stretches_.Keep(Key(std::to_string(i)), Ids{i});
  EXPECT_EQ(Take("a"), (Ids{-1, 3}));
  stretches_.Start();  // nor is that taken any more
  for (int i = 0; i < 2000; ++i) stretches_.Keep(Key(std::to_string(i)), Ids{i});
  EXPECT_EQ(Take("a"), Ids());
  EXPECT_EQ(Take("1999"), (Ids{-1, 1999}));
}

// Few stretches again and again between added tokens, among them such as leave the fast road, with
// every treatment of special tokens in turn.
TEST(KnownStretchesInTexts, EqualsThePlainPath) {
  const std::vector<std::string> tokens = {"<s>", "</s>", "<mask>", "[unk]", "<unk>"};
  const std::vector<std::string> atoms = {"a",  " ",      "\u0301", "<\u0338", "\u2057<\u0301", "\ufdfa",
                                          "\t", "\u1680", "\u00a0", "\x04",   "the",           "\u2581"};
  constexpr uint32_t kFlags[] = {0, RANKFEED_SPLIT_SPECIAL_TOKENS, RANKFEED_ESCAPE_SPECIAL};
  for (const FormFile& form : Forms()) {
    SCOPED_TRACE(form.name);
    const Image& image = ImageOf(form);
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 4096);
    std::mt19937_64 random(3);
    for (int round = 0; round < static_cast<int>(Scaled(400)); ++round) {
      std::vector<std::string> stretches(1 + random() % 6);
      for (std::string& stretch : stretches) {
        for (size_t n = 1 + random() % 4; n > 0; --n) stretch += atoms[random() % atoms.size()];
      }
      std::string text;
      const size_t size = random() % 4 == 0 ? 9000 : random() % 300;
      while (text.size() < size) {
        text += stretches[random() % stretches.size()] + tokens[random() % tokens.size()];
      }
      const uint32_t flags = kFlags[random() % 3];
      ASSERT_EQ(Encode(fast, text, flags), Encode(plain, text, flags)) << testing::PrintToString(text);
    }
  }
}

}  // namespace
}  // namespace rankfeed
