// SPDX-License-Identifier: MIT
// Tests of reference/sp_decode: text against libsentencepiece 0.1.97 for any sequence of ids.
#include "reference/sp_decode.h"

#include <gtest/gtest.h>

#include "reference/sp_engine.h"
#include "reference/sp_model_proto.h"
#include "reference/sp_random_models.h"
#include "reference/sp_texts.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::sp_test {
namespace {

std::string ShowIds(const std::vector<int32_t>& ids) {
  std::string s;
  for (const int32_t id : ids) s += std::to_string(id) + " ";
  return s;
}

void ExpectSame(Engine& engine, const Oracle& oracle, const std::vector<int32_t>& ids) {
  std::string expected, actual;
  ASSERT_TRUE(oracle.Decode(ids, &expected));
  ASSERT_EQ(engine.Decode(ids, &actual), RANKFEED_OK) << ShowIds(ids);
  ASSERT_EQ(Escape(actual), Escape(expected)) << "ids: " << ShowIds(ids);
}

// 0 <unk> 1 <s> 2 </s> 3 ▁ 4 ▁a 5 a 6 ▁▁b 7 a▁b 8.. bytes
ModelProto SmallModel() {
  ModelProto model;
  model.AddSpecials();
  for (const char* text : {"\u2581", "\u2581a", "a", "\u2581\u2581b", "a\u2581b"}) {
    model.Add(text, -1);
  }
  model.AddBytes();
  return model;
}

TEST(SpDecode, FrontSpaceRulesForAllFlagsAndShortSequences) {
  for (const bool dummy : {false, true}) {
    for (const bool remove_extra : {false, true}) {
      ModelProto model = SmallModel();
      model.normalizer.add_dummy_prefix = dummy;
      model.normalizer.remove_extra_whitespaces = remove_extra;
      Engine engine(Serialize(model));
      Oracle oracle(Serialize(model));
      // 8 + 0x20 is a byte piece that is a space.
      const int32_t alphabet[] = {0, 1, 3, 4, 5, 6, 7, 8 + 0x20, 8 + 0xe2};
      std::vector<int32_t> ids;
      for (size_t length = 0; length <= 4; ++length) {
        ids.assign(length, 0);
        size_t total = 1;
        for (size_t i = 0; i < length; ++i) total *= std::size(alphabet);
        for (size_t code = 0; code < total; ++code) {
          for (size_t i = 0, c = code; i < length; ++i, c /= std::size(alphabet)) {
            ids[i] = alphabet[c % std::size(alphabet)];
          }
          ExpectSame(engine, oracle, ids);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(SpDecode, BytePiecesJoinToCharactersAndBadOnesAreReplaced) {
  Engine engine(Serialize(SmallModel()));
  Oracle oracle(Serialize(SmallModel()));
  const auto bytes = [](std::initializer_list<int> list) {
    std::vector<int32_t> ids;
    for (const int b : list) ids.push_back(8 + b);
    return ids;
  };
  std::string text;
  ASSERT_EQ(engine.Decode(bytes({0xe2, 0x96, 0x81, 0xf0, 0x9f, 0x98, 0x80, 'x'}), &text),
            RANKFEED_OK);
  EXPECT_EQ(text, "\u2581\U0001f600x");  // a U+2581 spelled in bytes is no space
  for (const auto& ids :
       {bytes({0xe2}), bytes({0xe2, 0x96}), bytes({0xe2, 0x28, 0xa1}), bytes({0x80, 0x80}),
        bytes({0xed, 0xa0, 0x80}), bytes({0xc0, 0x80}), bytes({0xf4, 0x90, 0x80, 0x80}),
        bytes({0xf0, 0x9f, 0x98, 0xf0, 0x9f, 0x98, 0x80}), bytes({0}), bytes({0xff, 0xc3, 0xa9})}) {
    ExpectSame(engine, oracle, ids);
  }
  std::mt19937_64 random(7);
  static constexpr int kTelling[] = {0x00, 0x41, 0x80, 0x9f, 0xa0, 0xbf, 0xc1, 0xc3, 0xe0,
                                     0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 0x90, 0x8f};
  for (size_t round = 0; round < Scaled(50000); ++round) {
    std::vector<int32_t> ids;
    for (size_t n = random() % 10; n > 0; --n) {
      ids.push_back(random() % 12 == 0 ? static_cast<int32_t>(random() % 8)
                                       : 8 + kTelling[random() % std::size(kTelling)]);
    }
    ExpectSame(engine, oracle, ids);
    if (HasFatalFailure()) return;
  }
}

TEST(SpDecode, IdsOutsideTheVocabularyAreAnErrorAndWriteNothing) {
  Engine engine(Serialize(SmallModel()));
  Oracle oracle(Serialize(SmallModel()));
  const int32_t size = oracle.processor().GetPieceSize();
  for (const int32_t bad : {-1, size, size + 1, INT32_MAX, INT32_MIN}) {
    const std::vector<int32_t> ids = {4, bad};
    std::string text;
    EXPECT_FALSE(oracle.Decode(ids, &text));
    char out[8] = "canary!";
    size_t written = 99;
    EXPECT_EQ(
        reference::DecodeSentencePiece(engine.model(), engine.Prepare(64), ids, out, sizeof(out), &written),
        RANKFEED_E_ID_RANGE);
    EXPECT_STREQ(out, "canary!");
    EXPECT_EQ(written, 0u);
  }
}

TEST(SpDecode, ShortOutputReportsTheNeedAndStaysInside) {
  Engine engine(Serialize(SmallModel()));
  const std::vector<int32_t> ids = {4, 3, 0, 8 + 0xc3, 8 + 0xa9, 7};
  std::string full;
  ASSERT_EQ(engine.Decode(ids, &full), RANKFEED_OK);
  for (size_t capacity = 0; capacity <= full.size(); ++capacity) {
    std::string out(capacity + 4, '\x7f');
    size_t size = 0;
    const rankfeed_status status =
        reference::DecodeSentencePiece(engine.model(), engine.Prepare(64), ids, out.data(), capacity, &size);
    EXPECT_EQ(status, capacity < full.size() ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
    EXPECT_EQ(size, full.size());
    EXPECT_EQ(out.substr(0, capacity), full.substr(0, capacity));
    EXPECT_EQ(out.substr(capacity), "\x7f\x7f\x7f\x7f");
  }
}

TEST(SpDecode, UnknownSurface) {
  for (const std::string& surface :
       {std::string(), std::string("?"), std::string(" \u2047 "), std::string("\u2581x"),
        std::string("x\0y", 3), std::string("\0y", 2)}) {
    ModelProto model = SmallModel();
    model.unk_surface = surface;
    Engine engine(Serialize(model));
    Oracle oracle(Serialize(model));
    for (const std::vector<int32_t>& ids :
         {std::vector<int32_t>{0}, {0, 4}, {4, 0, 4}, {0, 0}, {1, 0, 3, 4}}) {
      ExpectSame(engine, oracle, ids);
    }
  }
}

// Decode looks the piece of an id up again, and reserved pieces are found first.
TEST(SpDecode, PiecesSpelledLikeReservedOnes) {
  ModelProto model = SmallModel();
  const auto next = static_cast<int32_t>(model.pieces.size());
  model.Add("<s>", -1);
  model.Add("<unk>", -1, kUserDefined);
  model.Add("<0x41>", -1);
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  for (const std::vector<int32_t>& ids :
       {std::vector<int32_t>{next}, {next + 1}, {next + 2}, {4, next, next + 1, next + 2, 5}}) {
    ExpectSame(engine, oracle, ids);
  }
}

// What the wheel 0.2.3 answers, which no linked library does.
TEST(SpDecode, RulesOfNewerReleases) {
  const auto decode = [](const ModelProto& model, const std::vector<int32_t>& ids) {
    test::TestEngine engine(Serialize(model));
    std::string text;
    EXPECT_EQ(engine.Decode(ids, &text), RANKFEED_OK);
    return text;
  };
  const auto small = [] {
    ModelProto model;
    model.AddSpecials();
    model.Add("\u2581", -2);
    model.Add("a", -3);
    model.Add("\u2581a", -2.5);
    return model;
  };
  ModelProto spelled = small();  // the id decides, not what its piece is spelled like
  spelled.Add("<s>", -1);
  EXPECT_EQ(decode(spelled, {5, 6, 4}), "a<s>a");
  ModelProto surface = small();
  surface.unk_surface = std::string("x\0y", 3);
  EXPECT_EQ(decode(surface, {4, 0, 4}), std::string("ax\0ya", 5));
  ModelProto front = small();  // the unknown piece takes the place of the dummy prefix
  front.pieces[0].text = "\u2581u";
  front.unk_surface = "";
  front.normalizer.remove_extra_whitespaces = false;
  EXPECT_EQ(decode(front, {0, 5}), " a");
}

TEST(SpDecode, DenormalizerRunsOnlyWithACharsmap) {
  for (const bool charsmap : {false, true}) {
    for (unsigned flags = 0; flags < 8; ++flags) {
      ModelProto model = SmallModel();
      model.denormalizer =
          NormalizerProto{charsmap ? MakeCharsmap({{"a", "AAAA"}, {"b", " "}}) : "",
                          (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
      Engine engine(Serialize(model));
      Oracle oracle(Serialize(model));
      for (const std::vector<int32_t>& ids :
           {std::vector<int32_t>{}, {4}, {4, 5, 6}, {3, 3, 7, 0}, {6, 6, 6}}) {
        ExpectSame(engine, oracle, ids);
      }
    }
  }
}

TEST(SpDecode, GeneratedModelsEqualTheReference) {
  const uint64_t seed = 424242;
  std::mt19937_64 random(seed);
  for (size_t m = 0; m < Scaled(300); ++m) {
    const ModelProto model = RandomModel(random);
    const std::string bytes = Serialize(model);
    Oracle oracle(bytes);
    Engine engine(bytes);
    for (size_t t = 0; t < 300; ++t) {
      std::vector<int32_t> ids;
      if (t % 4 == 0) {
        ids = oracle.Encode(StressText(random)).ids;
      } else {
        for (size_t n = random() % 12; n > 0; --n) {
          ids.push_back(static_cast<int32_t>(random() % model.pieces.size()));
        }
      }
      ExpectSame(engine, oracle, ids);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " model " << m << " sequence " << t;
    }
  }
}

}  // namespace
}  // namespace rankfeed::sp_test
