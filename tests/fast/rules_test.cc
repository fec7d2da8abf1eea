// SPDX-License-Identifier: MIT
// Rules of the fast road (image::SegmentRule), each by its name: texts that get the general path's ids and offsets, and
// others as soon as the model lacks the rule.
#include <gtest/gtest.h>

#include <variant>

#include "builder/byte_level.h"
#include "encode/encoder.h"
#include "fast/word_forms.h"
#include "image/format.h"

namespace rankfeed::fast_test {
namespace {

// Returns what an encoder makes of the texts: ids, and where each begins and ends.
std::vector<std::string> Shown(const rankfeed_model* model, bool plain, const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const bool offsets : {false, true}) {  // some forms take the general path where offsets are wanted
    auto encoder = Encoder::Create(model, 1 << 12, offsets);
    EXPECT_TRUE(encoder) << encoder.error().message;
    if (plain) encoder->get()->engine.emplace<std::monostate>();
    for (const std::string& text : texts) {
      Encoding encoding;
      const Error error = encoder->Encode(text, {sizeof(rankfeed_encode_options)}, &encoding);
      EXPECT_FALSE(error) << error.message;
      shown.push_back(testing::PrintToString(text) + testing::PrintToString(encoding.input_ids) +
                      testing::PrintToString(encoding.offset_begin) + testing::PrintToString(encoding.offset_end));
    }
  }
  return shown;
}

void Hold(const Image& image, uint32_t rule, const std::vector<std::string>& texts) {
  const auto expected = Shown(image.model(), true, texts);
  EXPECT_EQ(Shown(image.model(), false, texts), expected);
  auto& rules = const_cast<uint32_t&>(image.model()->segment.config->rules);
  ASSERT_NE(rules & rule, 0u);
  rules &= ~rule;
  EXPECT_NE(Shown(image.model(), false, texts), expected) << "no text needs the rule";
}

void Hold(const char* form, uint32_t rule, const std::vector<std::string>& texts) {
  Hold(Image(Form(form)), rule, texts);
}

// Functions that no rule names. Their texts get the general path's ids and offsets; bytes of them leave the fast road for
// that reason and for no other, but not all: none where it is RANKFEED_REASON_NONE.
void HoldFunction(const Image& image, rankfeed_reason reason, const std::vector<std::string>& texts) {
  EXPECT_EQ(Shown(image.model(), false, texts), Shown(image.model(), true, texts));
  for (const std::string& text : texts) {
    auto encoder = Encoder::Create(image.model(), 1 << 12);
    ASSERT_TRUE(encoder);
    Encode(*encoder, text, 0);
    const RoadCounts roads = encoder->Roads();
    for (uint32_t r = 0; r < roads.size(); ++r) {
      EXPECT_EQ(roads[r].bytes != 0, r == RANKFEED_REASON_NONE || r == reason)
          << testing::PrintToString(text) << " " << rankfeed_reason_name(r);
    }
  }
}

// A form whose runs of white space become a space, while other white space stays what it is.
const char kOtherSpaces[] = "DeBERTa of transformers 5";

TEST(FastRoadRules, kEverySpaceIsWord) { Hold("every space", image::kEverySpaceIsWord, {"a  b", "a   "}); }
TEST(FastRoadRules, kFrontSpaceIsWord) { Hold("Helium", image::kFrontSpaceIsWord, {" a", "  a"}); }
TEST(FastRoadRules, kCrLfIsOne) { Hold("every space", image::kCrLfIsOne, {"a\r\nb", "\r\n", "a\r\n\r\nb"}); }
TEST(FastRoadRules, kPrependOnlyFirst) { Hold("every space", image::kPrependOnlyFirst, {"</s>the", "the</s>panda"}); }
TEST(FastRoadRules, kSpaceRunIsOne) { Hold("RemBERT", image::kSpaceRunIsOne, {"a  b", "the   panda"}); }
TEST(FastRoadRules, kSpaceHasNoOffsets) { Hold("B", image::kSpaceHasNoOffsets, {"the  panda", "a   b"}); }
TEST(FastRoadRules, kDropsOtherRight) { Hold("A", image::kDropsOtherRight, {"the\u2028", "the \u3000", "a\u0085"}); }
TEST(FastRoadRules, kDropsOtherLeft) {
  json file = json::parse(Form(kOtherSpaces).File());
  file["normalizer"]["normalizers"].back()["strip_left"] = true;
  Hold(Image(file), image::kDropsOtherLeft, {"\u2009the", "\u3000a"});
}
TEST(FastRoadRules, kPunctuationIsWord) { Hold("A, punctuation", image::kPunctuationIsWord, {"the,panda", "(a)"}); }
TEST(FastRoadRules, kSpaceBeforeSignIsWord) {
  Hold("runs, punctuation", image::kSpaceBeforeSignIsWord, {"the , panda", "a  (b"});
}

// A part between two cuts with a character that NFC may change leaves; what is around it stays.
TEST(FastRoadRules, OpenPart) {
  const Image image(R"({"normalizer":{"type":"NFC"},"pre_tokenizer":)" + builder_test::ByteLevelSplit() +
                    R"(,"model":)" + builder_test::ByteLevelModel("", "", "") + "}");
  HoldFunction(image, RANKFEED_REASON_CHARACTER, {"the panda e\u0301 the panda", "the panda a\u0323\u0302"});
}
// White space that stays what it is has a code between two characters that have one.
TEST(FastRoadRules, StandsApart) {
  HoldFunction(Image(Form(kOtherSpaces)), RANKFEED_REASON_NONE, {"the\u2009panda", "a\u3000b a\u3000b"});
  HoldFunction(Image(Form(kOtherSpaces)), RANKFEED_REASON_CHARACTER, {"the panda the panda a\u2009\u2009b the panda"});
}
// Segments with such a character at an end are the same bytes beside a sign and beside a space, and have other ids.
TEST(FastRoadRules, ForgetRepeats) {
  const Image image(Form("DeBERTa of transformers 5, punctuation"));
  const std::vector<std::string> texts = {"(\u2009the \u2009the (\u2009the \u2009the", "a the\u2009) the\u2009 the\u2009) a"};
  EXPECT_EQ(Shown(image.model(), false, texts), Shown(image.model(), true, texts));
}
// A token begins in white space that a Strip takes off: it is looked for before that.
TEST(FastRoadRules, LosesStopByte) {
  json file = json::parse(Form("DeBERTa").File());
  file["added_tokens"].push_back({{"id", file["model"]["vocab"].size()}, {"content", "\n"}, {"single_word", false},
                                  {"lstrip", false}, {"rstrip", false}, {"normalized", false}, {"special", false}});
  HoldFunction(Image(file), RANKFEED_REASON_NONE, {"\nthe", "the\n", " \n the \n\n panda \n"});
}

}  // namespace
}  // namespace rankfeed::fast_test
