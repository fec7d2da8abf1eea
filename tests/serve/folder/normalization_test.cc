// SPDX-License-Identifier: MIT
// serve/folder/normalization.cc: a vocabulary against what a model's folder states of normalization.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "builder/byte_level.h"
#include "rankfeed/builder.hpp"
#include "serve/folder/folder.h"
#include "serve/folder/pairing.h"

namespace rankfeed::folder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPieces[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "e", "A", "E", "é", "中", "国", "##国", "the", "THE"};

class Normalization : public testing::Test {
 protected:
  Normalization() : root_(fs::path(testing::TempDir()) / "normalization") {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~Normalization() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const { std::ofstream(root_ / name, std::ios::binary) << text; }
  // A vocab.txt with what its tokenizer_config.json says, alone in a folder.
  Vocabulary Bert(const std::string& config) const {
    const fs::path folder = root_ / "vocabulary";
    fs::create_directories(folder);
    std::ofstream pieces(folder / "vocab.txt");
    for (const char* const piece : kPieces) pieces << piece << '\n';
    pieces.close();
    std::ofstream(folder / "tokenizer_config.json") << config;
    auto loaded = Vocabulary::Load((folder / "vocab.txt").string());
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return std::move(*loaded);
  }
  std::string Different(const Vocabulary& vocabulary) const {
    auto out = DifferentNormalization(vocabulary.model(), root_.string());
    return out ? *out : out.error().message;
  }
  std::string TokenizerJson(const std::string& normalizer, const std::string& pre_tokenizer = "null") const {
    return R"({"normalizer": )" + normalizer + R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "model": {"vocab": {}}})";
  }
  const fs::path root_;
};

std::string Flags(const std::string& name, bool value) { return "\"" + name + "\": " + (value ? "true" : "false"); }

TEST_F(Normalization, EveryRuleOfATokenizerConfigIsCompared) {
  for (const bool lower : {false, true}) {
    for (const bool accents : {false, true}) {
      for (const bool cjk : {false, true}) {
        const auto config = [&](bool l, bool a, bool c) {
          return "{" + Flags("do_lower_case", l) + ", " + Flags("strip_accents", a) + ", " + Flags("tokenize_chinese_chars", c) + "}";
        };
        const Vocabulary vocabulary = Bert(config(lower, accents, cjk));
        Write("tokenizer_config.json", config(lower, accents, cjk));
        EXPECT_EQ(Different(vocabulary), "");
        Write("tokenizer_config.json", config(!lower, accents, cjk));
        EXPECT_NE(Different(vocabulary).find("(do_lower_case)"), std::string::npos) << Different(vocabulary);
        Write("tokenizer_config.json", config(lower, !accents, cjk));
        EXPECT_NE(Different(vocabulary).find("(strip_accents)"), std::string::npos) << Different(vocabulary);
        Write("tokenizer_config.json", config(lower, accents, !cjk));
        EXPECT_NE(Different(vocabulary).find("(tokenize_chinese_chars)"), std::string::npos) << Different(vocabulary);
      }
    }
  }
}

TEST_F(Normalization, WhatIsNotStatedIsNotCompared) {
  for (const char* const config : {R"({"do_lower_case": true})", R"({"do_lower_case": false})"}) {
    const Vocabulary vocabulary = Bert(config);
    Write("tokenizer_config.json", R"({"strip_accents": null, "model_max_length": 512})");
    EXPECT_EQ(Different(vocabulary), "");
    fs::remove(root_ / "tokenizer_config.json");
    EXPECT_EQ(Different(vocabulary), "");
    Write("tokenizer.json", TokenizerJson(R"({"type": "Precompiled"})"));  // a charsmap may lowercase
    EXPECT_EQ(Different(vocabulary), "");
    fs::remove(root_ / "tokenizer.json");
  }
}

TEST_F(Normalization, TheTokenizerJsonIsReadFirst) {
  const Vocabulary lower = Bert(R"({"do_lower_case": true})"), cased = Bert(R"({"do_lower_case": false})");
  Write("tokenizer_config.json", R"({"do_lower_case": false})");
  for (const char* const normalizer : {R"({"type": "BertNormalizer", "lowercase": true, "strip_accents": null})",
                                       R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}]})"}) {
    Write("tokenizer.json", TokenizerJson(normalizer));
    EXPECT_EQ(Different(lower), "");
    EXPECT_NE(Different(cased).find("tokenizer.json lowercases texts (do_lower_case), the vocabulary keeps capitals"), std::string::npos)
        << Different(cased);
  }
  for (const char* const normalizer : {R"({"type": "BertNormalizer", "lowercase": false})", R"({"type": "NFC"})", "null"}) {
    Write("tokenizer.json", TokenizerJson(normalizer));
    EXPECT_EQ(Different(cased), "");
    EXPECT_NE(Different(lower).find("tokenizer.json keeps capitals (do_lower_case), the vocabulary lowercases texts"), std::string::npos);
  }
}

TEST_F(Normalization, PrefixSpaceOfByteLevelBpe) {
  for (const bool prefix : {false, true}) {
    Write("own.json", R"({"pre_tokenizer": )" + builder_test::ByteLevelSplit("true", prefix ? "true" : "false") + R"(, "model": )" +
                          builder_test::ByteLevelModel() + "}");
    auto vocabulary = Vocabulary::Load((root_ / "own.json").string());
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    for (const bool stated : {false, true}) {
      Write("tokenizer_config.json", "{" + Flags("add_prefix_space", stated) + "}");
      EXPECT_EQ(Different(*vocabulary).empty(), stated == prefix) << Different(*vocabulary);
      Write("tokenizer.json", TokenizerJson("null", R"({"type": "Sequence", "pretokenizers": [{"type": "Digits"}, {"type": "ByteLevel", )" +
                                                        Flags("add_prefix_space", stated) + "}]}"));
      EXPECT_EQ(Different(*vocabulary).empty(), stated == prefix) << Different(*vocabulary);
      fs::remove(root_ / "tokenizer.json");
    }
  }
}

// A folder never contradicts its own vocabulary.
TEST_F(Normalization, PublishedFoldersAgreeWithThemselves) {
  const char* const data = std::getenv("RANKFEED_SHARED_DATA");
  if (data == nullptr || !fs::exists(fs::path(data) / "bpe" / "roberta")) GTEST_SKIP() << "no published folders";
  for (const char* const name : {"wordpiece/bert-base-cased", "wordpiece/bert-base-uncased", "bpe/roberta"}) {
    const std::string folder = (fs::path(data) / name).string();
    auto file = VocabularyOf(folder);
    ASSERT_TRUE(file) << file.error().message;
    auto vocabulary = Vocabulary::Load(*file);
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    auto different = DifferentNormalization(vocabulary->model(), folder);
    ASSERT_TRUE(different) << name;
    EXPECT_EQ(*different, "") << name;
  }
}

}  // namespace
}  // namespace rankfeed::folder
