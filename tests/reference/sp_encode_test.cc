// SPDX-License-Identifier: MIT
// Tests of reference/sp_encode: ids and offsets against libsentencepiece 0.1.97 over generated
// models, and the rules that are easy to get wrong, each with its own case.
#include "reference/sp_encode.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "reference/sp_engine.h"
#include "reference/sp_model_proto.h"
#include "reference/sp_random_models.h"
#include "reference/sp_texts.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::sp_test {
namespace {

using namespace std::string_literals;

// Encodes with both; ids and offsets must be equal, with and without offset columns.
void ExpectSame(Engine& engine, const Oracle& oracle, std::string_view text) {
  const Tokens expected = oracle.Encode(text);
  const Tokens actual = engine.Encode(text);
  ASSERT_EQ(actual, expected) << "text: " << Escape(text) << "\n  rankfeed " << Show(actual)
                              << "\n  reference " << Show(expected);
  ASSERT_EQ(engine.EncodeIds(text), expected.ids) << "without offsets: " << Escape(text);
}

ModelProto SmallModel() {
  ModelProto model;
  model.AddSpecials();
  for (const auto& [text, score] : std::vector<std::pair<const char*, float>>{
           {"\u2581", -3}, {"a", -2}, {"b", -2.5f}, {"\u2581a", -3}, {"ab", -4}, {"ba", -4}}) {
    model.Add(text, score);
  }
  return model;
}

std::vector<int32_t> Ids(Engine& engine, std::string_view text) {
  return engine.Encode(text).ids;
}

TEST(SpEncode, UnknownCharactersMergeIntoOneToken) {
  Engine engine(Serialize(SmallModel()));
  const Tokens tokens = engine.Encode("axyzb");
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{6, 0, 5}));
  EXPECT_EQ(tokens.begin, (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_EQ(tokens.end, (std::vector<uint32_t>{1, 4, 5}));
}

TEST(SpEncode, ByteFallbackSpellsEachUnknownCharacter) {
  ModelProto model = SmallModel();
  model.AddBytes();
  const int32_t byte0 = static_cast<int32_t>(model.pieces.size()) - 256;
  Engine engine(Serialize(model));
  const Tokens tokens = engine.Encode("a\u00e9x");
  EXPECT_EQ(tokens.ids, (std::vector<int32_t>{6, byte0 + 0xc3, byte0 + 0xa9, byte0 + 'x'}));
  EXPECT_EQ(tokens.begin, (std::vector<uint32_t>{0, 1, 1, 3}));
  EXPECT_EQ(tokens.end, (std::vector<uint32_t>{1, 1, 3, 4}));
}

TEST(SpEncode, ControlPiecesAreNotMatchedInText) {
  ModelProto model = SmallModel();
  model.Add("<", -9);
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  ExpectSame(engine, oracle, "<s>");
  EXPECT_EQ(Ids(engine, "<s>"), (std::vector<int32_t>{3, 9, 0}));
}

TEST(SpEncode, UnusedPiecesAreSkippedAndDoNotCountAsTheCharacter) {
  ModelProto model = SmallModel();
  model.Add("c", -1, kUnused);
  model.Add("ca", -1, kUnused);
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  for (const char* text : {"c", "ca", "aca", "cc"}) ExpectSame(engine, oracle, text);
  EXPECT_EQ(Ids(engine, "c"), (std::vector<int32_t>{3, 0}));
}

TEST(SpEncode, UserDefinedSymbolsBypassTheCharsmap) {
  ModelProto model = SmallModel();
  model.normalizer.charsmap = MakeCharsmap(AwkwardRules());
  model.Add("A", -1, kUserDefined);
  model.Add("A B", -1, kUserDefined);
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  for (const char* text : {"A", "AB", "ABA", "A B", "aA Ba", " A  B"}) {
    ExpectSame(engine, oracle, text);
  }
}

// unigram_model.cc: max_score_ starts at FLT_MIN, and only positive scores move it.
TEST(SpEncode, UserDefinedScoreGrowsWithPositiveScores) {
  for (const float top : {-1.0f, 0.0f, 0.3f, 2.5f}) {
    ModelProto model = SmallModel();
    model.Add("aa", top);
    model.Add("aab", 0, kUserDefined);
    model.Add("bb", 0, kUserDefined);
    Engine engine(Serialize(model));
    Oracle oracle(Serialize(model));
    for (const char* text : {"aab", "aaaab", "bbb", "abbb", "aabb", "baabbaab"}) {
      ExpectSame(engine, oracle, text);
    }
  }
}

TEST(SpEncode, EmptyAndVanishingTexts) {
  ModelProto model = SmallModel();
  model.normalizer.charsmap = MakeCharsmap(AwkwardRules());
  for (const bool suffix : {false, true}) {
    for (const bool remove_extra : {false, true}) {
      model.treat_whitespace_as_suffix = suffix;
      model.normalizer.remove_extra_whitespaces = remove_extra;
      Engine engine(Serialize(model));
      Oracle oracle(Serialize(model));
      for (const std::string& text :
           {""s, " "s, "   "s, "\x01"s, " \x01 "s, "\x01\x01"s, "\u2581"s, "a\x01 "s, " \x01 a"s,
            "a \x01 b"s, "\u00a0"s, "a\u00a0b"s, "\0"s, "\xff"s, "a "s, "a  "s, "a\u2581\u2581"s}) {
        ExpectSame(engine, oracle, text);
      }
    }
  }
}

// Segments with a character that normalizes to a space, seen before, whose margin stops settling
// their ids as the text grows.
TEST(SpEncode, SpacesInsideKnownSegmentsOfLongTexts) {
  ModelProto model;
  model.AddSpecials();
  model.Add("\u2581", -30);
  model.Add("\u2581a", -10);
  model.Add("b", -10.001f);
  model.Add("\u2581ab", -20);
  model.Add("a", -15);
  for (char c = 'c'; c < 'l'; ++c) model.Add(std::string(1, c), -20);  // enough for the fast path
  model.normalizer.charsmap = MakeCharsmap({{"\ufeff", " "}, {"\u00a0", " "}});
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  for (const char* word : {" \ufeffab", " \u00a0ab", " ab", " a,\ufeffab", " ab\ufeff", " ab\u00a0ab"}) {
    std::string text;
    for (int i = 0; i < 4000; ++i) text += word;
    ExpectSame(engine, oracle, text);
  }
}

// A segment may not end before a character that becomes, with the one after it, a space, nothing, or
// the rest of a piece that the digit before it begins.
TEST(SpEncode, ReplacementsOfSeveralCharactersAfterDigits) {
  ModelProto model;
  model.AddSpecials();
  model.Add("\u2581", -4);
  model.Add("1\u0436", -5);
  for (const char* piece : {"1", "e", "\u0436", "x", "7"}) model.Add(piece, -8);
  for (char c = 'f'; c < 'p'; ++c) model.Add(std::string(1, c), -20);  // enough for the fast path
  model.normalizer.charsmap = MakeCharsmap(
      {{"\r\n", " "}, {"ab", ""}, {"cd", "\u0436"}, {"\u00e9\u0301", " x"}, {"gh", "x"}});
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  for (const char* key : {"\r\n", "\r", "\n", "ab", "a", "b", "cd", "c", "d", "\u00e9\u0301", "\u00e9", "gh", "g"}) {
    for (const char* before : {"1", "e1", "1 ", "1e", "", "71"}) {
      for (const char* after : {"e", "\u0436", "1", "", " e", "\r\ne", "\u0436ab1"}) {
        ExpectSame(engine, oracle, std::string(before) + key + after);
      }
    }
  }
}

TEST(SpEncode, IllFormedBytesBecomeOneReplacementEach) {
  ModelProto model = SmallModel();
  model.Add("\ufffd", -3);
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  for (const std::string& text : {"\x80"s, "\xe2\x96"s, "a\xf0\x9f\x98z"s, "\xed\xa0\x80"s,
                                  "\xc0\x80"s, "\xf4\x90\x80\x80"s, "\xe2\x28\xa1"s, "a\xff\0b"s}) {
    ExpectSame(engine, oracle, text);
  }
  EXPECT_EQ(Ids(engine, "\xe2\x96"), (std::vector<int32_t>{3, 9, 9}));
}

struct ExtraCase {
  std::string spelled;
  std::vector<uint8_t> options;
};

std::vector<ExtraCase> AllExtraOptions(size_t length) {
  static const std::pair<const char*, uint8_t> kNames[] = {{"bos", RANKFEED_SP_BOS},
                                                           {"eos", RANKFEED_SP_EOS},
                                                           {"reverse", RANKFEED_SP_REVERSE},
                                                           {"unk", RANKFEED_SP_UNK}};
  std::vector<ExtraCase> cases{{"", {}}};
  for (size_t begin = 0, round = 0; round < length; ++round) {
    const size_t end = cases.size();
    for (; begin < end; ++begin) {
      for (const auto& [name, option] : kNames) {
        ExtraCase next = cases[begin];
        next.spelled += (next.spelled.empty() ? "" : ":") + std::string(name);
        next.options.push_back(option);
        cases.push_back(next);
      }
    }
  }
  return cases;
}

TEST(SpEncode, ExtraOptionsApplyInTheOrderWritten) {
  for (const bool bytes : {false, true}) {
    ModelProto model = SmallModel();
    if (bytes) model.AddBytes();
    Engine engine(Serialize(model));
    Oracle oracle(Serialize(model));
    for (const ExtraCase& extra : AllExtraOptions(4)) {
      ASSERT_TRUE(oracle.SetExtra(extra.spelled)) << extra.spelled;
      for (const char* text : {"", "a", "ab ba", "x\u00e9yab  \u4e2d b"}) {
        const Tokens expected = oracle.Encode(text);
        Tokens actual;
        ASSERT_EQ(engine.Encode(text, extra.options, &actual), RANKFEED_OK);
        ASSERT_EQ(actual, expected) << extra.spelled << " on " << Escape(text) << "\n  rankfeed "
                                    << Show(actual) << "\n  reference " << Show(expected);
      }
    }
  }
}

TEST(SpEncode, ExtraOptionsThatTheModelLacksAreRefused) {
  ModelProto model;
  model.Add("<unk>", 0, kUnknown);
  model.Add("a", -1);
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  Tokens tokens;
  EXPECT_FALSE(oracle.SetExtra("bos"));
  EXPECT_FALSE(oracle.SetExtra("eos"));
  EXPECT_EQ(engine.Encode("a", {RANKFEED_SP_BOS}, &tokens), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(engine.Encode("a", {RANKFEED_SP_EOS}, &tokens), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(engine.Encode("a", {RANKFEED_SP_REVERSE, RANKFEED_SP_UNK}, &tokens), RANKFEED_OK);
  EXPECT_EQ(engine.Encode("a", {5}, &tokens), RANKFEED_E_ARGUMENT);
}

// bos and eos are looked up by name, whatever their type, and may be renamed in trainer_spec.
TEST(SpEncode, BosAndEosByName) {
  ModelProto model;
  model.Add("<unk>", 0, kUnknown);
  model.Add("[B]", 0, kControl);
  model.Add("</s>", -1, kUserDefined);
  model.Add("a", -1);
  model.bos_piece = "[B]";
  Engine engine(Serialize(model));
  Oracle oracle(Serialize(model));
  ASSERT_TRUE(oracle.SetExtra("bos:eos"));
  Tokens actual;
  ASSERT_EQ(engine.Encode("a", {RANKFEED_SP_BOS, RANKFEED_SP_EOS}, &actual), RANKFEED_OK);
  EXPECT_EQ(actual, oracle.Encode("a")) << Show(actual);
}

TEST(SpEncode, ShortOutputStillCountsAndKeepsTheOrder) {
  Engine engine(Serialize(SmallModel()));
  const std::string text = "ab ba ab x a";
  for (const std::vector<uint8_t>& extra :
       {std::vector<uint8_t>{}, {RANKFEED_SP_REVERSE, RANKFEED_SP_BOS, RANKFEED_SP_EOS}}) {
    Tokens full;
    ASSERT_EQ(engine.Encode(text, extra, &full), RANKFEED_OK);
    uint8_t options[8] = {};
    std::copy(extra.begin(), extra.end(), options);
    reference::SpFrame frame;
    ASSERT_EQ(frame.Apply(engine.model(), options), RANKFEED_OK);
    for (uint32_t capacity = 0; capacity <= full.ids.size(); ++capacity) {
      std::vector<int32_t> ids(capacity);
      TokenSink sink{ids.data(), nullptr, nullptr, capacity, 0};
      ASSERT_EQ(
          reference::EncodeSentencePiece(engine.model(), engine.Prepare(text.size()), text, frame,
                                       sink),
          RANKFEED_OK);
      EXPECT_EQ(sink.count, full.ids.size());
      EXPECT_TRUE(std::equal(ids.begin(), ids.end(), full.ids.begin()));
    }
  }
}

// Texts for a small vocabulary: mostly its own letters, so that the search has choices.
std::string SmallWorldText(std::mt19937_64& random) {
  static const std::string kParts[] = {"a",        "b",        "o",
                                       "aa",       "ab",       "oo",
                                       "aaaa",     "oooo",     " ",
                                       "  ",       "\u2581",   "e",
                                       "A",        "AB",       "ABA",
                                       "\u00e9",   "e\u0301",  "e\u0301\u0323",
                                       "\u4e2d",   "\xe4\xb8", "\uff76\uff9e",
                                       "\uff76",   "\u30ac",   "\U0001f600",
                                       "\x01",     "\x02",     "\x03",
                                       "\x04",     "\x05",     "\u00a0",
                                       "\ufdfa",   "\ufffd",   "\xff",
                                       "\xe2\x96", "\0"s,      "<sep>",
                                       "<s>",      "a b",      "  x",
                                       "x",        "\u0301",   "\u3000",
                                       "\t",       "<0x41>"};
  std::string text;
  for (size_t n = random() % 14; n > 0; --n) text += kParts[random() % std::size(kParts)];
  return text;
}

// Sums that are equal but for rounding, with the scores of XLM-RoBERTa's pieces: which one is greater
// depends on whether candidates are compared in double (up to 0.2.1) or in float. The wheels give these
// ids (90 6 185773 and 90 185773 6 there).
TEST(SpEncode, EqualSumsFallByTheRuleOfTheRelease) {
  ModelProto model;
  model.AddSpecials();
  model.Add("\u2581", -3.9299705028533936f);
  model.Add("\u2581s", -7.452380180358887f);
  model.Add("s", -5.072619915008545f);
  model.Add("ssss", -14.14330005645752f);
  for (char c = 'a'; c < 'k'; ++c) model.Add(std::string(1, c), -20);  // enough for the fast road
  const std::string file = Serialize(model);
  const std::vector<int32_t> newest = {4, 5, 6}, older = {4, 6, 5};
  EXPECT_EQ(Oracle(file).Encode("ssssss").ids, older);
  const auto ids = [&](int32_t parity) {
    return test::TestEngine(file, 1u << 16, 1u << 16, parity).Encode("ssssss").ids;
  };
  EXPECT_EQ(ids(RANKFEED_PARITY_SENTENCEPIECE), newest);
  EXPECT_EQ(ids(RANKFEED_PARITY_AUTO), newest);
  EXPECT_EQ(ids(RANKFEED_PARITY_SENTENCEPIECE_0_2_1), older);
}

// From 0.2.2 on bos and eos have to be control pieces, and eos is at the end of the text.
TEST(SpEncode, ExtraOptionsOfNewerReleases) {
  ModelProto model;
  model.AddSpecials();
  model.Add("\u2581", -2);
  model.Add("a", -3);
  const auto engine = [&](int32_t parity) {
    return std::make_unique<test::TestEngine>(Serialize(model), 1u << 16, 0, parity);
  };
  const auto newest = engine(RANKFEED_PARITY_SENTENCEPIECE);
  const test::Encoding both = newest->Encode("aa", 0, {RANKFEED_SP_BOS, RANKFEED_SP_EOS});
  EXPECT_EQ(both.ids, (std::vector<int32_t>{1, 3, 4, 4, 2}));
  EXPECT_EQ(both.begin, (std::vector<uint32_t>{0, 0, 0, 1, 2}));
  EXPECT_EQ(both.end, (std::vector<uint32_t>{0, 0, 1, 2, 2}));

  model.pieces[1].kind = kNormal;
  EXPECT_EQ(engine(RANKFEED_PARITY_SENTENCEPIECE)->Encode("a", 0, {RANKFEED_SP_BOS}).status,
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(engine(RANKFEED_PARITY_SENTENCEPIECE_0_2_1)->Encode("a", 0, {RANKFEED_SP_BOS}).status,
            RANKFEED_OK);
}

TEST(SpEncode, GeneratedModelsEqualTheReference) {
  std::string nfkc;
  if (const std::string path = SharedData("models/xlnet.model"); !path.empty()) {
    nfkc = CharsmapOf(ReadFile(path));
  }
  const uint64_t seed = 20240611;
  std::mt19937_64 random(seed);
  const size_t models = Scaled(800, 400), texts = 400;
  size_t compared = 0;
  for (size_t m = 0; m < models; ++m) {
    const std::string bytes = Serialize(RandomModel(random, {nfkc}));
    Oracle oracle(bytes);
    Engine engine(bytes);
    for (size_t t = 0; t < texts; ++t) {
      const std::string text = t % 8 == 7 ? StressText(random) : SmallWorldText(random);
      ExpectSame(engine, oracle, text);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " model " << m << " text " << t;
      ++compared;
    }
  }
  std::printf("%zu texts over %zu models\n", compared, models);
}

}  // namespace
}  // namespace rankfeed::sp_test
