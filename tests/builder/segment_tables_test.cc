// SPDX-License-Identifier: MIT
// What segments the fast path may read on their own, for random charsmaps over characters that may
// be read together: the fast path against the general path, in both parity modes.
#include "builder/models/unigram/segment_tables.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "fast/word_forms.h"
#include "reference/sp_model_proto.h"
#include "support/base64.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

// Marks of two, three and four bytes, characters of all sizes to put them on, separators and what
// may become one, controls, a Prepend character, Hangul.
const std::vector<std::string> kCharacters = {
    " ",      "\t",     "\x01",   "_",      ",",      "5",      "a",          "b",      "\u00e9",
    "\u00bd", "\u0627", "\u0928", "\u304b", "\u4e00", "\uac00", "\U0001f600", "\u3000", "\u00a0",
    "\u0600", "\u1100", "\u1161", "\u0301", "\u0338", "\u064b", "\u093c",     "\u3099", "\u200d",
    "\u0e33", "\u0903", "\U0001d165"};
constexpr size_t kFirstMark = 21;

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  const std::string& Character() { return kCharacters[Below(kCharacters.size())]; }
  // Rather a mark.
  const std::string& Mark() {
    return Below(4) == 0 ? Character()
                         : kCharacters[kFirstMark + Below(kCharacters.size() - kFirstMark)];
  }

  std::map<std::string, std::string> Rules() {
    std::map<std::string, std::string> rules = {{"\t", " "}, {"\u3000", " "}};
    for (size_t count = 1 + Below(8); count > 0; --count) {
      std::string key = Character();
      for (size_t more = Below(3); more > 0; --more) key += Mark();
      std::string value;
      for (size_t size = Below(8) == 0 ? 0 : 1 + Below(2); size > 0; --size) value += Character();
      if (key != " ") rules[key] = Below(8) == 0 ? " " : value;
    }
    return rules;
  }

  // Some of them are keys of rules.
  json Pieces(const std::map<std::string, std::string>& rules) {
    json pieces = json::array();
    std::set<std::string> known;
    const auto add = [&](const std::string& text, double score) {
      if (known.insert(text).second) pieces.push_back({text, score});
    };
    for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) add(special, 0);
    add("\u2581", -2.5);
    const auto score = [&] { return -0.25 * static_cast<double>(1 + Below(60)); };
    for (const std::string& c : kCharacters) {
      if (c[0] > ' ' && Below(5) != 0) add(c, score());
    }
    for (const auto& [key, value] : rules) {
      if (key.find_first_of(" \t\x01") != std::string::npos) continue;
      if (Below(2) == 0) add(key, score());
      if (Below(2) == 0) add("\u2581" + key, score());
    }
    for (size_t count = 10 + Below(60); count > 0; --count) {
      std::string text(Below(4) == 0 ? "\u2581" : "");
      for (size_t size = 1 + Below(3); size > 0; --size) {
        const std::string& c = Character();
        if (c[0] != ' ' && c[0] != '\t' && c[0] != '\x01') text += c;
      }
      if (!text.empty()) add(text, score());
    }
    return pieces;
  }

  std::string Text() {
    std::string text;
    for (size_t size = 1 + Below(12); size > 0; --size) text += Below(2) == 0 ? Mark() : Character();
    return text;
  }

 private:
  std::mt19937 random_;
};

// form: of word_forms.h, without its own vocabulary.
std::string HuggingFaceFile(const json& pieces, const std::string& charsmap, const json& form) {
  json file = form;
  file["model"]["vocab"] = pieces;
  json& normalizer = file["normalizer"];
  if (!normalizer.contains("normalizers")) normalizer = {{"normalizers", {normalizer}}, {"type", "Sequence"}};
  for (json& element : normalizer["normalizers"]) {
    if (element["type"] == "Precompiled") element["precompiled_charsmap"] = test::Base64(charsmap);
  }
  return file.dump();
}

std::string SentencePieceFile(const json& pieces, const std::string& charsmap) {
  sp_test::ModelProto model;
  model.AddSpecials();
  for (const json& piece : pieces) {
    if (piece[0].get<std::string>()[0] == '<') continue;  // HuggingFace's own
    model.Add(piece[0], piece[1].get<float>());
  }
  model.normalizer.charsmap = charsmap;
  return sp_test::Serialize(model);
}

// Returns whether the file takes the fast path.
bool Compare(const std::string& file, Random& random) {
  const Image image(file);
  if (!image.model()->segment.config) return false;
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  for (int i = 0; i < 400; ++i) {
    const std::string text = random.Text();
    const std::vector<int32_t> expected = Encode(plain, text, 0);
    EXPECT_EQ(Encode(fast, text, 0), expected) << testing::PrintToString(text);
    if (testing::Test::HasFailure()) break;
  }
  return true;
}

TEST(SegmentTables, SegmentsEqualThePlainPathForRandomCharsmaps) {
  const size_t rounds = std::max<size_t>(Scaled(200, 40), 4);
  std::vector<json> forms;
  for (const char* name : {"A", "B", "ALBERT", "RemBERT", "every space", "DeBERTa", "ALBERT, split",
                           "Pegasus"}) {
    forms.push_back(Form(name).tokenizer());
    forms.back()["model"]["vocab"] = nullptr;
  }
  size_t huggingface = 0, sentencepiece = 0;
  for (size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<uint32_t>(round));
    const auto rules = random.Rules();
    const std::string charsmap = sp_test::MakeCharsmap(rules);
    const json pieces = random.Pieces(rules);
    for (size_t i = 2 * round; i < 2 * round + 2; ++i) {
      const json& form = forms[i % forms.size()];
      huggingface += Compare(HuggingFaceFile(pieces, charsmap, form), random);
    }
    sentencepiece += Compare(SentencePieceFile(pieces, charsmap), random);
    ASSERT_FALSE(HasFailure()) << testing::PrintToString(rules);
  }
  EXPECT_GT(huggingface, rounds / 2);
  EXPECT_GT(sentencepiece, rounds / 4);
}

}  // namespace
}  // namespace rankfeed
