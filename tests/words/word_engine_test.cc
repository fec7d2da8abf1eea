// SPDX-License-Identifier: MIT
// The fast path against the plain path: the same model, once without offsets (fast) and once with
// (plain), in both parity modes, over the published pipeline forms, stress strings, every cache size
// and every SIMD target.
#include "words/word_engine.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <random>

#include "pipeline/sp_texts.h"
#include "rankfeed/builder.h"
#include "rankfeed/rankfeed.hpp"
#include "support/sanitizers.h"
#include "text/utf8.h"

namespace rankfeed {
namespace {

using nlohmann::json;

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::string DefaultModel() {
  const char* root = std::getenv("RANKFEED_SOURCE_DIR");
  return sp_test::ReadFile(std::string(root) + "/data/default.model");
}

// Pieces and charsmap of the default vocabulary as a tokenizer.json without pipeline.
json DefaultTokenizer() {
  const std::string bytes = DefaultModel();
  json vocab = json::array();
  std::string charsmap;
  protozero::pbf_reader model(bytes);
  while (model.next()) {
    if (model.tag() == 1) {
      protozero::pbf_reader piece = model.get_message();
      std::string text;
      float score = 0;
      while (piece.next()) {
        if (piece.tag() == 1) {
          text = piece.get_string();
        } else if (piece.tag() == 2) {
          score = piece.get_float();
        } else {
          piece.skip();
        }
      }
      vocab.push_back({text, static_cast<double>(score)});
    } else if (model.tag() == 3) {
      protozero::pbf_reader normalizer = model.get_message();
      while (normalizer.next()) {
        if (normalizer.tag() == 2) {
          charsmap = normalizer.get_bytes();
        } else {
          normalizer.skip();
        }
      }
    } else {
      model.skip();
    }
  }
  json added = json::array();
  for (int id = 0; id < 4; ++id) {
    added.push_back({{"id", id}, {"content", vocab[id][0]}, {"single_word", false},
                     {"lstrip", false}, {"rstrip", false}, {"normalized", false},
                     {"special", true}});
  }
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", Base64(charsmap)}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", nullptr},
          {"model", {{"type", "Unigram"}, {"unk_id", 3}, {"vocab", vocab}}}};
}

const json kMetaspace = {
    {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}, {"split", true}};
const json kStripRight = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}};

json ReplaceRun(const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", content}};
}
json Sequence(const char* key, std::vector<json> elements) {
  return {{"type", "Sequence"}, {key, elements}};
}

// Files of the forms that builder/word_tables.cc accepts.
std::vector<std::pair<std::string, std::string>> Forms() {
  const json base = DefaultTokenizer();
  const json precompiled = base["normalizer"];
  std::vector<std::pair<std::string, std::string>> forms;
  const auto add = [&](const std::string& name, const json& normalizer, const json& pre_tokenizer) {
    json file = base;
    file["normalizer"] = normalizer;
    file["pre_tokenizer"] = pre_tokenizer;
    forms.push_back({name, file.dump()});
  };
  const json split = Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace});
  add("A", Sequence("normalizers", {precompiled, kStripRight, ReplaceRun("\u2581")}), kMetaspace);
  add("B", precompiled, split);
  add("C", Sequence("normalizers", {precompiled, ReplaceRun(" ")}), kMetaspace);
  add("B without charsmap", nullptr, split);
  add("C without charsmap", ReplaceRun(" "), kMetaspace);
  forms.push_back({"SentencePiece", DefaultModel()});
  return forms;
}

class Image {
 public:
  explicit Image(const json& file) : Image(file.dump()) {}
  explicit Image(const std::string& source) {
    rankfeed_builder_error error{};
    error.struct_size = sizeof(error);
    EXPECT_EQ(rankfeed_compile(source.data(), source.size(), "test", nullptr, &image_, &error),
              RANKFEED_OK)
        << error.message;
    storage_ = AlignedBytes(rankfeed_model_mem_req());
    EXPECT_EQ(rankfeed_model_open(image_.data, image_.size, 0, storage_.data(), storage_.size(),
                                  &model_, nullptr),
              RANKFEED_OK);
  }
  ~Image() { rankfeed_image_free(&image_); }
  const rankfeed_model* model() const { return model_; }

 private:
  rankfeed_image image_{};
  AlignedBytes storage_;
  rankfeed_model* model_ = nullptr;
};

std::vector<int32_t> Encode(Encoder& encoder, const std::string& text, uint32_t flags) {
  Encoding encoding;
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  const Error error = encoder.Encode(text, options, &encoding);
  EXPECT_FALSE(error) << error.message;
  return encoding.input_ids;
}

Encoder Make(const rankfeed_model* model, bool offsets, uint32_t cache_bytes) {
  auto encoder = Encoder::Create(model, 1 << 16, offsets, cache_bytes);
  EXPECT_TRUE(encoder) << encoder.error().message;
  return std::move(*encoder);
}

// What words are made of: pieces, separators in and out of ASCII, marks, characters that vanish.
std::string Text(std::mt19937_64& random) {
  static const std::vector<std::string> kGlue = {" ", "  ", "\t", "\n", "\r\n", "\r", "\x0b", "\x0c",
      "\u0085", "\u00a0", "\u3000", "\u200b", "\u2028", "\x01", "", "", "", " \u0301", "\u0301 ",
      ",", ".", "(", ")", "'s", "-", "3", "12.5", "\u201d,", ".\u201d", "\uff0c", "\u2026", "\u00bd",
      "\u00b0", "5\u00b0", ":\uff1a", "\x7f", "a\u0301", "!\u0301",
      "\u2581", " \u2581", "</s>", "<s> ", " \u0600", "\u0600 ", "\u200d", "\ufdfa", "\u00a8"};
  std::string text;
  for (size_t i = random() % 6; i-- > 0;) {
    text += sp_test::StressText(random, 4);
    text += kGlue[random() % kGlue.size()];
  }
  return text;
}

TEST(WordEngine, EqualsThePlainPathOnStressTexts) {
  for (const auto& [name, file] : Forms()) {
    SCOPED_TRACE(name);
    const Image image(file);
    ASSERT_TRUE(words::Available(*image.model()));
    Encoder plain = Make(image.model(), true, 0);
    Encoder none = Make(image.model(), false, 0);
    Encoder tiny = Make(image.model(), false, 128);
    Encoder large = Make(image.model(), false, 1 << 20);
    std::mt19937_64 random(7);
    for (int round = 0; round < static_cast<int>(Scaled(20000)); ++round) {
      const std::string text = Text(random);
      const uint32_t flags = round % 5 == 0 ? uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS} : 0;
      const std::vector<int32_t> expected = Encode(plain, text, flags);
      ASSERT_EQ(Encode(none, text, flags), expected) << testing::PrintToString(text);
      ASSERT_EQ(Encode(tiny, text, flags), expected) << testing::PrintToString(text);
      ASSERT_EQ(Encode(large, text, flags), expected) << testing::PrintToString(text);
    }
  }
}

// Long enough that sums of float32 lose bits and margins have to decide.
TEST(WordEngine, EqualsThePlainPathOnLongTexts) {
  for (const auto& [name, file] : Forms()) {
    SCOPED_TRACE(name);
    const Image image(file);
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 1 << 18);
    std::mt19937_64 random(11);
    for (int round = 0; round < static_cast<int>(Scaled(20)); ++round) {
      std::string text;
      while (text.size() < 50000) {
        const std::string part = sp_test::StressText(random, 12);
        // U+2581 and bad bytes would send all of the text down the plain path.
        if (utf8::IsValid(part) && part.find("\u2581") == std::string::npos &&
            part.find('\0') == std::string::npos) {
          text += part + (random() % 4 == 0 ? "" : " ");
        }
      }
      text.resize(50000);
      while (utf8::IsContinuation(text.back())) text.pop_back();
      text.pop_back();
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << round;
    }
  }
}

TEST(WordEngine, EverySimdTargetGivesTheSameIds) {
  for (const char* name : {"B", "SentencePiece"}) {
    std::string file;
    for (const auto& form : Forms()) {
      if (form.first == name) file = form.second;
    }
    const Image image(file);
    Encoder plain = Make(image.model(), true, 0);
    for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
      const int64_t target = left & -left;
      SCOPED_TRACE(hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target | HWY_STATIC_TARGET);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      Encoder fast = Make(image.model(), false, 4096);
      hwy::SetSupportedTargetsForTest(0);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      std::mt19937_64 random(13);
      for (int round = 0; round < static_cast<int>(Scaled(3000)); ++round) {
        const std::string text = Text(random);
        ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
      }
    }
  }
}

// Every code point, alone, inside a word, after and before a space, and before a mark.
TEST(WordEngine, EqualsThePlainPathOnEveryCodePoint) {
  for (const auto& [name, file] : Forms()) {
    SCOPED_TRACE(name);
    const Image image(file);
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 4096);
    const uint32_t step = kSanitized ? 61 : 7;
    for (char32_t cp = 0; cp < 0x110000; cp += cp < 0x3400 ? 1 : step) {
      if (cp >= 0xd800 && cp < 0xe000) continue;
      char bytes[4];
      const std::string c(bytes, utf8::Encode(cp, bytes));
      const std::string text = c + " a" + c + "b, " + c + "\u0301x\t" + c + c + "." + c + "7" + c + "(";
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << std::hex << uint32_t{cp};
    }
  }
}

TEST(WordEngine, EqualsThePlainPathOnLongWords) {
  const Image image(Forms()[1].second);
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  for (const size_t size : {23, 24, 25, 31, 32, 33, 63, 64, 65, 1000, 2046, 2047, 2048, 5000, 65000}) {
    for (const std::string unit : {"a", "ab", "\u4e2d", "\u0e01\u0e33", "\U0001f600"}) {
      std::string word;
      while (word.size() + unit.size() <= size) word += unit;
      for (const std::string& text : {word, " " + word, word + " ", "x " + word + " y"}) {
        if (text.size() > 65536) continue;
        ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << unit << " " << size;
      }
    }
  }
}

TEST(WordEngine, EqualsThePlainPathOnXquad) {
  const std::string vocabulary = sp_test::SharedData("xlmr.tokenizer.json");
  if (vocabulary.empty()) GTEST_SKIP() << "no xlmr.tokenizer.json in RANKFEED_SHARED_DATA";
  const Image image(sp_test::ReadFile(vocabulary));
  ASSERT_TRUE(words::Available(*image.model()));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 1 << 20);
  size_t texts = 0;
  for (const char* language : sp_test::kXquadLanguages) {
    const auto lines =
        sp_test::ReadTexts(sp_test::SharedData(std::string("xquad/") + language + ".jsonl"));
    // Sanitized builds take every tenth text; the optimized build takes all.
    for (size_t i = 0; i < lines.size(); i += kSanitized ? 10 : 1, ++texts) {
      ASSERT_EQ(Encode(fast, lines[i], 0), Encode(plain, lines[i], 0)) << lines[i];
    }
  }
  EXPECT_GE(texts, kSanitized ? 1716u : 17160u);
}

// Pipelines whose words depend on each other must not be offered the word path.
TEST(WordEngine, IsNotAvailableWhereWordsAreNotIndependent) {
  const json base = DefaultTokenizer();
  const auto with = [&](const json& normalizer, const json& pre_tokenizer) {
    json file = base;
    file["normalizer"] = normalizer;
    file["pre_tokenizer"] = pre_tokenizer;
    return file;
  };
  json unsplit = kMetaspace, first = kMetaspace, never = kMetaspace;
  unsplit["split"] = false;
  first["prepend_scheme"] = "first";
  never["prepend_scheme"] = "never";
  const json precompiled = base["normalizer"];
  json fallback = with(precompiled, Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace}));
  fallback["model"]["byte_fallback"] = true;
  const json files[] = {
      with(precompiled, kMetaspace),  // every space is a word
      with(precompiled, unsplit),
      with(precompiled, first),
      with(precompiled, never),
      with(precompiled, nullptr),
      with(Sequence("normalizers", {precompiled, {{"type", "Lowercase"}}}),
           Sequence("pretokenizers", {{{"type", "WhitespaceSplit"}}, kMetaspace})),
      fallback,
  };
  for (const json& file : files) {
    const Image image(file);
    EXPECT_FALSE(words::Available(*image.model())) << file["normalizer"]["type"];
  }
}

}  // namespace
}  // namespace rankfeed
