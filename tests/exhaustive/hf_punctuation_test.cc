// SPDX-License-Identifier: MIT
// Every short string of punctuation in and out of ASCII, spaces, characters that become a space, a
// sign or nothing, letters and marks, in pipelines that isolate punctuation: ids against the plain
// reference, ids and offsets against the general path. Vocabularies with and without the signs, and
// with pieces across them. With fewer strings, ids of pipelines that end words beside other
// characters, all of which take the general path.
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

// Elements that end words, and signs: of ASCII, outside of it, one that no vocabulary has, and one
// that a mark may change, which is a sign unless it is a digit (no mark changes those).
struct Split {
  const char *elements, *sign, *other_sign, *unknown_sign, *marked_sign;
};
constexpr char kPunctuation[] = R"({"type":"Punctuation","behavior":"Isolated"},)";
constexpr char kWordsOfPunctuation[] =
    R"({"type":"WhitespaceSplit"},{"type":"Punctuation","behavior":"Isolated"},)";
constexpr Split kIsolated[] = {{kPunctuation, ",", "\u201c", ".", "="},
                               {kWordsOfPunctuation, ",", "\u201c", ".", "="}};
constexpr char kContiguous[] = R"({"type":"Punctuation","behavior":"Contiguous"},)";
constexpr char kWithPrevious[] = R"({"type":"Punctuation","behavior":"MergedWithPrevious"},)";
constexpr char kWithNext[] = R"({"type":"Punctuation","behavior":"MergedWithNext"},)";
constexpr char kRemoved[] = R"({"type":"Punctuation","behavior":"Removed"},)";
constexpr char kDigits[] = R"({"type":"Digits","individual_digits":true},)";
constexpr char kNumbers[] = R"({"type":"Digits","individual_digits":false},)";
constexpr char kWhitespace[] = R"({"type":"Whitespace"},)";
constexpr char kDigitsFirst[] =
    R"({"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"Isolated"},)";
constexpr char kWordsOfNumbers[] =
    R"({"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":false},)";
constexpr char kComma[] =
    R"({"type":"Split","pattern":{"String":","},"behavior":"MergedWithNext","invert":true},)";
constexpr char kQuote[] =
    R"({"type":"Split","pattern":{"String":"\u201c"},"behavior":"Contiguous","invert":false},)";
constexpr char kLetter[] =
    R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed","invert":false},)";
constexpr Split kOthers[] = {{kContiguous, ",", "\u201c", ".", "="},
                             {kWithPrevious, ",", "\u201c", ".", "="},
                             {kWithNext, ",", "\u201c", ".", "="},
                             {kRemoved, ",", "\u201c", ".", "="},
                             {kDigits, "1", "\u0967", "5", "="},
                             {kNumbers, "1", "\u0967", "5", "="},
                             {kWhitespace, ",", "\u201c", "\x7f", "="},
                             {kDigitsFirst, ",", "\u2167", "5", "7"},
                             {kWordsOfNumbers, "1", "\u0967", "5", "7"},
                             {kComma, ",", "\u201c", ".", "="},
                             {kQuote, ",", "\u201c", ".", "="},
                             {kLetter, "1", "\u0967", "5", "b"}};

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

std::vector<std::string> Texts(const Split& split, size_t length) {
  const std::vector<std::string> letters = {
      "a",      "b",    split.sign, split.marked_sign, " ",     split.other_sign,
      "\u00a0", "\x01", "\u0338",   "\u2026",          "\u00bd"};
  return Sequences(letters, length);
}

void ExpectReferenceIds(TestEngine& engine, const plain::HfPipeline& plain,
                        const std::string& text) {
  const auto expected = plain.Encode(text, false);
  ASSERT_TRUE(expected.has_value());
  ASSERT_EQ(engine.Ids(text), std::vector<int32_t>(expected->begin(), expected->end()))
      << Escape(text);
}

class HfPunctuation : public ::testing::TestWithParam<uint32_t> {};

TEST_P(HfPunctuation, EveryShortText) {
  const Split& split = kIsolated[GetParam() / 12];
  const std::string file = File(kVocabularies[GetParam() / 4 % 3], GetParam() % 4, split);
  const plain::HfPipeline plain(file);
  TestEngine fast(file, 64, 4096), general(file, 64, 0);
  ASSERT_EQ(rankfeed_model_off_fast_road(fast.model()), nullptr);
  general.LeaveFastRoad();
  const auto texts = Texts(split, kSanitized ? 3 : SweepsAll() ? 5 : 4);
  for (const std::string& text : texts) {
    ASSERT_NO_FATAL_FAILURE(ExpectReferenceIds(fast, plain, text));
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

TEST(HfWordsBesideOtherCharacters, EveryShortText) {
  for (const Split& split : kOthers) {
    for (uint32_t world = 0; world < 12; world += kSanitized ? 5 : 1) {
      const std::string file = File(kVocabularies[world / 4], world % 4, split);
      SCOPED_TRACE(file);
      const plain::HfPipeline plain(file);
      TestEngine engine(file, 64, 4096);
      ASSERT_NE(rankfeed_model_off_fast_road(engine.model()), nullptr);
      for (const std::string& text : Texts(split, kSanitized ? 2 : 3)) {
        ASSERT_NO_FATAL_FAILURE(ExpectReferenceIds(engine, plain, text));
      }
    }
  }
}

// Under a sanitizer every fifth: all vocabularies, normalizers and splits are among them.
INSTANTIATE_TEST_SUITE_P(Worlds, HfPunctuation,
                         ::testing::Range(uint32_t{0}, uint32_t{12 * std::size(kIsolated)},
                                          kSanitized ? uint32_t{5} : uint32_t{1}));

}  // namespace
}  // namespace rankfeed::exhaustive
