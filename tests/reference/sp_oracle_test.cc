// SPDX-License-Identifier: MIT
// SentencePiece mode on real models where rules meet: every code point, long repetitions, a
// megabyte without spaces. Ids, offsets and decoded text equal libsentencepiece 0.1.97. (XQuAD and
// random strings are in tests/oracle/sp_parity_test.cc, over the public API.)
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/utf8.h"
#include "reference/sp_engine.h"
#include "reference/sp_texts.h"
#include "support/sanitizers.h"

namespace rankfeed::sp_test {
namespace {

// A model on both sides; compiled once for all tests.
struct Sides {
  explicit Sides(const std::string& bytes) : oracle(bytes), engine(bytes) {}
  Oracle oracle;
  Engine engine;
};

class SpOracle : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = SharedData(GetParam());
    if (path.empty()) {
      GTEST_SKIP() << "no " << GetParam() << " in RANKFEED_SHARED_DATA: real models not compared";
    }
    static std::map<std::string, std::unique_ptr<Sides>> models;
    std::unique_ptr<Sides>& sides = models[path];
    if (sides == nullptr) sides = std::make_unique<Sides>(ReadFile(path));
    oracle_ = &sides->oracle;
    engine_ = &sides->engine;
  }

  void ExpectSame(const std::string& text) {
    const Tokens expected = oracle_->Encode(text);
    const Tokens actual = engine_->Encode(text);
    if (actual != expected) {
      ADD_FAILURE() << "text: " << Escape(text) << "\n  rankfeed " << Show(actual)
                    << "\n  reference " << Show(expected);
    }
    std::string decoded, decoded_expected;
    ASSERT_TRUE(oracle_->Decode(expected.ids, &decoded_expected));
    ASSERT_EQ(engine_->Decode(expected.ids, &decoded), RANKFEED_OK);
    ASSERT_EQ(decoded, decoded_expected);
    ++texts_;
    tokens_ += expected.ids.size();
    bytes_ += text.size();
  }

  void Report() const {
    std::printf("%s: %zu texts, %zu bytes, %zu tokens\n", GetParam(), texts_, bytes_, tokens_);
  }

  Oracle* oracle_ = nullptr;
  Engine* engine_ = nullptr;
  size_t texts_ = 0, tokens_ = 0, bytes_ = 0;
};

// The rounding of the stored float shows on long repetitions, where many paths nearly tie.
TEST_P(SpOracle, Repetitions) {
  for (const char* unit : {"a", "o", "e", "the", "ha", "-", ".", "1", "ab", "\u3042", "\u4e2d"}) {
    std::string text;
    for (size_t n = 0; n < (kSanitized ? 30u : SweepsAll() ? 200u : 100u); ++n) {
      text += unit;
      ExpectSame(text);
      if (HasFailure()) return;
    }
  }
}

// Every character alone, where the growth bound is tightest, and between letters; beyond U+3400 a part of them but in the
// long suite.
TEST_P(SpOracle, EveryCodePoint) {
  const uint32_t dense = kSanitized ? 5 : 1, step = kSanitized ? 97 : SweepsAll() ? 1 : 5;
  for (uint32_t cp = 0; cp < 0x110000; cp += cp < 0x3400 ? dense : step) {
    if (cp >= 0xd800 && cp < 0xe000) continue;
    if (cp >= 0x30000 && cp % 64 != 0) continue;  // nearly empty planes
    char bytes[4];
    const uint32_t size = utf8::Encode(cp, bytes);
    const std::string c(bytes, size);
    ExpectSame(c + "a" + c + "b" + c);
    if (cp < 0x3100 || cp >= 0xf900) ExpectSame(c);
    if (HasFailure()) FAIL() << "U+" << std::hex << cp;
  }
  Report();
}

TEST_P(SpOracle, OneLongTextWithoutSpaces) {
  std::mt19937_64 random(3);
  std::string text;
  while (text.size() < (kSanitized ? 50000u : 1000000u)) {
    std::string part = StressText(random);
    std::erase(part, ' ');
    text += part;
  }
  ExpectSame(text);
}

INSTANTIATE_TEST_SUITE_P(Models, SpOracle,
                         ::testing::Values("xlmr.model", "models/xlnet.model",
                                           "models/sp_en_1k.model", "models/sp_ja_8k.model"),
                         [](const auto& test) {
                           std::string name = test.param;
                           name = name.substr(name.rfind('/') + 1);
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace rankfeed::sp_test
