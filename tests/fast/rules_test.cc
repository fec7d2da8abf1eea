// SPDX-License-Identifier: MIT
// Rules of the fast road (image::SegmentRule), each by its name: texts that get the general path's ids and offsets, and
// others as soon as the model lacks the rule.
#include <gtest/gtest.h>

#include <variant>

#include "encode/encoder.h"
#include "fast/word_forms.h"
#include "image/format.h"

namespace rankfeed::fast_test {
namespace {

// Returns what an encoder makes of the texts: ids, and where each begins and ends.
std::vector<std::string> Shown(const rankfeed_model* model, bool plain, const std::vector<std::string>& texts) {
  auto encoder = Encoder::Create(model, 1 << 12, true);
  EXPECT_TRUE(encoder) << encoder.error().message;
  if (plain) encoder->get()->engine.emplace<std::monostate>();
  std::vector<std::string> shown;
  for (const std::string& text : texts) {
    Encoding encoding;
    const Error error = encoder->Encode(text, {sizeof(rankfeed_encode_options)}, &encoding);
    EXPECT_FALSE(error) << error.message;
    shown.push_back(testing::PrintToString(text) + testing::PrintToString(encoding.input_ids) +
                    testing::PrintToString(encoding.offset_begin) + testing::PrintToString(encoding.offset_end));
  }
  return shown;
}

void Hold(const char* form, uint32_t rule, const std::vector<std::string>& texts) {
  const Image image(Form(form));
  const auto expected = Shown(image.model(), true, texts);
  EXPECT_EQ(Shown(image.model(), false, texts), expected);
  auto& rules = const_cast<uint32_t&>(image.model()->segment.config->rules);
  ASSERT_NE(rules & rule, 0u);
  rules &= ~rule;
  EXPECT_NE(Shown(image.model(), false, texts), expected) << "no text needs the rule";
}

TEST(FastRoadRules, kEverySpaceIsWord) { Hold("every space", image::kEverySpaceIsWord, {"a  b", "a   "}); }
TEST(FastRoadRules, kFrontSpaceIsWord) { Hold("Helium", image::kFrontSpaceIsWord, {" a", "  a"}); }
TEST(FastRoadRules, kCrLfIsOne) { Hold("every space", image::kCrLfIsOne, {"a\r\nb", "\r\n", "a\r\n\r\nb"}); }
TEST(FastRoadRules, kPrependOnlyFirst) { Hold("every space", image::kPrependOnlyFirst, {"</s>the", "the</s>panda"}); }
TEST(FastRoadRules, kSpaceRunIsOne) { Hold("RemBERT", image::kSpaceRunIsOne, {"a  b", "the   panda"}); }
TEST(FastRoadRules, kSpaceHasNoOffsets) { Hold("B", image::kSpaceHasNoOffsets, {"the  panda", "a   b"}); }
TEST(FastRoadRules, kDropsOtherRight) { Hold("A", image::kDropsOtherRight, {"the\u2028", "the \u3000", "a\u0085"}); }
TEST(FastRoadRules, kPunctuationIsWord) { Hold("A, punctuation", image::kPunctuationIsWord, {"the,panda", "(a)"}); }
TEST(FastRoadRules, kSpaceBeforeSignIsWord) {
  Hold("runs, punctuation", image::kSpaceBeforeSignIsWord, {"the , panda", "a  (b"});
}

}  // namespace
}  // namespace rankfeed::fast_test
