// SPDX-License-Identifier: MIT
// Every short string of spaces, what becomes spaces or nothing, written U+2581, letters, symbols and
// unknown characters, under every setting of a SentencePiece model that the fast road takes:
// add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix,
// user-defined symbols; with U+2581 behind words byte fallback too. Against libsentencepiece 0.1.97
// and the plain reference, which has both rules. Ids, with and without offsets, and offsets.
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <cstdio>

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

struct Setting {
  bool prefix, remove, symbols, escape, suffix, bytes;
};

sp_test::ModelProto Model(const Setting& setting) {
  sp_test::ModelProto model;
  model.AddSpecials();
  if (setting.bytes) model.AddBytes();
  const auto word = [&](const std::string& letters) {
    return setting.suffix ? letters + "\u2581" : "\u2581" + letters;
  };
  if (setting.symbols) {
    model.Add("<x>", 0, sp_test::kUserDefined);
    model.Add("b", 0, sp_test::kUserDefined);
  } else {
    model.Add("b", -1.5f);
    for (const char* piece : {"<", "x", ">"}) model.Add(piece, -3);
  }
  model.Add("\u2581", -2);
  model.Add("a", -1);
  model.Add(word("a"), -3);  // as the two of it
  model.Add("ab", -2.25f);
  model.Add("ba", -2.5f);
  model.Add(word("ab"), -4.25f);
  model.normalizer.charsmap = sp_test::MakeCharsmap(
      {{"\t", " "}, {"\u00a0", " "}, {"\x01", ""}, {"\x02", " a"}, {"a\u0301", "b"}, {"x", "x"}});
  if (!setting.escape) {
    for (sp_test::PieceProto& piece : model.pieces) {
      const size_t at = piece.text.find("\u2581");
      if (at != std::string::npos) piece.text.replace(at, 3, " ");
    }
    model.normalizer.escape_whitespaces = false;
  }
  model.normalizer.add_dummy_prefix = setting.prefix;
  model.normalizer.remove_extra_whitespaces = setting.remove;
  model.treat_whitespace_as_suffix = setting.suffix;
  return model;
}

class SpSpaces : public ::testing::TestWithParam<uint32_t> {};

TEST_P(SpSpaces, EveryShortText) {
  const uint32_t bits = GetParam();
  const Setting setting{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                        (bits & 8) == 0, bits >= 32,      bits >= 16 && bits < 32};
  const sp_test::ModelProto proto = Model(setting);
  const std::string bytes = sp_test::Serialize(proto);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.LoadFromSerializedProto(bytes).ok());
  const plain::SpUnigram older(plain::FromProto(proto, plain::SpRelease::k0_2_1));
  const plain::SpUnigram newest(plain::FromProto(proto, plain::SpRelease::k0_2_2));
  TestEngine older_engine(bytes, 64, 4096, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
  TestEngine newest_engine(bytes, 64, 4096, RANKFEED_PARITY_SENTENCEPIECE);
  for (TestEngine* engine : {&older_engine, &newest_engine}) {
    ASSERT_EQ(rankfeed_model_off_fast_road(engine->model()) != nullptr, setting.suffix);
  }
  const std::vector<std::string> letters = {"a", "b",    " ",    "\t",  "\u00a0",
                                            ".", "\x01", "\x02", "<x>", "a\u0301",
                                            "\u2581"};
  // Published models have add_dummy_prefix and escape_whitespaces; the others have longer texts in the long suite.
  const size_t longest = (setting.prefix && setting.escape) || SweepsAll() ? 5 : 4;
  const auto texts = Sequences(letters, kSanitized || setting.suffix ? 3 : longest);
  for (const std::string& text : texts) {
    const Encoding expected = FromReference(older, text);
    ASSERT_EQ(FromLibrary(library, text), expected) << Escape(text);
    ASSERT_NO_FATAL_FAILURE(ExpectSame(older_engine, text, expected));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(newest_engine, text, FromReference(newest, text)));
  }
  rankfeed_road_counts roads[RANKFEED_REASON_COUNT];
  ASSERT_EQ(rankfeed_encoder_roads(newest_engine.encoder(), roads, RANKFEED_REASON_COUNT),
            RANKFEED_OK);
  std::printf("setting %u: %zu texts, on the fast road %llu of %zu\n", bits, texts.size(),
              static_cast<unsigned long long>(roads[RANKFEED_REASON_NONE].texts), 2 * texts.size());
  // Texts with a written U+2581 leave it, and those whose first character is not itself where the
  // begin of a text has a rule of its own; all do where U+2581 stands after words.
  if (setting.suffix) {
    EXPECT_EQ(roads[RANKFEED_REASON_NONE].texts, 0u);
  } else {
    EXPECT_GT(roads[RANKFEED_REASON_NONE].texts, texts.size() / 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, SpSpaces, ::testing::Range(uint32_t{0}, uint32_t{48}));

}  // namespace
}  // namespace rankfeed::exhaustive
