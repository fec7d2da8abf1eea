// SPDX-License-Identifier: MIT
// Special tokens typed in texts: RANKFEED_SPECIALS_PARSE, _ESCAPE, _ERROR and rankfeed_find_special.
// The vocabulary has, as published ones do, its special tokens among the model's pieces.
#include <gtest/gtest.h>

// Before the wrapper, which has a Model of its own.
#include "support/engine.h"

#include "rankfeed/rankfeed.hpp"
#include "reference/sp_model_proto.h"
#include "reference/sp_texts.h"

namespace rankfeed {
namespace {

using test::Encoding;
using test::TestEngine;

// Pieces 0 <unk>, 1 </s>, 2 <mask> (special), 3 [x] (added, not special), then letters.
std::string File(const std::string& normalizer = "null") {
  return R"({"added_tokens":[
    {"id":1,"content":"</s>","special":true,"normalized":false,"single_word":false,"lstrip":false,"rstrip":false},
    {"id":2,"content":"<mask>","special":true,"normalized":false,"single_word":false,"lstrip":true,"rstrip":false},
    {"id":3,"content":"[x]","special":false,"normalized":false,"single_word":false,"lstrip":false,"rstrip":false}],
    "normalizer":)" + normalizer + R"(,"decoder":null,"post_processor":null,
    "pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},
    {"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]},
    "model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["</s>",0],["<mask>",0],["[x]",0],
    ["▁",-2],["<",-3],["/",-3],["s",-3],[">",-3],["a",-2],["b",-2],["▁a",-2.5],["</",-4]]}})";
}

std::vector<int32_t> Ids(TestEngine& engine, std::string_view text, uint32_t flags) {
  const Encoding encoding = engine.Encode(text, flags);
  EXPECT_EQ(encoding.status, RANKFEED_OK) << text;
  return encoding.ids;
}

constexpr int32_t kSpace = 4, kS = 7, kMore = 8, kB = 10, kOpen = 12;

TEST(SpecialsInText, EachModeDoesWhatItSays) {
  TestEngine engine(File());
  const std::vector<int32_t> parsed = {11, 1, kSpace, kB};
  EXPECT_EQ(Ids(engine, "a</s>b", RANKFEED_SPECIALS_PARSE), parsed);
  EXPECT_EQ(Ids(engine, "a</s>b", 0), parsed) << "the default is the reference's";
  // As the wheel with encode_special_tokens: the model finds the piece all the same.
  EXPECT_EQ(Ids(engine, "a</s>b", RANKFEED_SPLIT_SPECIAL_TOKENS),
            (std::vector<int32_t>{11, 1, kB}));
  EXPECT_EQ(Ids(engine, "a</s>b", RANKFEED_SPECIALS_ESCAPE),
            (std::vector<int32_t>{11, kOpen, kS, kMore, kB}));
  EXPECT_EQ(engine.Encode("a</s>b", RANKFEED_SPECIALS_ERROR).status, RANKFEED_E_SPECIAL_IN_TEXT);
  // Added tokens that are not special stay what they are.
  EXPECT_EQ(Ids(engine, "a[x]b", RANKFEED_SPECIALS_ESCAPE), Ids(engine, "a[x]b", 0));
  EXPECT_EQ(Ids(engine, "a[x]b", RANKFEED_SPECIALS_ERROR), Ids(engine, "a[x]b", 0));
}

TEST(SpecialsInText, TextsWithoutSpecialsAreTheSameInAllModes) {
  TestEngine engine(File());
  for (const std::string_view text : {"", "ab a", "</s", "< /s>", "zz\xff", "[x] a<b"}) {
    for (const uint32_t mode : {RANKFEED_SPECIALS_ESCAPE, RANKFEED_SPECIALS_ERROR}) {
      EXPECT_EQ(engine.Encode(text, mode), engine.Encode(text)) << text;
    }
  }
}

// NFKC makes the ASCII signs of the full-width ones, after special tokens were looked for.
TEST(SpecialsInText, SpecialTokensThatANormalizerMakes) {
  TestEngine engine(File(R"({"type":"NFKC"})"));
  const std::string text = "a \uff1c/s\uff1eb";
  const auto parsed = Ids(engine, text, 0);
  EXPECT_NE(std::find(parsed.begin(), parsed.end(), 1), parsed.end()) << "the reference does this";
  EXPECT_EQ(Ids(engine, text, RANKFEED_SPECIALS_ESCAPE),
            (std::vector<int32_t>{11, kSpace, kOpen, kS, kMore, kB}));
  EXPECT_EQ(engine.Encode(text, RANKFEED_SPECIALS_ERROR).status, RANKFEED_E_SPECIAL_IN_TEXT);
}

TEST(SpecialsInText, FindSpecialSaysWhere) {
  auto check = [](const std::string& normalizer, std::string_view text, bool offsets, int64_t begin,
                  int64_t end, uint32_t id) {
    TestEngine engine(File(normalizer));
    auto encoder = Encoder::Create(engine.model(), 64, offsets);
    ASSERT_TRUE(static_cast<bool>(encoder));
    const auto match = encoder->FindSpecial(text);
    ASSERT_EQ(match.has_value(), begin >= 0) << text;
    rankfeed_encode_options options{};
    options.struct_size = sizeof(options);
    SetSpecialsInText(SpecialsInText::kError, &options.flags);
    rankfeed::Encoding encoding;
    const Error error = encoder->Encode(text, options, &encoding);
    EXPECT_EQ(error.status, begin >= 0 ? RANKFEED_E_SPECIAL_IN_TEXT : RANKFEED_OK);
    if (begin < 0) return;
    EXPECT_EQ(static_cast<int64_t>(match->byte_begin), begin) << text;
    EXPECT_EQ(static_cast<int64_t>(match->byte_end), end) << text;
    EXPECT_EQ(match->id, id);
    EXPECT_NE(error.message.find("bytes " + std::to_string(begin) + " to " + std::to_string(end)),
              std::string::npos)
        << error.message;
  };
  check("null", "ab", true, -1, 0, 0);
  check("null", "ab </s> <mask>", true, 3, 7, 1);
  check("null", "ab  <mask></s>", false, 2, 10, 2);  // with the white space it takes
  const std::string nfkc = R"({"type":"NFKC"})";
  check(nfkc, "ab \uff1c/s\uff1e b", true, 3, 11, 1);
  check(nfkc, "ab \uff1c/s\uff1e b", false, 0, 13, 1);  // the stretch
}

TEST(SpecialsInText, SentencePieceNeverMatchesThem) {
  sp_test::ModelProto model;
  model.AddSpecials();
  for (const char* piece : {"\u2581", "<", "/", "s", ">", "a"}) model.Add(piece, -1);
  TestEngine engine(sp_test::Serialize(model));
  const Encoding parsed = engine.Encode("a</s>");
  EXPECT_EQ(parsed.ids, (std::vector<int32_t>{3, 8, 4, 5, 6, 7}));
  EXPECT_EQ(engine.Encode("a</s>", RANKFEED_SPECIALS_ESCAPE), parsed);
  EXPECT_EQ(engine.Encode("a</s>", RANKFEED_SPECIALS_ERROR), parsed);
  auto encoder = Encoder::Create(engine.model(), 64);
  EXPECT_FALSE(encoder->FindSpecial("a</s>").has_value());
}

// The real file: no id of a special token but the unknown one comes out of any text.
TEST(SpecialsInText, NothingOfXlmRobertaGetsThrough) {
  const std::string path = sp_test::SharedData("xlmr.tokenizer.json");
  if (path.empty()) GTEST_SKIP() << "xlmr.tokenizer.json is absent";
  TestEngine engine(sp_test::ReadFile(path));
  for (const std::string text :
       {"a </s> b", "a \uff1c/s\uff1e b", "<s><pad></s><mask>", "x<mask>y", "\uff1cmask\uff1e"}) {
    for (const int32_t id : Ids(engine, text, RANKFEED_SPECIALS_ESCAPE)) {
      EXPECT_TRUE(id > 3 && id < 250001) << text << " " << id;
    }
    EXPECT_EQ(engine.Encode(text, RANKFEED_SPECIALS_ERROR).status, RANKFEED_E_SPECIAL_IN_TEXT);
  }
}

}  // namespace
}  // namespace rankfeed
