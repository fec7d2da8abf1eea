// SPDX-License-Identifier: MIT
// Every short string of letters, a mark, an ideograph, punctuation, the prefix' character, spaces,
// what is removed and what no piece has, under tiny WordPiece vocabularies: ids against the plain
// reference, ids and offsets of the fast road against the general path.
#include <gtest/gtest.h>

#include <cstdio>

#include "exhaustive/worlds.h"
#include "plain/hf_pipeline.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::exhaustive {
namespace {

using test::Encoding;
using test::Escape;
using test::Show;
using test::TestEngine;

// Pieces of many lengths that nest, backing up that must not happen, pieces across signs, ones that
// only a text without spaces around ideographs reaches.
constexpr char kVocabularies[][400] = {
    R"("[UNK]":0,"a":1,"b":2,"##b":3,"ab":4,"##ba":5,"##a":6,"#":7,"##":8,".":9,"\u4e2d":10,"##\u4e2d":11,"A":12,"\u00e9":13,"e":14)",
    R"("[UNK]":0,"a":1,"aab":2,"##aab":3,"##a":4,"##\u0301":5,"\u0301":6,"e":7,"##e":8,"a.":9,"##.":10,"\u4e2da":11)",
    R"("[UNK]":3,"ab":0,"##ab":1,"abab":2,"b":4,"e\u0301":5,"##e\u0301":6,"##b":7,".":8,"\u4e2d":9,"##.":10,"#b":11,"a b":12)"};

constexpr char kNormalizers[][200] = {
    "null",
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})",
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":false})",
    R"({"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":true,"lowercase":true})",
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":false,"lowercase":true})",
    R"({"type":"NFC"})",
    R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]})"};

struct Words {
  const char* pre_tokenizer;
  const char* most;  // characters of a word
};
constexpr Words kWords[] = {{R"({"type":"BertPreTokenizer"})", "100"},
                            {R"({"type":"BertPreTokenizer"})", "3"},
                            {R"({"type":"WhitespaceSplit"})", "100"},
                            {"null", "4"}};

std::string File(const char* vocabulary, const char* normalizer, const Words& words) {
  return std::string(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":)") +
         normalizer + R"(,"pre_tokenizer":)" + words.pre_tokenizer +
         R"(,"post_processor":null,"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]",)"
         R"("continuing_subword_prefix":"##","max_input_chars_per_word":)" +
         words.most + R"(,"vocab":{)" + vocabulary + "}}}";
}

class HfWordPiece : public ::testing::TestWithParam<size_t> {};

TEST_P(HfWordPiece, EveryShortText) {
  const std::vector<std::string> letters = {"a", "b", "A",      "\u00e9", "\u0301", "\u4e2d",
                                            ".", "#", " ",      "\u200b", "q",      "e",
                                            "=", "\u0338"};
  const auto texts = Sequences(letters, kSanitized ? 2 : SweepsAll() ? 5 : 3);
  const char* const normalizer = kNormalizers[GetParam()];
  size_t fast_texts = 0;
  for (size_t number = 0; number < std::size(kVocabularies); ++number) {
    // Compiling an image takes a sanitizer longer than its texts: each normalizer has one vocabulary.
    if (kSanitized && number != GetParam() % std::size(kVocabularies)) continue;
    const char* const vocabulary = kVocabularies[number];
    for (const Words& words : kWords) {
      const std::string file = File(vocabulary, normalizer, words);
      SCOPED_TRACE(file);
      const plain::HfPipeline plain(file);
      TestEngine fast(file, 64, 4096), general(file, 64, 0);
      general.LeaveFastRoad();
      for (const std::string& text : texts) {
        const auto expected = plain.Encode(text, false);
        ASSERT_TRUE(expected.has_value());
        ASSERT_EQ(fast.Ids(text), std::vector<int32_t>(expected->begin(), expected->end()))
            << Escape(text);
        const Encoding placed = fast.Encode(text), wanted = general.Encode(text);
        ASSERT_EQ(placed, wanted) << Escape(text) << "\n  fast road    " << Show(placed)
                                  << "\n  general path " << Show(wanted);
      }
      rankfeed_road_counts roads[RANKFEED_REASON_COUNT];
      ASSERT_EQ(rankfeed_encoder_roads(fast.encoder(), roads, RANKFEED_REASON_COUNT), RANKFEED_OK);
      fast_texts += roads[RANKFEED_REASON_NONE].texts;
    }
  }
  EXPECT_GT(fast_texts, texts.size());
  std::printf("normalizer %zu: %zu texts, on the fast road %zu of %zu\n", GetParam(), texts.size(),
              fast_texts, 2 * texts.size() * std::size(kVocabularies) * std::size(kWords));
}

// A sign that a mark makes a letter, at every place of the blocks that texts are read in, with and
// without something that vanishes between the two.
TEST(HfWordPieceSigns, MarksAtEveryPlace) {
  for (const char* const normalizer :
       {R"({"type":"NFC"})",
        R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"q"},"content":""},{"type":"NFC"}]})"}) {
    const std::string file = File(kVocabularies[1], normalizer, kWords[0]);
    const plain::HfPipeline plain(file);
    TestEngine fast(file, 1024, 4096);
    for (size_t before = 0; before < 140; ++before) {
      for (const char* const sign : {"=\u0338", "=q\u0338", "=q", "=.\u0338", ".=\u0338a"}) {
        const std::string text = std::string(before, 'a') + sign + "a";
        const auto expected = plain.Encode(text, false);
        ASSERT_TRUE(expected.has_value());
        const std::vector<int32_t> wanted(expected->begin(), expected->end());
        ASSERT_EQ(fast.Encode(text).ids, wanted) << before << " " << Escape(sign) << normalizer;
        ASSERT_EQ(fast.Ids(text), wanted) << before << " " << Escape(sign) << normalizer;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, HfWordPiece, ::testing::Range(size_t{0}, std::size(kNormalizers)));

}  // namespace
}  // namespace rankfeed::exhaustive
