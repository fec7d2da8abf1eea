// SPDX-License-Identifier: MIT
#include "rerank/setup.h"

#include <gtest/gtest.h>

#include <string>

#include "rerank/fake_model.h"

namespace rankfeed::rerank {
namespace {

// Options that are refused have a reason, and others have none.
rankfeed_status InitStatus(const rankfeed_rerank_options& options) {
  const rankfeed_status status = FakeReranker(options, FakeLimits(8, 0, 100)).init_status;
  Refusal why = WhyRefused(options, FakeFacts());
  if (why.field == nullptr && status != RANKFEED_E_STRUCT_SIZE) {
    why = WhyNoRoom(options, TemplateTokens({kFakePair, kFakeSingle, options.pair_template, options.template_kind,
                                             options.no_special_tokens != 0}));
  }
  EXPECT_EQ(why.field != nullptr, status == RANKFEED_E_ARGUMENT) << (why.field != nullptr ? why.field : "no reason");
  EXPECT_EQ(why.field == nullptr, why.rule == nullptr);
  return status;
}

std::string FieldOf(const rankfeed_rerank_options& options) {
  const Refusal why = WhyRefused(options, FakeFacts());
  return why.field != nullptr ? why.field : "";
}

TEST(Setup, DefaultsAreGood) {
  EXPECT_EQ(InitStatus(FakeOptions()), RANKFEED_OK);
}

TEST(Setup, StructSize) {
  rankfeed_rerank_options o = FakeOptions();
  o.struct_size -= 4;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_STRUCT_SIZE);
}

TEST(Setup, MaxLengthAgainstTheTemplate) {
  rankfeed_rerank_options o = FakeOptions();
  o.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  o.max_length = kFakeSpecials - 1;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.max_length = kFakeSpecials;  // rows of specials only
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
}

TEST(Setup, StrideAgainstWhatMaxLengthLeaves) {
  rankfeed_rerank_options o = FakeOptions();
  o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
  o.max_length = kFakeSpecials + 10;
  for (const uint8_t overflow : {RANKFEED_OVERFLOW_DROP, RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST,
                                 RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST}) {
    o.overflow = overflow;
    o.stride = 9;
    EXPECT_EQ(InitStatus(o), RANKFEED_OK);
    o.stride = 10;
    EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  }
  o.stride = 0;
  o.max_length = kFakeSpecials;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);  // windows of nothing
}

TEST(Setup, WindowsLeaveTheQueryAlone) {
  rankfeed_rerank_options o = FakeOptions();
  o.max_length = 30;
  o.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
  for (uint8_t truncation = 0; truncation <= RANKFEED_TRUNCATE_ONLY_SECOND; ++truncation) {
    o.truncation = truncation;
    EXPECT_EQ(InitStatus(o),
              truncation == RANKFEED_TRUNCATE_ONLY_SECOND ? RANKFEED_OK : RANKFEED_E_ARGUMENT);
  }
  o.max_length = 0;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.max_length = 30;
  o.template_kind = RANKFEED_TEMPLATE_SINGLE;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.truncation = RANKFEED_TRUNCATE_ONLY_FIRST;
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
}

TEST(Setup, TensorsOfEachLayout) {
  rankfeed_rerank_options o = FakeOptions();
  o.tensors = RANKFEED_TENSOR_ATTENTION_MASK;
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
  o.layout = RANKFEED_PACKED;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.tensors = RANKFEED_TENSOR_ROW_OF_TOKEN;
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
  o.layout = RANKFEED_PADDED;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o = FakeOptions();
  o.tensors = 64;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o = FakeOptions();
  o.layout = RANKFEED_PACKED;
  o.pad_to_multiple_of = 8;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
}

TEST(Setup, PaddingNeedsAPadToken) {
  ModelFacts facts = FakeFacts();
  facts.has_pad = false;
  rankfeed_rerank_options o = FakeOptions();
  rerank::Setup setup;
  EXPECT_EQ(CheckOptions(o, facts, &setup), RANKFEED_E_ARGUMENT);
  o.layout = RANKFEED_PACKED;
  EXPECT_EQ(CheckOptions(o, facts, &setup), RANKFEED_OK);
}

TEST(Setup, Buckets) {
  rankfeed_rerank_options o = FakeOptions();
  const uint32_t good[] = {16, 64}, equal[] = {16, 16}, zero[] = {0, 16};
  o.bucket_count = 2;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.buckets = good;
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
  o.buckets = equal;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.buckets = zero;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  o.buckets = good;
  o.bucket_count = 0;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
}

TEST(Setup, Templates) {
  rankfeed_rerank_options o = FakeOptions();
  o.template_kind = RANKFEED_TEMPLATE_CUSTOM;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
  rankfeed_pair_template custom = {};
  o.pair_template = &custom;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_STRUCT_SIZE);
  custom.struct_size = sizeof(custom);
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
  custom.prefix.text = {"Query: ", 7};
  EXPECT_EQ(InitStatus(o), RANKFEED_OK);
  custom.prefix.text = {"!", 1};
  EXPECT_EQ(InitStatus(o), RANKFEED_E_UNK_ID);
  o.template_kind = RANKFEED_TEMPLATE_PAIR;
  EXPECT_EQ(InitStatus(o), RANKFEED_E_ARGUMENT);
}

TEST(Setup, ReasonsNameTheField) {
  rankfeed_rerank_options o = FakeOptions();
  o.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
  EXPECT_EQ(FieldOf(o), "overflow");  // without max_length
  o.max_length = 30;
  o.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  EXPECT_EQ(FieldOf(o), "truncation");
  o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
  EXPECT_EQ(FieldOf(o), "");
  o.layout = RANKFEED_PACKED;
  o.pad_to_multiple_of = 8;
  EXPECT_EQ(FieldOf(o), "pad_to_multiple_of");
  o.pad_to_multiple_of = 0;
  o.padding_side = RANKFEED_LEFT;
  EXPECT_EQ(FieldOf(o), "padding_side");
  o.padding_side = RANKFEED_RIGHT;
  o.tensors = RANKFEED_TENSOR_ATTENTION_MASK;
  EXPECT_EQ(FieldOf(o), "tensors");
  EXPECT_STREQ(WhyNoRoom(o, 31).field, "max_length");
  o.stride = 26;
  EXPECT_STREQ(WhyNoRoom(o, 4).field, "stride");
  EXPECT_EQ(WhyNoRoom(o, 3).field, nullptr);
  ModelFacts facts = FakeFacts();
  facts.has_pad = false;
  EXPECT_STREQ(WhyRefused(FakeOptions(), facts).field, "layout");
}

TEST(Setup, ValuesOutOfRange) {
  const auto status = [](auto set) {
    rankfeed_rerank_options o = FakeOptions();
    set(o);
    return InitStatus(o);
  };
  EXPECT_EQ(status([](auto& o) { o.truncation = 6; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.truncation_side = 2; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.overflow = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.template_kind = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.no_special_tokens = 2; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.layout = 2; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.id_type = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.padding_side = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.budget = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.sort = 3; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.reserved[1] = 1; }), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(status([](auto& o) { o.encode_flags = 1; }), RANKFEED_E_ARGUMENT);
}

}  // namespace
}  // namespace rankfeed::rerank
