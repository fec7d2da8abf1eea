// SPDX-License-Identifier: MIT
// SentencePiece mode through the public C API against libsentencepiece 0.1.97: ids, byte offsets,
// pieces, decoded text, and extra options in every order, on XQuAD and on generated texts.
//
// RANKFEED_STRESS_COUNT (environment) sets how many generated texts there are in all, 20,000 if
// unset; the long test runs 1,000,000. tests/oracle/diff_sp.py does the same with the wheel 0.2.1.
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reference/sp_texts.h"
#include "support/sanitizers.h"
#include "support/stress.h"
#include "support/engine.h"

namespace rankfeed::test {
namespace {

std::string ModelPath(const std::string& name) {
  if (name == "data/default.model") {
    const char* source = std::getenv("RANKFEED_SOURCE_DIR");
    const std::string path = std::string(source != nullptr ? source : ".") + "/" + name;
    return std::ifstream(path).good() ? path : std::string();
  }
  return sp_test::SharedData(name);
}

size_t StressCount() {
  const char* count = std::getenv("RANKFEED_STRESS_COUNT");
  return Scaled(count != nullptr ? std::strtoull(count, nullptr, 10) : 20000);
}

// A model on both sides; compiled once for all tests.
struct Sides {
  explicit Sides(const std::string& bytes)
      : engine(bytes, 4u << 20, 1u << 20, RANKFEED_PARITY_SENTENCEPIECE_0_2_1) {
    loaded = library.LoadFromSerializedProto(bytes).ok();
    if (!loaded) return;
    for (int id = 0; id < library.GetPieceSize();
         id += std::max(1, library.GetPieceSize() / 4000)) {
      if (!library.IsControl(id) && !library.IsUnknown(id)) pieces.push_back(library.IdToPiece(id));
    }
  }
  bool loaded = false;
  sentencepiece::SentencePieceProcessor library;
  TestEngine engine;
  std::vector<std::string> pieces;
};

class SpParity : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = ModelPath(GetParam());
    if (path.empty()) GTEST_SKIP() << GetParam() << " is not there: nothing was compared";
    static std::map<std::string, std::unique_ptr<Sides>> models;
    std::unique_ptr<Sides>& sides = models[path];
    if (sides == nullptr) sides = std::make_unique<Sides>(sp_test::ReadFile(path));
    ASSERT_TRUE(sides->loaded) << path;
    library_ = &sides->library;
    engine_ = &sides->engine;
    pieces_ = &sides->pieces;
  }

  Encoding Library(const std::string& text) const {
    Encoding out;
    const auto result = library_->EncodeAsImmutableProto(text);
    for (size_t i = 0; i < result.pieces_size(); i++) {
      const auto piece = result.pieces(static_cast<int>(i));
      out.ids.push_back(static_cast<int32_t>(piece.id()));
      out.begin.push_back(piece.begin());
      out.end.push_back(piece.end());
    }
    return out;
  }

  bool Differs(const std::string& text) { return engine_->Encode(text) != Library(text); }

  // A small part of text that still differs: drops halves, quarters, ... bytes.
  std::string Reduce(std::string text) {
    for (size_t size = std::max<size_t>(text.size() / 2, 1);;
         size = std::max<size_t>(size / 2, 1)) {
      bool changed = false;
      for (size_t at = 0; at < text.size();) {
        std::string shorter = text;
        shorter.erase(at, size);
        if (Differs(shorter)) {
          text = shorter;
          changed = true;
        } else {
          at += size;
        }
      }
      if (size == 1 && !changed) return text;
    }
  }

  void ExpectSame(const std::string& text) {
    const Encoding expected = Library(text), actual = engine_->Encode(text);
    if (actual != expected) {
      const std::string part = Reduce(text);
      ADD_FAILURE() << Escape(text) << "\n  engine  " << Show(actual) << "\n  library "
                    << Show(expected) << "\n  smallest " << Escape(part) << "\n  engine  "
                    << Show(engine_->Encode(part)) << "\n  library " << Show(Library(part));
      return;
    }
    std::string decoded, decoded_expected;
    ASSERT_TRUE(
        library_->Decode(std::vector<int>(expected.ids.begin(), expected.ids.end()), &decoded_expected)
            .ok());
    ASSERT_EQ(engine_->Decode(expected.ids, &decoded), RANKFEED_OK);
    ASSERT_EQ(decoded, decoded_expected) << Escape(text);
    texts_++;
  }

  sentencepiece::SentencePieceProcessor* library_ = nullptr;
  TestEngine* engine_ = nullptr;
  const std::vector<std::string>* pieces_ = nullptr;
  size_t texts_ = 0;
};

TEST_P(SpParity, Xquad) {
  for (const char* language : sp_test::kXquadLanguages) {
    const std::string path = sp_test::SharedData(std::string("xquad/") + language + ".jsonl");
    if (path.empty()) GTEST_SKIP() << "no XQuAD: nothing was compared";
    const std::vector<std::string> texts = sp_test::ReadTexts(path);
    ASSERT_FALSE(texts.empty());
    for (size_t i = 0; i < texts.size(); i += kSanitized ? 20 : SweepsAll() ? 1 : 3) {
      ExpectSame(texts[i]);
      if (HasFailure()) return;
    }
  }
  std::printf("%s: %zu XQuAD texts\n", GetParam(), texts_);
}

TEST_P(SpParity, Stress) {
  StressTexts generator(29, *pieces_);
  for (size_t i = 0; i < StressCount() / 5; i++) {
    ExpectSame(generator.Next());
    if (HasFailure()) FAIL() << "text " << i;
  }
  std::printf("%s: %zu generated texts\n", GetParam(), texts_);
}

TEST_P(SpParity, ExtraOptionsInEveryOrder) {
  if (library_->bos_id() < 0 || library_->eos_id() < 0) GTEST_SKIP() << "no bos or eos in the model";
  const std::vector<std::pair<std::string, uint8_t>> options = {{"bos", RANKFEED_SP_BOS},
                                                                {"eos", RANKFEED_SP_EOS},
                                                                {"reverse", RANKFEED_SP_REVERSE},
                                                                {"unk", RANKFEED_SP_UNK}};
  StressTexts generator(31, *pieces_);
  std::vector<std::string> texts = {"", " ", "Hello world", "a\xff\xff b"};
  for (int i = 0; i < 40; i++) texts.push_back(generator.Next());
  for (unsigned chosen = 1; chosen < 16; chosen++) {
    std::vector<unsigned> order;
    for (unsigned k = 0; k < 4; k++) {
      if (chosen >> k & 1) order.push_back(k);
    }
    do {
      std::string names;
      std::vector<uint8_t> extra;
      for (const unsigned k : order) {
        names += (names.empty() ? "" : ":") + options[k].first;
        extra.push_back(options[k].second);
      }
      ASSERT_TRUE(library_->SetEncodeExtraOptions(names).ok());
      for (const std::string& text : texts) {
        const Encoding expected = Library(text), actual = engine_->Encode(text, 0, extra);
        ASSERT_EQ(actual, expected) << names << " " << Escape(text) << "\n  engine  "
                                    << Show(actual) << "\n  library " << Show(expected);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  ASSERT_TRUE(library_->SetEncodeExtraOptions("").ok());  // the next test has the same model
}

TEST_P(SpParity, PiecesAndIds) {
  for (int id = 0; id < library_->GetPieceSize(); id++) {
    const char* data = nullptr;
    size_t size = 0;
    ASSERT_EQ(rankfeed_model_id_to_piece(engine_->model(), static_cast<uint32_t>(id), &data, &size),
              RANKFEED_OK);
    const std::string piece = library_->IdToPiece(id);
    ASSERT_EQ(std::string(data, size), piece);
    ASSERT_EQ(rankfeed_model_piece_to_id(engine_->model(), data, size), library_->PieceToId(piece));
  }
}

TEST_P(SpParity, DecodeOfRandomIds) {
  std::mt19937_64 random(37);
  for (size_t i = 0; i < Scaled(20000, 5000); i++) {
    std::vector<int32_t> ids(random() % 12);
    for (int32_t& id : ids) {
      id = static_cast<int32_t>(
          random() % static_cast<unsigned>(random() % 4 == 0 ? 8 : library_->GetPieceSize()));
    }
    std::string actual, expected;
    ASSERT_TRUE(library_->Decode(std::vector<int>(ids.begin(), ids.end()), &expected).ok());
    ASSERT_EQ(engine_->Decode(ids, &actual), RANKFEED_OK);
    ASSERT_EQ(actual, expected);
  }
  std::string text;
  EXPECT_EQ(engine_->Decode({library_->GetPieceSize()}, &text), RANKFEED_E_ID_RANGE);
  EXPECT_EQ(engine_->Decode({1, -1}, &text), RANKFEED_E_ID_RANGE);
}

INSTANTIATE_TEST_SUITE_P(Models, SpParity,
                         ::testing::Values("xlmr.model", "models/xlnet.model",
                                           "models/sp_en_1k.model", "models/sp_ja_8k.model",
                                           "data/default.model"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           name = name.substr(name.rfind('/') + 1);
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace rankfeed::test
