// SPDX-License-Identifier: MIT
// rankfeed_encode_batch against rankfeed_encode, text by text: every form of the fast path, texts that
// leave it in the middle of a batch, templates, SentencePiece options, small outputs, errors.
#include <gtest/gtest.h>

#include <random>

#include "fast/engine.h"
#include "fast/word_forms.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

constexpr int32_t kUntouched = -77;

rankfeed_encode_options Options(uint32_t flags) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  return options;
}

struct Batch {
  rankfeed_status status;
  size_t text_count;
  uint32_t count;
  std::vector<int32_t> input_ids;  // as many as there was room for
  std::vector<uint32_t> cu_seqlens;
};

Batch BatchOf(Encoder& encoder, const std::vector<std::string>& texts,
                  const rankfeed_encode_options& options, uint32_t capacity) {
  std::vector<rankfeed_text> views;
  for (const std::string& text : texts) views.push_back({text.data(), text.size()});
  Batch batch{};
  batch.input_ids.assign(capacity, kUntouched);
  batch.cu_seqlens.assign(texts.size() + 1, ~0u);
  rankfeed_encodings io{};
  io.struct_size = sizeof(io);
  io.capacity = capacity;
  io.input_ids = capacity != 0 ? batch.input_ids.data() : nullptr;
  io.cu_seqlens = batch.cu_seqlens.data();
  batch.status = rankfeed_encode_batch(encoder.get(), views.data(), views.size(), &options, &io);
  batch.text_count = io.text_count;
  batch.count = io.count;
  return batch;
}

// The batch, with room for all and with less, is the texts one by one.
void ExpectSingles(Encoder& batch_encoder, Encoder& single, const std::vector<std::string>& texts,
                   const rankfeed_encode_options& options, std::mt19937_64& random) {
  std::vector<int32_t> ids;
  std::vector<uint32_t> cu_seqlens = {0};
  for (const std::string& text : texts) {
    Encoding encoding;
    ASSERT_FALSE(single.Encode(text, options, &encoding));
    ids.insert(ids.end(), encoding.input_ids.begin(), encoding.input_ids.end());
    cu_seqlens.push_back(static_cast<uint32_t>(ids.size()));
  }
  const auto total = static_cast<uint32_t>(ids.size());
  const Batch whole = BatchOf(batch_encoder, texts, options, total);
  ASSERT_EQ(whole.status, RANKFEED_OK);
  ASSERT_EQ(whole.text_count, texts.size());
  ASSERT_EQ(whole.cu_seqlens, cu_seqlens);
  ASSERT_EQ(whole.input_ids, ids);
  if (total == 0) return;
  const auto less = static_cast<uint32_t>(random() % total);
  const Batch part = BatchOf(batch_encoder, texts, options, less);
  ASSERT_EQ(part.status, RANKFEED_E_OUTPUT_SIZE);
  ASSERT_EQ(part.count, total);
  ASSERT_EQ(part.cu_seqlens, cu_seqlens);
  ids.resize(less);
  ASSERT_EQ(part.input_ids, ids);
}

std::vector<std::string> Texts(std::mt19937_64& random) {
  std::vector<std::string> texts(random() % 5 == 0 ? 150 + random() % 100 : random() % 20);
  for (std::string& text : texts) {
    switch (random() % 12) {
      case 0: break;  // empty
      case 1: text = std::string(random() % 5, ' '); break;
      case 2: text = std::string(random() % 40, "\n\t a"[random() % 4]); break;
      case 3: for (size_t i = random() % 30; i-- > 0;) text += Text(random) + " "; break;
      default: text = Text(random);
    }
  }
  return texts;
}

class EncodeBatch : public EachForm {};
RANKFEED_EACH_FORM(EncodeBatch);

TEST_P(EncodeBatch, EqualsTheTextsOneByOne) {
  Encoder plain = Make(model(), true, 0);
  Encoder none = Make(model(), false, 0);
  Encoder large = Make(model(), false, 1 << 18);
  std::mt19937_64 random(3);
  for (int round = 0; round < static_cast<int>(Sampled(600)); ++round) {
    const auto texts = Texts(random);
    const auto options = Options(random() % 4 == 0 ? RANKFEED_SPLIT_SPECIAL_TOKENS : 0);
    ASSERT_NO_FATAL_FAILURE(ExpectSingles(none, plain, texts, options, random)) << round;
    ASSERT_NO_FATAL_FAILURE(ExpectSingles(large, plain, texts, options, random)) << round;
  }
}

// Offsets of a batch, with room for all and with less, are those of the texts one by one, in every
// unit and with what the template puts around them.
TEST_P(EncodeBatch, OffsetsEqualTheTextsOneByOne) {
  Encoder plain = Make(model(), true, 0);
  auto fast = Encoder::Create(model(), 1 << 16, /*with_offsets=*/true, 1 << 12);
  ASSERT_TRUE(fast);
  std::mt19937_64 random(4);
  for (int round = 0; round < static_cast<int>(Sampled(200)); ++round) {
    const auto texts = Texts(random);
    constexpr uint32_t kUnits[] = {0, RANKFEED_OFFSETS_CODE_POINTS, RANKFEED_OFFSETS_UTF16};
    const auto options = Options(kUnits[random() % 3] | (random() % 2 != 0 ? uint32_t{RANKFEED_ADD_SPECIAL_TOKENS} : 0u));
    Encodings expected;
    for (const std::string& text : texts) {
      Encoding one;
      ASSERT_FALSE(plain.Encode(text, options, &one));
      const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      append(expected.input_ids, one.input_ids);
      append(expected.offset_begin, one.offset_begin);
      append(expected.offset_end, one.offset_end);
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    Encodings found;
    ASSERT_FALSE(fast->EncodeBatch(views, options, &found));
    ASSERT_EQ(found.input_ids, expected.input_ids) << round;
    ASSERT_EQ(found.offset_begin, expected.offset_begin) << round;
    ASSERT_EQ(found.offset_end, expected.offset_end) << round;

    const auto total = static_cast<uint32_t>(found.input_ids.size());
    const auto less = static_cast<uint32_t>(random() % (total + 1));
    std::vector<rankfeed_text> raw;
    for (const std::string& text : texts) raw.push_back({text.data(), text.size()});
    std::vector<int32_t> ids(less + 1, kUntouched);
    std::vector<uint32_t> begin(less + 1, ~0u), end = begin, cu_seqlens(texts.size() + 1);
    rankfeed_encodings io{sizeof(io), less, ids.data(), cu_seqlens.data(), 0, 0, begin.data(), end.data()};
    ASSERT_EQ(rankfeed_encode_batch(fast->get(), raw.data(), raw.size(), &options, &io),
              less < total ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
    ASSERT_EQ(io.count, total);
    ASSERT_EQ(cu_seqlens, found.cu_seqlens);
    ASSERT_TRUE(std::equal(begin.begin(), begin.end() - 1, expected.offset_begin.begin())) << round;
    ASSERT_TRUE(std::equal(end.begin(), end.end() - 1, expected.offset_end.begin())) << round;
    ASSERT_EQ(ids.back(), kUntouched);
    ASSERT_EQ(begin.back(), ~0u);
    ASSERT_EQ(end.back(), ~0u);
  }
}

// Characters that differ in all three units, around one that is no character.
TEST(EncodeBatch, UnitsOfOffsets) {
  struct Case {
    const char* form;
    uint32_t utf16, code_points;  // of everything in front of the last word
  };
  // "é" 2 bytes, "中" 3, U+1F600 4, then a cut U+1F600 of three bytes: one character in HuggingFace
  // parity, three in SentencePiece parity.
  const std::string front = "\u00e9\u4e2d\U0001f600\xf0\x9f\x98 ", text = front + "word";
  for (const Case& c : {Case{"B", 1 + 1 + 2 + 1 + 1, 5}, Case{"SentencePiece", 1 + 1 + 2 + 3 + 1, 7}}) {
    SCOPED_TRACE(c.form);
    const Image& image = ImageOf(Form(c.form));
    auto encoder = Encoder::Create(image.model(), 1 << 10, true, 0);
    ASSERT_TRUE(encoder);
    const std::string_view texts[] = {"a", text};
    const auto last = [&](uint32_t flags) {
      Encodings found;
      EXPECT_FALSE(encoder->EncodeBatch(texts, Options(flags), &found));
      return std::pair(found.offset_end.back() - 4, found.offset_end.back());
    };
    const auto size = static_cast<uint32_t>(text.size());
    EXPECT_EQ(last(0).second, size);
    EXPECT_EQ(last(RANKFEED_OFFSETS_UTF16).first, c.utf16);
    EXPECT_EQ(last(RANKFEED_OFFSETS_CODE_POINTS).first, c.code_points);
  }
}

// Added tokens anywhere in texts of up to several blocks of the scanner, between texts without any.
TEST(EncodeBatch, AddedTokensInLongTexts) {
  const Image& image = ImageOf(Form("B"));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 1 << 16);
  std::mt19937_64 random(7);
  for (int round = 0; round < static_cast<int>(Scaled(60)); ++round) {
    std::vector<std::string> texts(1 + random() % 12);
    for (std::string& text : texts) {
      const size_t size = random() % 3 == 0 ? random() % 10000 : random() % 200;
      while (text.size() < size) text += random() % 50 == 0 ? "< " : "word, ";
      if (random() % 3 == 0) text.insert(random() % (text.size() + 1), "</s>");
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSingles(fast, plain, texts, Options(0), random)) << round;
  }
}

// Sums of scores begin anew with each text, however long the ones before were.
TEST(EncodeBatch, LongTextsBesideShortOnes) {
  for (const char* form : {"B", "SentencePiece"}) {
    const Image& image = ImageOf(Form(form));
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 1 << 18);
    std::mt19937_64 random(5);
    for (int round = 0; round < static_cast<int>(Scaled(10)); ++round) {
      std::vector<std::string> texts = Texts(random);
      for (int i = 0; i < 3; ++i) {
        std::string text;
        while (text.size() < 30000) text += sp_test::StressText(random, 12) + " ";
        texts.insert(texts.begin() + static_cast<ptrdiff_t>(random() % (texts.size() + 1)), text);
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSingles(fast, plain, texts, Options(0), random)) << round;
    }
  }
}

TEST(EncodeBatch, PutsTheTemplateAroundEachText) {
  json file = Form("B").tokenizer();
  const auto special = [](const char* token) {
    return json{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  };
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  const auto token = [](int id, const char* name) {
    return json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {special("<s>"), special("<s>"), text, special("</s>")}},
                            {"pair", {text, second}},
                            {"special_tokens", {{"<s>", token(0, "<s>")}, {"</s>", token(2, "</s>")}}}};
  const Image image(file);
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  std::mt19937_64 random(9);
  for (int round = 0; round < static_cast<int>(Scaled(200)); ++round) {
    const auto options = Options(round % 3 == 0 ? 0 : RANKFEED_ADD_SPECIAL_TOKENS);
    ASSERT_NO_FATAL_FAILURE(ExpectSingles(fast, plain, Texts(random), options, random)) << round;
  }
  // The tokens in front of a text that is refused do not count.
  const auto refusing = Options(uint32_t{RANKFEED_ADD_SPECIAL_TOKENS} | RANKFEED_SPECIALS_ERROR);
  const Batch refused = BatchOf(fast, {"one", "a</s>b"}, refusing, 64);
  EXPECT_EQ(refused.status, RANKFEED_E_SPECIAL_IN_TEXT);
  EXPECT_EQ(refused.text_count, 1u);
  EXPECT_EQ(refused.count, refused.cu_seqlens[1]);
}

TEST(EncodeBatch, TakesSentencePieceOptions) {
  const Image& image = ImageOf(Form("SentencePiece"));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  std::mt19937_64 random(17);
  for (const std::vector<uint8_t>& extra :
       {std::vector<uint8_t>{RANKFEED_SP_BOS, RANKFEED_SP_EOS}, {RANKFEED_SP_REVERSE, RANKFEED_SP_BOS}}) {
    auto options = Options(0);
    std::copy(extra.begin(), extra.end(), options.sp_extra);
    for (int round = 0; round < 50; ++round) {
      ASSERT_NO_FATAL_FAILURE(ExpectSingles(fast, plain, Texts(random), options, random)) << round;
    }
  }
}

TEST(EncodeBatch, EveryIsaGivesTheSameIds) {
  const Image& image = ImageOf(Form("SentencePiece"));
  Encoder plain = Make(image.model(), true, 0);
  OnEveryIsa(image.model(), [&](Encoder& fast) {
    std::mt19937_64 random(13);
    for (int round = 0; round < static_cast<int>(Scaled(100)); ++round) {
      ASSERT_NO_FATAL_FAILURE(ExpectSingles(fast, plain, Texts(random), Options(0), random));
    }
  });
}

TEST(EncodeBatch, SaysWhichTextAnErrorIsAbout) {
  const Image& image = ImageOf(Form("B"));
  Encoder encoder = Make(image.model(), false, 4096);
  const auto options = Options(RANKFEED_SPECIALS_ERROR);
  const Batch special = BatchOf(encoder, {"one", "two", "a</s>b", "four"}, options, 64);
  EXPECT_EQ(special.status, RANKFEED_E_SPECIAL_IN_TEXT);
  EXPECT_EQ(special.text_count, 2u);
  EXPECT_EQ(special.count, special.cu_seqlens[2]);
  // Texts before it that do not fit come first: they are not complete.
  const Batch small = BatchOf(encoder, {"one", "two", "a</s>b", "four"}, options, special.count - 1);
  EXPECT_EQ(small.status, RANKFEED_E_OUTPUT_SIZE);
  EXPECT_EQ(small.count, special.count);
  EXPECT_EQ(BatchOf(encoder, {"one", "two", "a</s>b"}, options, small.count).status, RANKFEED_E_SPECIAL_IN_TEXT);

  const Batch late = BatchOf(encoder, {"one", "two", std::string((1 << 16) + 1, 'a')}, Options(0), 64);
  EXPECT_EQ(late.status, RANKFEED_E_LIMIT);
  EXPECT_EQ(late.text_count, 2u);
  EXPECT_EQ(late.count, late.cu_seqlens[2]);

  const rankfeed_text missing[] = {{"one", 3}, {nullptr, 1}};
  uint32_t cu_seqlens[3];
  int32_t ids[64];
  rankfeed_encodings io{sizeof(io), 64, ids, cu_seqlens, 0, 0, nullptr, nullptr};
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), missing, 2, nullptr, &io), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(io.text_count, 1u);

  EXPECT_EQ(rankfeed_encode_batch(nullptr, missing, 1, nullptr, &io), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), nullptr, 1, nullptr, &io), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), missing, 1, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  io.cu_seqlens = nullptr;
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), missing, 1, nullptr, &io), RANKFEED_E_ARGUMENT);
  io = {sizeof(io), 64, nullptr, cu_seqlens, 0, 0};
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), missing, 1, nullptr, &io), RANKFEED_E_ARGUMENT);
  io = {sizeof(io) - 1, 64, ids, cu_seqlens, 0, 0};
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), missing, 1, nullptr, &io), RANKFEED_E_STRUCT_SIZE);
  io = {sizeof(io), 64, ids, cu_seqlens, 9, 9};
  EXPECT_EQ(rankfeed_encode_batch(encoder.get(), nullptr, 0, nullptr, &io), RANKFEED_OK);
  EXPECT_EQ(io.count, 0u);
  EXPECT_EQ(io.text_count, 0u);
  EXPECT_EQ(cu_seqlens[0], 0u);
}

TEST(EncodeBatch, HasACppFunction) {
  const Image& image = ImageOf(Form("B"));
  Encoder encoder = Make(image.model(), false, 4096);
  std::vector<int32_t> ids;
  std::vector<uint32_t> cu_seqlens;
  const std::string_view texts[] = {"The quick brown fox", "", "jumps over the lazy dog."};
  ASSERT_FALSE(encoder.EncodeBatch(texts, Options(0), &ids, &cu_seqlens));
  ASSERT_EQ(cu_seqlens.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::vector<int32_t>(ids.begin() + cu_seqlens[i], ids.begin() + cu_seqlens[i + 1]),
              fast_test::Encode(encoder, std::string(texts[i]), 0));
  }
  const std::string_view refused[] = {"good", "bad </s>"};
  const Error error =
      encoder.EncodeBatch(refused, Options(RANKFEED_SPECIALS_ERROR), &ids, &cu_seqlens);
  EXPECT_EQ(error.status, RANKFEED_E_SPECIAL_IN_TEXT);
  EXPECT_EQ(cu_seqlens.size(), 2u);
}

}  // namespace
}  // namespace rankfeed
