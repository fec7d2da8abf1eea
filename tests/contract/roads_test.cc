// SPDX-License-Identifier: MIT
// rankfeed_encoder_roads and rankfeed_model_off_fast_road: every reason to leave the fast road,
// with exact counts of texts and bytes; and instruction sets: rankfeed_isa, rankfeed_force_isa,
// rankfeed_encoder_isa.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "contract/contract_models.h"
#include "fast/word_forms.h"

namespace rankfeed::contract {
namespace {

using fast_test::Form;

const std::string kPlain = "What is a panda? A bear, of course.";

// The default vocabulary as SentencePiece's, and in forms of tokenizer.json; compiled once.
const rankfeed_model* Vocabulary(const std::string& form) {
  return fast_test::ImageOf(Form(form)).model();
}

// What one call encodes, and how.
struct Call {
  std::string form;
  std::vector<std::string> texts;
  uint32_t flags = 0;
  uint8_t sp_extra = 0;
  bool offsets = false;
  uint32_t capacity = 1 << 16;
};

RoadCounts RoadsOf(const rankfeed_encoder* encoder) {
  RoadCounts roads{};
  EXPECT_EQ(rankfeed_encoder_roads(encoder, roads.data(), roads.size()), RANKFEED_OK);
  return roads;
}

void EncodeEach(rankfeed_encoder* encoder, const Call& call) {
  rankfeed_encode_options options = Options(call.flags);
  options.sp_extra[0] = call.sp_extra;
  std::vector<int32_t> ids(call.capacity + 1);
  std::vector<uint32_t> begin(call.capacity + 1);
  for (const std::string& text : call.texts) {
    rankfeed_encoding io{};
    io.struct_size = sizeof(io);
    io.capacity = call.capacity;
    io.input_ids = ids.data();
    if (call.offsets) io.offset_begin = begin.data();
    const rankfeed_status status = rankfeed_encode(encoder, Text(text), &options, &io);
    EXPECT_EQ(status, io.count > call.capacity ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
  }
}

void EncodeTogether(rankfeed_encoder* encoder, const Call& call) {
  rankfeed_encode_options options = Options(call.flags);
  options.sp_extra[0] = call.sp_extra;
  std::vector<rankfeed_text> texts;
  for (const std::string& text : call.texts) texts.push_back(Text(text));
  std::vector<int32_t> ids(call.capacity + 1);
  std::vector<uint32_t> cu_seqlens(texts.size() + 1);
  rankfeed_encodings io{};
  io.struct_size = sizeof(io);
  io.capacity = call.capacity;
  io.input_ids = ids.data();
  io.cu_seqlens = cu_seqlens.data();
  std::vector<uint32_t> begin(call.capacity + 1);
  if (call.offsets) io.offset_begin = begin.data();
  const rankfeed_status status =
      rankfeed_encode_batch(encoder, texts.data(), texts.size(), &options, &io);
  EXPECT_EQ(status, io.count > call.capacity ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
}

// Texts and bytes off the road, by reason; the rest is on it.
struct Left {
  rankfeed_reason reason;
  uint64_t texts, bytes;
};

void ExpectRoads(const Call& call, const std::vector<Left>& left) {
  SCOPED_TRACE(call.form + ": " + call.texts[call.texts.size() / 2].substr(0, 40));
  RoadCounts expected{};
  for (const std::string& text : call.texts) {
    ++expected[RANKFEED_REASON_NONE].texts;
    expected[RANKFEED_REASON_NONE].bytes += text.size();
  }
  for (const Left& l : left) {
    expected[l.reason] = {l.texts, l.bytes};
    expected[RANKFEED_REASON_NONE].texts -= l.texts;
    expected[RANKFEED_REASON_NONE].bytes -= l.bytes;
  }
  const auto expect = [&](const rankfeed_encoder* encoder, const char* how) {
    const RoadCounts roads = RoadsOf(encoder);
    for (uint32_t i = 0; i < roads.size(); ++i) {
      EXPECT_EQ(roads[i].texts, expected[i].texts) << how << ": " << rankfeed_reason_name(i);
      EXPECT_EQ(roads[i].bytes, expected[i].bytes) << how << ": " << rankfeed_reason_name(i);
    }
  };
  const OwnedEncoder single(Vocabulary(call.form), Limits(1 << 16, call.offsets));
  EncodeEach(single.get(), call);
  expect(single.get(), "one by one");
  const OwnedEncoder together(Vocabulary(call.form), Limits(1 << 16, call.offsets, 4096));
  EncodeTogether(together.get(), call);
  expect(together.get(), "together");
}

// That text, between two that stay on the road.
Call Between(const std::string& form, const std::string& text, uint32_t flags = 0) {
  return {.form = form, .texts = {kPlain, text, "The giant panda"}, .flags = flags};
}

class Roads : public fast_test::EachForm {};
RANKFEED_EACH_FORM(Roads);

TEST_P(Roads, PlainTextsStayOnTheFastRoad) {
  EXPECT_EQ(rankfeed_model_off_fast_road(Vocabulary(form().name)), nullptr);
  // Unknown characters of which bytes are made are not plain.
  const bool bytes = form().name.find("byte fallback") != std::string::npos;
  ExpectRoads({.form = form().name,
               .texts = {kPlain, "", " ", bytes ? "xyzzy" : "\u4e2d\u56fd \U0001f600 xyzzy"}},
              {});
  ExpectRoads({.form = form().name, .texts = {kPlain}, .flags = RANKFEED_ADD_SPECIAL_TOKENS}, {});
}

TEST_P(Roads, AddedTokensInATextStayOnTheFastRoad) {
  if (!IsOneOf({"A", "B", "C"})) return;
  ExpectRoads(Between(form().name, "A panda</s> is <s>a bear. <pad>"), {});
}

TEST(Roads, Pipeline) {
  std::string prepends = HuggingFaceSource();
  const std::string nfkc = R"({"type":"NFKC"})";
  prepends.replace(prepends.find(nfkc), nfkc.size(), R"({"type":"Prepend","prepend":"a"})");
  sp_test::ModelProto behind;
  behind.AddSpecials();
  for (const char* piece : {"\u2581", "a", "b", "\u2581a"}) behind.Add(piece, -2);
  behind.treat_whitespace_as_suffix = true;
  const OpenModel normalizer(prepends), suffix(sp_test::Serialize(behind));
  EXPECT_STREQ(rankfeed_model_off_fast_road(normalizer.get()), "normalizer, Prepend");
  EXPECT_STREQ(rankfeed_model_off_fast_road(suffix.get()),
               "treat_whitespace_as_suffix=true");
  EXPECT_EQ(rankfeed_model_off_fast_road(nullptr), nullptr);
  for (const OpenModel* model : {&normalizer, &suffix}) {
    const OwnedEncoder encoder(model->get(), Limits(1 << 10, true));
    EncodeEach(encoder.get(), {.texts = {"ab", "", "ba ab"}});
    EncodeEach(encoder.get(), {.texts = {"ab"}, .offsets = true});
    EncodeTogether(encoder.get(), {.texts = {"ab", "ba"}});
    const RoadCounts roads = RoadsOf(encoder.get());
    for (uint32_t i = 0; i < roads.size(); ++i) {
      EXPECT_EQ(roads[i].texts, i == RANKFEED_REASON_PIPELINE ? 6u : 0u) << i;
      EXPECT_EQ(roads[i].bytes, i == RANKFEED_REASON_PIPELINE ? 13u : 0u) << i;
    }
  }
}

TEST(Roads, Options) {
  for (const char* form : {"A", "B", "C", "DeBERTa", "SentencePiece", "SentencePiece 0.2.1"}) {
    ExpectRoads({.form = form, .texts = {kPlain, "bear </s>a "}, .offsets = true}, {});
  }
  // Which characters are whose: two unknown tokens in one segment.
  const std::string unknowns = "\U0001fa7aa\U0001fa7a";
  for (const char* form : {"B", "SentencePiece", "SentencePiece 0.2.1"}) {
    ExpectRoads({.form = form, .texts = {kPlain, unknowns}, .offsets = true},
                {{RANKFEED_REASON_OPTIONS, 1, unknowns.size()}});
  }
  for (const std::string text : {"\x01 bear", "e\u0301 \u00a8\u00a0\x02 \ufdfa \x80", "\u00a0 a \u00a0"}) {
    ExpectRoads({.form = "SentencePiece", .texts = {kPlain, text}, .offsets = true}, {});
  }
  // The reference's alignment is its own there.
  ExpectRoads({.form = "B", .texts = {kPlain, "\x01 bear"}, .offsets = true},
              {{RANKFEED_REASON_OPTIONS, 1, 6}});
  ExpectRoads({.form = "SentencePiece", .texts = {kPlain}, .sp_extra = RANKFEED_SP_REVERSE},
              {{RANKFEED_REASON_OPTIONS, 1, kPlain.size()}});
  ExpectRoads({.form = "SentencePiece", .texts = {kPlain}, .sp_extra = RANKFEED_SP_EOS}, {});
  const std::string special = "a </s> b";
  ExpectRoads(Between("B", special, RANKFEED_ESCAPE_SPECIAL),
              {{RANKFEED_REASON_OPTIONS, 1, special.size()}});
}

TEST_P(Roads, InvalidUtf8StaysOnTheFastRoad) {
  if (!IsOneOf({"B", "SentencePiece", "ALBERT"})) return;
  ExpectRoads(Between(form().name, "a pa\xffnda \xe2\x82. \xf0"), {});
}

TEST(Roads, NormalizedAddedTokens) {
  const char* const form = "normalized tokens";
  ExpectRoads(Between(form, "a [unknown] [un"), {});
  ExpectRoads(Between(form, "a [uNk] b"), {{RANKFEED_REASON_ADDED_TOKEN, 1, 9}});
  ExpectRoads(Between(form, "a [un\uff4b] b"), {{RANKFEED_REASON_ADDED_TOKEN, 1, 11}});
  ExpectRoads(Between(form, "a \uff3bunk] b"), {{RANKFEED_REASON_CHARACTER, 1, 11}});
}

TEST(Roads, Character) {
  ExpectRoads(Between("B without charsmap", "a \u2581 b"), {{RANKFEED_REASON_CHARACTER, 1, 7}});
  ExpectRoads(Between("B", "a \u2581 b"), {});  // the charsmap makes a space of it
  ExpectRoads(Between("SentencePiece", std::string("a \0 b", 5)),
              {{RANKFEED_REASON_CHARACTER, 1, 5}});
}

TEST(Roads, Context) {
  // A sign that is a word until a mark makes a letter of it.
  const std::string text = "a =\u0338 b";
  ExpectRoads(Between("DeBERTa, punctuation", text), {{RANKFEED_REASON_CONTEXT, 1, text.size()}});
  // A mark that becomes another, before one that is read with it, might be in one cluster with the
  // space before both; one that stays as it is on its own is no reason.
  const std::string marks = "a \u0340\u0301x";
  ExpectRoads(Between("B", marks), {{RANKFEED_REASON_CONTEXT, 1, marks.size()}});
  ExpectRoads(Between("B", "a \u0301e\u0301"), {});
}

// More marks than are normalized together.
std::string ManyMarks() {
  std::string text = "e";
  for (int i = 0; i < 1000; ++i) text += "\u0301";
  return text;
}

TEST(Roads, Length) {
  const std::string dots(5000, '.'), marks = ManyMarks();
  for (const char* form : {"B", "SentencePiece"}) {
    ExpectRoads(Between(form, dots), {{RANKFEED_REASON_LENGTH, 1, dots.size()}});
    ExpectRoads(Between(form, marks), {{RANKFEED_REASON_LENGTH, 1, marks.size()}});
  }
}

TEST(Roads, Unknown) {
  const std::string text = "a <unk> b";
  ExpectRoads(Between("B", text), {});
  ExpectRoads(Between("B", text, RANKFEED_SPLIT_SPECIAL_TOKENS),
              {{RANKFEED_REASON_UNKNOWN, 1, text.size()}});
  // Byte fallback: only what holds unknown characters.
  for (const char* form : {"byte fallback", "SentencePiece byte fallback"}) {
    ExpectRoads(Between(form, "A panda, a bear."), {});
    ExpectRoads(Between(form, "a \U0001f43c b"), {{RANKFEED_REASON_UNKNOWN, 1, 8}});
  }
}

TEST(Roads, Capacity) {
  // Margins do not settle a run of dots: it is searched behind the tokens before it.
  const std::string text = "bear ......................";
  ExpectRoads({.form = "C", .texts = {text}}, {});
  ExpectRoads({.form = "C", .texts = {text}, .capacity = 1},
              {{RANKFEED_REASON_CAPACITY, 1, text.size()}});
}

TEST(Roads, BytesCountForTheirStretch) {
  const std::string marks = ManyMarks(), context = "a =\u0338 b";
  const std::string text = "A panda</s>" + context + "</s>" + marks + "</s>bears";
  ExpectRoads(Between("DeBERTa, punctuation", text),
              {{RANKFEED_REASON_CONTEXT, 1, context.size()},
               {RANKFEED_REASON_LENGTH, 0, marks.size()}});
}

TEST(Roads, Arguments) {
  const OwnedEncoder encoder(Vocabulary("B"), Limits(64, false));
  rankfeed_road_counts counts[RANKFEED_REASON_COUNT + 1];
  EXPECT_EQ(rankfeed_encoder_roads(nullptr, counts, 1), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_roads(encoder.get(), nullptr, 1), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_roads(encoder.get(), nullptr, 0), RANKFEED_OK);
  EXPECT_EQ(rankfeed_encoder_roads(encoder.get(), counts, RANKFEED_REASON_COUNT + 1),
            RANKFEED_E_ARGUMENT);
  counts[1].texts = 77;
  EXPECT_EQ(rankfeed_encoder_roads(encoder.get(), counts, 1), RANKFEED_OK);
  EXPECT_EQ(counts[0].texts, 0u);
  EXPECT_EQ(counts[1].texts, 77u) << "not asked for";
  // Programs that were compiled know them by number.
  static_assert(RANKFEED_REASON_NONE == 0 && RANKFEED_REASON_PIPELINE == 1 &&
                RANKFEED_REASON_OPTIONS == 2 && RANKFEED_REASON_INVALID_UTF8 == 3 &&
                RANKFEED_REASON_CHARACTER == 4 && RANKFEED_REASON_CONTEXT == 5 &&
                RANKFEED_REASON_LENGTH == 6 && RANKFEED_REASON_UNKNOWN == 7 &&
                RANKFEED_REASON_CAPACITY == 8 && RANKFEED_REASON_ADDED_TOKEN == 9);
  std::set<std::string> names;
  for (uint32_t i = 0; i < RANKFEED_REASON_COUNT; ++i) names.insert(rankfeed_reason_name(i));
  EXPECT_EQ(names.size(), size_t{RANKFEED_REASON_COUNT});
  EXPECT_EQ(rankfeed_reason_name(RANKFEED_REASON_COUNT), nullptr);
}

// Ids that did not fit at first are encoded again, by the C++ wrapper, and count once.
TEST(Roads, TheWrapperCountsTextsOnce) {
  auto encoder = Encoder::Create(Vocabulary("SentencePiece"), 1 << 16);
  ASSERT_TRUE(encoder);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "\ufdfa";  // 18 characters each, normalized
  Encoding encoding;
  ASSERT_FALSE(encoder->Encode(text, Options(0), &encoding));
  EXPECT_GT(encoding.input_ids.size(), 2 * text.size()) << "else they fit at first";
  std::vector<int32_t> ids;
  std::vector<uint32_t> cu_seqlens;
  const std::string_view views[] = {text, kPlain};
  ASSERT_FALSE(encoder->EncodeBatch(views, Options(0), &ids, &cu_seqlens));
  EXPECT_GT(RoadsOf(encoder->get())[RANKFEED_REASON_NONE].texts +
                RoadsOf(encoder->get())[RANKFEED_REASON_CAPACITY].texts,
            3u);
  const RoadCounts roads = encoder->Roads();
  EXPECT_EQ(roads[RANKFEED_REASON_NONE].texts, 3u);
  EXPECT_EQ(roads[RANKFEED_REASON_NONE].bytes, 2 * text.size() + kPlain.size());
  for (uint32_t i = 1; i < roads.size(); ++i) EXPECT_EQ(roads[i].texts, 0u) << i;
}

class Isa : public testing::Test {
 protected:
  ~Isa() override { EXPECT_EQ(rankfeed_force_isa(nullptr), RANKFEED_OK); }
  struct Set {
    std::string name;
    bool runs;
  };
  static std::vector<Set> Sets() {
    std::vector<Set> sets;
    for (uint32_t i = 0;; ++i) {
      const char* name = "";
      int32_t runs = -1;
      EXPECT_EQ(rankfeed_isa(i, &name, &runs), RANKFEED_OK);
      if (name == nullptr) break;
      EXPECT_TRUE(runs == 0 || runs == 1);
      sets.push_back({name, runs == 1});
    }
    return sets;
  }
};

TEST_F(Isa, EverySetHasItsName) {
  const char* const names[] = {"scalar", "ssse3",         "sse4", "avx2",
                               "avx512", "avx512-gather", "neon"};
  const std::vector<Set> sets = Sets();
  ASSERT_EQ(sets.size(), std::size(names));
  for (size_t i = 0; i < sets.size(); ++i) EXPECT_EQ(sets[i].name, names[i]);
  EXPECT_TRUE(sets[0].runs);
  const char* name;
  EXPECT_EQ(rankfeed_isa(0, &name, nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_isa(0, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encoder_isa(nullptr), nullptr);
}

TEST_F(Isa, EncodersKeepTheSetTheyWereMadeWith) {
  const OwnedEncoder best(Vocabulary("B"), Limits(64, false));
  const std::string chosen = rankfeed_encoder_isa(best.get());
  for (const Set& set : Sets()) {
    const rankfeed_status status = rankfeed_force_isa(set.name.c_str());
    ASSERT_EQ(status, set.runs ? RANKFEED_OK : RANKFEED_E_UNSUPPORTED) << set.name;
    if (!set.runs) continue;
    const OwnedEncoder encoder(Vocabulary("B"), Limits(64, false));
    EXPECT_EQ(rankfeed_encoder_isa(encoder.get()), set.name);
    EXPECT_EQ(rankfeed_encoder_isa(best.get()), chosen);
    ASSERT_EQ(rankfeed_force_isa(nullptr), RANKFEED_OK);
    EXPECT_EQ(rankfeed_encoder_isa(encoder.get()), set.name);
    const OwnedEncoder after(Vocabulary("B"), Limits(64, false));
    EXPECT_EQ(rankfeed_encoder_isa(after.get()), chosen);
  }
}

TEST_F(Isa, ANameThatThereIsNotChangesNothing) {
  ASSERT_EQ(rankfeed_force_isa("scalar"), RANKFEED_OK);
  std::vector<std::string> names = {"", "AVX2", "avx", "scalar "};
  for (const Set& set : Sets()) {
    if (!set.runs) names.push_back(set.name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(rankfeed_force_isa(names[i].c_str()),
              i < 4 ? RANKFEED_E_ARGUMENT : RANKFEED_E_UNSUPPORTED)
        << names[i];
    const OwnedEncoder encoder(Vocabulary("B"), Limits(64, false));
    EXPECT_STREQ(rankfeed_encoder_isa(encoder.get()), "scalar") << names[i];
  }
}

class IsaOfForms : public Isa, public testing::WithParamInterface<size_t> {};
RANKFEED_EACH_FORM(IsaOfForms);

TEST_P(IsaOfForms, OutputsAreTheSameOnEverySet) {
  const std::string& form = fast_test::Forms()[GetParam()].name;
  std::vector<std::string> texts = Texts();
  texts.insert(texts.end(), {kPlain, std::string(5000, '.'), "A panda</s>a \u2581 b</s>a pa\xffnda",
                             "\u0e41\u0e1e\u0e19\u0e14\u0e49\u0e32 "
                             "\u718a\u732b\u662f\u4e00\u79cd\u54fa\u4e73\u52a8\u7269"});
  std::vector<Columns> expected;
  for (const Set& set : Sets()) {
    if (!set.runs) continue;
    ASSERT_EQ(rankfeed_force_isa(set.name.c_str()), RANKFEED_OK);
    const OwnedEncoder encoder(Vocabulary(form), Limits(1 << 13, false, 4096));
    for (size_t i = 0; i < texts.size(); ++i) {
      const Columns columns =
          contract::Encode(encoder.get(), texts[i], RANKFEED_ADD_SPECIAL_TOKENS, false);
      if (i == expected.size()) expected.push_back(columns);
      EXPECT_EQ(columns, expected[i]) << form << ", " << set.name << ", text " << i;
    }
  }
}

}  // namespace
}  // namespace rankfeed::contract
