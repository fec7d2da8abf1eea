// SPDX-License-Identifier: MIT
// Every short text of what user-defined symbols are written with, of characters that become parts
// of one, several of them or something else behind them, and of marks that are read together with
// the end of one: against libsentencepiece 0.1.97 and the plain reference, which has both rules.
// Ids, with and without offsets, and offsets; and which texts stay on the fast road.
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include "exhaustive/sp_encodings.h"
#include "exhaustive/worlds.h"
#include "plain/sp_from_proto.h"
#include "reference/sp_model_proto.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::exhaustive {
namespace {

using test::Encoding;
using test::Escape;
using test::TestEngine;

sp_test::ModelProto Model() {
  sp_test::ModelProto model;
  model.AddSpecials();
  model.Add("<x>", 0, sp_test::kUserDefined);
  model.Add("<xx", 0, sp_test::kUserDefined);
  model.Add("x<x", 0, sp_test::kUserDefined);
  model.Add("a\u00bb", 0, sp_test::kUserDefined);
  model.Add("\u2581", -2);
  model.Add("<", -3);
  model.Add("x", -3);
  model.Add("a", -1);
  model.Add("a<", -4);
  model.Add("\u2581a", -3);
  model.normalizer.charsmap = sp_test::MakeCharsmap({{"\ufe64", "<"},
                                                     {"\ufe65", ">"},
                                                     {"\uff58", "x"},
                                                     {"\u226e", "a<c"},
                                                     {"\u2102", "x>"},
                                                     {"\u00bc", "1a"},
                                                     {"\ufdfa", "c a<x b"},
                                                     {"\ufdfb", "c a b c"},
                                                     {"\u200b", ""},
                                                     {"\u00a0", " "},
                                                     {"<\u0338", "y"},
                                                     {">\u0338", "ax"},
                                                     {"\u00bb\u0338", ">"},
                                                     {"\ufe64\u0338", "x>"}});
  return model;
}

uint64_t OnTheFastRoad(const TestEngine& engine) {
  rankfeed_road_counts roads[RANKFEED_REASON_COUNT];
  EXPECT_EQ(rankfeed_encoder_roads(engine.encoder(), roads, RANKFEED_REASON_COUNT), RANKFEED_OK);
  return roads[RANKFEED_REASON_NONE].texts;
}

TEST(SpSymbols, EveryShortText) {
  const sp_test::ModelProto proto = Model();
  const std::string bytes = sp_test::Serialize(proto);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.LoadFromSerializedProto(bytes).ok());
  const plain::SpUnigram older(plain::FromProto(proto, plain::SpRelease::k0_2_1));
  const plain::SpUnigram newest(plain::FromProto(proto, plain::SpRelease::k0_2_2));
  TestEngine older_engine(bytes, 128, 4096, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  TestEngine newest_engine(bytes, 128, 4096, RANKFEED_PARITY_SENTENCEPIECE);
  for (TestEngine* engine : {&older_engine, &newest_engine}) {
    ASSERT_EQ(rankfeed_model_off_fast_road(engine->model()), nullptr);
  }
  const std::vector<std::string> letters = {"<",      "\ufe64", "x",      "\uff58", ">",
                                            "\ufe65", "\u226e", "\u2102", "\u00bc", "\ufdfa",
                                            "\ufdfb", "\u200b", "\u00a0", "\u0338", "a",
                                            "\u00bb"};
  const auto texts = Sequences(letters, kSanitized ? 3 : SweepsAll() ? 5 : 4);
  std::vector<int> ids;
  for (const std::string& text : texts) {
    const Encoding expected = FromReference(older, text);
    ASSERT_TRUE(library.Encode(text, &ids).ok());
    ASSERT_EQ(std::vector<int32_t>(ids.begin(), ids.end()), expected.ids) << Escape(text);
    ASSERT_NO_FATAL_FAILURE(ExpectSame(older_engine, text, expected));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(newest_engine, text, FromReference(newest, text)));
  }
}

// A text leaves where a mark follows the end of what may be a symbol.
TEST(SpSymbols, TextsStay) {
  TestEngine engine(sp_test::Serialize(Model()), 128, 4096, RANKFEED_PARITY_SENTENCEPIECE);
  const auto stays = [&](const std::string& text) {
    const uint64_t before = OnTheFastRoad(engine);
    engine.Ids(text);
    return OnTheFastRoad(engine) != before;
  };
  for (const char* text : {"<x>", "a <x><xx a\u00bb", "<x>\ufdfa", "<\uff58>", "<\u2102", "\ufe64x>",
                           "\ufe64x,", "<x\ufe65", "a\u226ea", "<\u0338", "<\u0338x>", "x>\u0338",
                           "\u00bb\u0338", "<xx\u0338"}) {
    EXPECT_TRUE(stays(text)) << text;
  }
  for (const char* text : {"<x>\u0338", "a\u00bb\u0338", "c<x>\u0338x", "x<x>\u0338",
                           "ax<x>\u0338<x>"}) {
    EXPECT_FALSE(stays(text)) << text;
  }
}

// Unknown characters of many words, and the score in front of what is searched behind them.
TEST(SpSymbols, LongTexts) {
  const sp_test::ModelProto proto = Model();
  const std::string bytes = sp_test::Serialize(proto);
  const plain::SpUnigram older(plain::FromProto(proto, plain::SpRelease::k0_2_1));
  const plain::SpUnigram newest(plain::FromProto(proto, plain::SpRelease::k0_2_2));
  TestEngine older_engine(bytes, 1 << 16, 4096, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  TestEngine newest_engine(bytes, 1 << 16, 4096, RANKFEED_PARITY_SENTENCEPIECE);
  const std::vector<std::string> letters = {"\ufdfb", "\ufdfb", "a",      "\ufe64a",
                                            " ",      "c",      "\u00bc", "x"};
  uint64_t state = 1;
  for (int round = 0; round < (kSanitized ? 6 : 60); ++round) {
    std::string text;
    for (size_t i = 0; i < 3000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += letters[(state >> 33) % (1 + round % letters.size())];
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(older_engine, text, FromReference(older, text)));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(newest_engine, text, FromReference(newest, text)));
  }
}

}  // namespace
}  // namespace rankfeed::exhaustive
