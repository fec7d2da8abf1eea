// SPDX-License-Identifier: MIT
// Every short string of signs in and out of ASCII, spaces, what becomes a space, a sign or nothing,
// letters and marks, in pipelines that isolate punctuation: ids against the plain reference, ids
// and offsets against the general path. Vocabularies with and without the signs, and with pieces
// across them, which are never taken.
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

constexpr char kVocabularies[][400] = {
    R"(["\u2581",-2],["a",-1.5],["\u2581a",-2.5],[",",-2],["\u2581,",-3],["\u201c",-3],["a,",-0.5],)"
    R"(["\u2581\u201c",-4],["\u201ca",-0.5],["=",-3],["b",-2],["ab",-2.75])",
    R"(["\u2581",-2],["a",-1.5],["\u2581a",-3.5],["\u2581b",-3],["ba",-2])",
    R"(["a",-1.5],["\u2581a",-2.5],["\u2581,",-3],["\u2581=",-3],["aa",-3])"};

std::string Replace(const char* pattern, const char* content) {
  return std::string(R"({"type":"Replace","pattern":{"String":")") + pattern + R"("},"content":")" +
         content + "\"},";
}

std::string File(const char* vocabulary, uint32_t pipeline) {
  // A key that a mark completes; what becomes several signs, of which one is no punctuation.
  const std::string both = R"({"type":"Strip","strip_left":true,"strip_right":true},)";
  const std::string right = R"({"type":"Strip","strip_left":false,"strip_right":true},)";
  const std::string nfc = R"({"type":"NFC"},)";
  const std::string before[] = {"", nfc, both, ""}, after[] = {"", "", nfc, nfc + right};
  const std::string changes = before[pipeline] + Replace("\u00a0", " ") + Replace("\\u0001", "") +
                              Replace("\u2026", "..") + Replace("\u00bd", "a,b") + after[pipeline];
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],)"
         R"("normalizer":{"type":"Sequence","normalizers":[)" +
         changes +
         R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]},)"
         R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Isolated"},)"
         R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":true}]},)"
         R"("post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,)"
         R"("vocab":[["<unk>",0],)" +
         std::string(vocabulary) + "]}}";
}

class HfPunctuation : public ::testing::TestWithParam<uint32_t> {};

TEST_P(HfPunctuation, EveryShortText) {
  const std::string file = File(kVocabularies[GetParam() / 4], GetParam() % 4);
  const reference::HfPipeline plain(file);
  TestEngine fast(file, 64, 4096), general(file, 64, 0);
  ASSERT_EQ(rankfeed_model_off_fast_road(fast.model()), nullptr);
  general.LeaveFastRoad();
  const std::vector<std::string> letters = {"a",      "b",    ",",      "=",      " ",     "\u201c",
                                            "\u00a0", "\x01", "\u0338", "\u2026", "\u00bd"};
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

INSTANTIATE_TEST_SUITE_P(Worlds, HfPunctuation, ::testing::Range(uint32_t{0}, uint32_t{12}));

}  // namespace
}  // namespace rankfeed::exhaustive
