// SPDX-License-Identifier: MIT
#include "rerank/pair_template.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rankfeed::rerank {
namespace {

constexpr TemplateItem kA = {1, 0, 0, 0}, kB = {2, 0, 1, 0};
constexpr TemplateItem Special(uint32_t id, uint32_t type = 0) {
  return {0, id, type, 0};
}

// One id per byte.
rankfeed_status EncodeBytes(void* context, rankfeed_text text, const int32_t** ids,
                            uint32_t* count) {
  auto& out = *static_cast<std::vector<int32_t>*>(context);
  out.assign(text.data, text.data + text.size);
  *ids = out.data();
  *count = static_cast<uint32_t>(out.size());
  return text.data[0] == '!' ? RANKFEED_E_UNK_ID : RANKFEED_OK;
}

class PairTemplateTest : public testing::Test {
 protected:
  rankfeed_status Build(const TemplateSource& source) {
    items_.assign(TemplateBound(source, 16), {});
    return BuildTemplate(source, {&encoded_, EncodeBytes}, items_, &built_);
  }
  // "q" and "d" for the sequences, ids otherwise, each with its type.
  std::string Shape() const {
    std::string shape;
    for (const TemplateItem& item : built_.items) {
      shape += item.kind == 1 ? "q" : item.kind == 2 ? "d" : std::to_string(item.id);
      shape += ":" + std::to_string(item.type_id) + " ";
    }
    return shape;
  }

  std::vector<int32_t> encoded_;
  std::vector<TemplateItem> items_;
  PairTemplate built_;
};

TEST_F(PairTemplateTest, PairOfTheModel) {
  const TemplateItem pair[] = {Special(0), kA, Special(2), Special(2), kB, Special(2, 1)};
  ASSERT_EQ(Build({pair, {}, nullptr, RANKFEED_TEMPLATE_PAIR, false}), RANKFEED_OK);
  EXPECT_EQ(Shape(), "0:0 q:0 2:0 2:0 d:1 2:1 ");
  EXPECT_EQ(built_.special_tokens, 4u);
  EXPECT_TRUE(built_.has_query);
}

TEST_F(PairTemplateTest, SingleOfTheModelTakesTheDocument) {
  const TemplateItem single[] = {Special(0), kA, Special(2)};
  ASSERT_EQ(Build({{}, single, nullptr, RANKFEED_TEMPLATE_SINGLE, false}), RANKFEED_OK);
  EXPECT_EQ(Shape(), "0:0 d:0 2:0 ");
  EXPECT_FALSE(built_.has_query);
}

TEST_F(PairTemplateTest, NoSpecialTokens) {
  const TemplateItem pair[] = {Special(0), kA, kB, Special(2)};
  const TemplateItem single[] = {Special(0), {1, 0, 7, 0}, Special(2)};
  ASSERT_EQ(Build({pair, {}, nullptr, RANKFEED_TEMPLATE_PAIR, true}), RANKFEED_OK);
  EXPECT_EQ(Shape(), "q:0 d:1 ");
  ASSERT_EQ(Build({pair, single, nullptr, RANKFEED_TEMPLATE_SINGLE, true}), RANKFEED_OK);
  EXPECT_EQ(Shape(), "d:7 ");
}

TEST_F(PairTemplateTest, SequencesMissingOrTwice) {
  const TemplateItem missing[] = {Special(0), kA}, twice[] = {kA, kB, kB};
  EXPECT_EQ(Build({missing, {}, nullptr, RANKFEED_TEMPLATE_PAIR, false}), RANKFEED_E_UNSUPPORTED);
  EXPECT_EQ(Build({twice, {}, nullptr, RANKFEED_TEMPLATE_PAIR, false}), RANKFEED_E_UNSUPPORTED);
  EXPECT_EQ(Build({{}, {}, nullptr, RANKFEED_TEMPLATE_SINGLE, false}), RANKFEED_E_UNSUPPORTED);
}

TEST_F(PairTemplateTest, Custom) {
  const int32_t middle[] = {7, 8};
  rankfeed_pair_template custom = {};
  custom.struct_size = sizeof(custom);
  custom.document_type_id = 3;
  custom.prefix.text = {"Q:", 2};
  custom.middle.ids = middle;
  custom.middle.id_count = 2;
  custom.middle.type_id = 5;
  ASSERT_EQ(Build({{}, {}, &custom, RANKFEED_TEMPLATE_CUSTOM, false}), RANKFEED_OK);
  EXPECT_EQ(Shape(), "81:0 58:0 q:0 7:5 8:5 d:3 ");
  EXPECT_EQ(built_.special_tokens, 4u);
}

TEST_F(PairTemplateTest, BadParts) {
  const int32_t negative[] = {-1};
  rankfeed_pair_template custom = {};
  custom.suffix.ids = negative;
  custom.suffix.id_count = 1;
  EXPECT_EQ(Build({{}, {}, &custom, RANKFEED_TEMPLATE_CUSTOM, false}), RANKFEED_E_ARGUMENT);
  custom.suffix.text = {"both", 4};
  EXPECT_EQ(Build({{}, {}, &custom, RANKFEED_TEMPLATE_CUSTOM, false}), RANKFEED_E_ARGUMENT);
  custom.suffix = {};
  custom.suffix.id_count = 1;
  EXPECT_EQ(Build({{}, {}, &custom, RANKFEED_TEMPLATE_CUSTOM, false}), RANKFEED_E_ARGUMENT);
  custom.suffix = {};
  custom.prefix.text = {"!", 1};
  EXPECT_EQ(Build({{}, {}, &custom, RANKFEED_TEMPLATE_CUSTOM, false}), RANKFEED_E_UNK_ID);
}

}  // namespace
}  // namespace rankfeed::rerank
