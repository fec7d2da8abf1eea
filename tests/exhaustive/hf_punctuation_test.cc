// SPDX-License-Identifier: MIT
// Every short string of signs in and out of ASCII, spaces, what becomes a space, a sign or nothing,
// letters and marks, in pipelines that end words beside punctuation, digits, both or what is
// neither a letter nor white space, in every way: ids against the plain reference, ids and offsets
// against the general path. Vocabularies with and without the signs, and with pieces across them,
// which are taken where no word ends between.
#include <gtest/gtest.h>

#include <cstdio>

#include "exhaustive/worlds.h"
#include "reference/hf_pipeline.h"
#include "support/sanitizers.h"
#include "support/test_engine.h"

namespace rankfeed::exhaustive {
namespace {

using test::Encoding;
using test::Escape;
using test::Show;
using test::TestEngine;

// What ends words, and signs: of ASCII, outside of it, one that no vocabulary has, and one that a
// mark may change, which is a sign where it is no digit (no mark changes those).
struct Split {
  const char *elements, *sign, *other_sign, *unknown_sign, *marked_sign;
};
constexpr char kPunctuation[] = R"({"type":"Punctuation","behavior":"Isolated"},)";
constexpr char kContiguous[] = R"({"type":"Punctuation","behavior":"Contiguous"},)";
constexpr char kWithPrevious[] = R"({"type":"Punctuation","behavior":"MergedWithPrevious"},)";
constexpr char kWithNext[] = R"({"type":"Punctuation","behavior":"MergedWithNext"},)";
constexpr char kDigits[] = R"({"type":"Digits","individual_digits":true},)";
constexpr char kNumbers[] = R"({"type":"Digits","individual_digits":false},)";
constexpr char kWhitespace[] = R"({"type":"Whitespace"},)";
constexpr char kPunctuationFirst[] =
    R"({"type":"Punctuation","behavior":"Isolated"},{"type":"Digits","individual_digits":true},)";
constexpr char kDigitsFirst[] =
    R"({"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"Isolated"},)";
constexpr char kWordsOfDigits[] =
    R"({"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":true},)";
constexpr char kWordsOfNumbers[] =
    R"({"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":false},)";
constexpr char kWordsWithNext[] =
    R"({"type":"WhitespaceSplit"},{"type":"Punctuation","behavior":"MergedWithNext"},)";
constexpr char kComma[] =
    R"({"type":"Split","pattern":{"String":","},"behavior":"MergedWithNext","invert":true},)";
constexpr char kQuote[] =
    R"({"type":"Split","pattern":{"String":"\u201c"},"behavior":"Contiguous","invert":false},)";
constexpr char kBothWays[] =
    R"({"type":"Punctuation","behavior":"MergedWithPrevious"},{"type":"Punctuation","behavior":"Contiguous"},)";
constexpr char kNumbersAndSigns[] =
    R"({"type":"Digits","individual_digits":false},{"type":"Punctuation","behavior":"Isolated"},)";
constexpr char kRunsOfBoth[] =
    R"({"type":"Punctuation","behavior":"Contiguous"},{"type":"Digits","individual_digits":false},)";
constexpr char kWhitespaceAndDigits[] =
    R"({"type":"Whitespace"},{"type":"Digits","individual_digits":true},)";
constexpr char kWhitespaceAndNumbers[] =
    R"({"type":"Digits","individual_digits":false},{"type":"Whitespace"},)";
constexpr char kWhitespaceAndSigns[] =
    R"({"type":"Whitespace"},{"type":"Punctuation","behavior":"Isolated"},)";
constexpr char kWhitespaceAndRuns[] =
    R"({"type":"Punctuation","behavior":"Contiguous"},{"type":"Whitespace"},)";
constexpr char kCommaAndRuns[] =
    R"({"type":"Punctuation","behavior":"Contiguous"},{"type":"Split","pattern":{"String":","},"behavior":"Isolated","invert":false},)";
constexpr char kTwoWithPrevious[] =
    R"({"type":"Split","pattern":{"String":"a"},"behavior":"MergedWithPrevious","invert":false},{"type":"Punctuation","behavior":"MergedWithPrevious"},)";
constexpr char kTwoWithNext[] =
    R"({"type":"WhitespaceSplit"},{"type":"Split","pattern":{"String":"1"},"behavior":"MergedWithNext","invert":false},{"type":"Punctuation","behavior":"MergedWithNext"},)";
constexpr char kRemoved[] = R"({"type":"Punctuation","behavior":"Removed"},)";
constexpr char kWordsRemoved[] =
    R"({"type":"WhitespaceSplit"},{"type":"Punctuation","behavior":"Removed"},)";
constexpr char kCommaRemoved[] =
    R"({"type":"Punctuation","behavior":"Contiguous"},{"type":"Split","pattern":{"String":","},"behavior":"Removed","invert":false},)";
constexpr char kLetterRemoved[] =
    R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed","invert":false},{"type":"Digits","individual_digits":false},)";
constexpr char kRemovedOfWhitespace[] =
    R"({"type":"Whitespace"},{"type":"Punctuation","behavior":"Removed"},{"type":"Punctuation","behavior":"Isolated"},)";
constexpr Split kSplits[] = {{kPunctuation, ",", "\u201c", ".", "="},
                             {kDigits, "1", "\u0967", "5", "="},
                             {kPunctuationFirst, "1", "\u201c", ".", "="},
                             {kDigitsFirst, ",", "\u2167", "5", "7"},
                             {kNumbers, "1", "\u0967", "5", "="},
                             {kContiguous, ",", "\u201c", ".", "="},
                             {kWithPrevious, ",", "\u201c", ".", "="},
                             {kWithNext, ",", "\u201c", ".", "="},
                             {kWhitespace, ",", "\u201c", "\x7f", "="},
                             {kWordsOfDigits, "1", "\u0967", "5", "="},
                             {kWordsOfNumbers, "1", "\u0967", "5", "7"},
                             {kWordsWithNext, ",", "\u201c", ".", "="},
                             {kBothWays, ",", "\u201c", ".", "="},
                             {kComma, ",", "\u201c", ".", "="},
                             {kQuote, ",", "\u201c", ".", "="},
                             {kNumbersAndSigns, "1", "\u201c", "5", "="},
                             {kNumbersAndSigns, ",", "\u0967", "5", "1"},
                             {kRunsOfBoth, "1", "\u201c", "5", "="},
                             {kRunsOfBoth, "1", "\u0967", ".", "="},
                             {kWhitespaceAndDigits, "1", "\u201c", ".", "="},
                             {kWhitespaceAndDigits, ",", "\u0967", ".", "="},
                             {kWhitespaceAndNumbers, "1", "\u2167", "5", "="},
                             {kWhitespaceAndNumbers, ",", "\u0967", ".", "7"},
                             {kWhitespaceAndSigns, ",", "\u201c", "\x7f", "="},
                             {kWhitespaceAndSigns, "\x7f", "\u20ac", ".", "="},
                             {kWhitespaceAndRuns, "_", "\u20ac", "_", "="},
                             {kCommaAndRuns, ",", "\u201c", ".", "="},
                             {kTwoWithPrevious, ",", "\u201c", ".", "="},
                             {kTwoWithNext, "1", "\u201c", ".", "="},
                             {kRemoved, ",", "\u201c", ".", "="},
                             {kWordsRemoved, ",", "\u201c", ".", "="},
                             {kCommaRemoved, ",", "\u201c", ".", "="},
                             {kLetterRemoved, "1", "\u0967", "5", "b"},
                             {kRemovedOfWhitespace, ",", "\u20ac", ".", "="}};

// $, % and & stand for the sign, the other and the one with a mark.
constexpr char kVocabularies[][400] = {
    R"(["\u2581",-2],["a",-1.5],["\u2581a",-2.5],["$",-2],["\u2581$",-3],["%",-3],["a$",-0.5],)"
    R"(["\u2581%",-4],["%a",-0.5],["&",-3],["b",-2],["ab",-2.75])",
    R"(["\u2581",-2],["a",-1.5],["\u2581a",-3.5],["\u2581b",-3],["ba",-2])",
    R"(["a",-1.5],["\u2581a",-2.5],["\u2581$",-3],["\u2581&",-3],["aa",-3])"};

std::string WithSigns(std::string text, const Split& split) {
  const std::pair<char, const char*> signs[] = {
      {'$', split.sign}, {'%', split.other_sign}, {'&', split.marked_sign}};
  for (const auto& [place, sign] : signs) {
    for (size_t at; (at = text.find(place)) != text.npos;) text.replace(at, 1, sign);
  }
  return text;
}

std::string Replace(const char* pattern, const char* content) {
  return std::string(R"({"type":"Replace","pattern":{"String":")") + pattern + R"("},"content":")" +
         content + "\"},";
}

std::string File(const char* vocabulary, uint32_t pipeline, const Split& split) {
  // A key that a mark completes; what becomes several signs, of which one is no punctuation; signs
  // among letters and spaces.
  const std::string both = R"({"type":"Strip","strip_left":true,"strip_right":true},)";
  const std::string right = R"({"type":"Strip","strip_left":false,"strip_right":true},)";
  const std::string nfc = R"({"type":"NFC"},)";
  const std::string before[] = {"", nfc, both, ""}, after[] = {"", "", nfc, nfc + right};
  const char* const mixed[] = {"a$b", "$a b", "a$b ", "$b%"};
  const std::string changes = before[pipeline] + Replace("\u00a0", " ") + Replace("\\u0001", "") +
                              Replace("\u2026", (std::string(2, *split.unknown_sign)).c_str()) +
                              Replace("\u00bd", WithSigns(mixed[pipeline], split).c_str()) +
                              after[pipeline];
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],)"
         R"("normalizer":{"type":"Sequence","normalizers":[)" +
         changes +
         R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},)"
         R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" +
         split.elements +
         R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true}]},)"
         R"("post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,)"
         R"("vocab":[["<unk>",0],)" +
         WithSigns(vocabulary, split) + "]}}";
}

class HfPunctuation : public ::testing::TestWithParam<uint32_t> {};

TEST_P(HfPunctuation, EveryShortText) {
  const Split& split = kSplits[GetParam() / 12];
  const std::string file = File(kVocabularies[GetParam() / 4 % 3], GetParam() % 4, split);
  const reference::HfPipeline plain(file);
  TestEngine fast(file, 64, 4096), general(file, 64, 0);
  ASSERT_EQ(rankfeed_model_off_fast_road(fast.model()), nullptr);
  general.LeaveFastRoad();
  const std::vector<std::string> letters = {
      "a",      "b",    split.sign, split.marked_sign, " ",     split.other_sign,
      "\u00a0", "\x01", "\u0338",   "\u2026",          "\u00bd"};
  const auto texts = Sequences(letters, kSanitized ? 3 : 5);
  for (const std::string& text : texts) {
    const auto expected = plain.Encode(text, false);
    ASSERT_TRUE(expected.has_value());
    const std::vector<int32_t> ids(expected->begin(), expected->end());
    ASSERT_EQ(fast.Ids(text), ids) << Escape(text);
    const Encoding placed = fast.Encode(text), wanted = general.Encode(text);
    ASSERT_EQ(placed, wanted) << Escape(text) << "\n  fast road    " << Show(placed)
                              << "\n  general path " << Show(wanted);
  }
  rankfeed_road_counts roads[RANKFEED_REASON_COUNT];
  ASSERT_EQ(rankfeed_encoder_roads(fast.encoder(), roads, RANKFEED_REASON_COUNT), RANKFEED_OK);
  EXPECT_GT(roads[RANKFEED_REASON_NONE].texts, texts.size() / 2);
  std::printf("world %u: %zu texts, on the fast road %llu of %zu\n", GetParam(), texts.size(),
              static_cast<unsigned long long>(roads[RANKFEED_REASON_NONE].texts), 2 * texts.size());
}

// A letter that a Split looks for may become another, or another may become it.
TEST(HfLetters, EveryShortText) {
  for (const char* normalizer : {R"({"type":"Lowercase"})",
                                 R"({"type":"Replace","pattern":{"String":"a"},"content":"b"})",
                                 R"({"type":"Replace","pattern":{"String":"b"},"content":"a"})"}) {
    for (const char* letter : {"a", "A"}) {
      for (const char* behavior : {"Isolated", "Contiguous", "MergedWithPrevious"}) {
        const std::string file =
            std::string(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],)") +
            R"("normalizer":{"type":"Sequence","normalizers":[)" + normalizer +
            R"(,{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},)" +
            R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" +
            R"({"type":"Split","pattern":{"String":")" + letter + R"("},"behavior":")" + behavior +
            R"(","invert":false},)" +
            R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true}]},)" +
            R"("post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,)" +
            R"("vocab":[["<unk>",0],["\u2581",-2],["a",-1.5],["\u2581a",-2.5],["b",-2],["ab",-2.75],["A",-2]]}})";
        const reference::HfPipeline plain(file);
        TestEngine fast(file, 64, 4096), general(file, 64, 0);
        ASSERT_EQ(rankfeed_model_off_fast_road(fast.model()), nullptr) << file;
        general.LeaveFastRoad();
        for (const std::string& text : Sequences({"a", "A", "b", " ", ","}, 5)) {
          const auto expected = plain.Encode(text, false);
          ASSERT_TRUE(expected.has_value());
          ASSERT_EQ(fast.Ids(text), std::vector<int32_t>(expected->begin(), expected->end()))
              << Escape(text) << file;
          ASSERT_EQ(fast.Encode(text), general.Encode(text)) << Escape(text) << file;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, HfPunctuation,
                         ::testing::Range(uint32_t{0}, uint32_t{12 * std::size(kSplits)}));

}  // namespace
}  // namespace rankfeed::exhaustive
