// SPDX-License-Identifier: MIT
// Exhaustive small worlds: every string of an alphabet under every listed vocabulary. SentencePiece
// mode against libsentencepiece 0.1.97 and the plain reference, HuggingFace mode against the plain
// reference (which tests/oracle compares with the wheel). Ids and offsets.
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>

#include "exhaustive/sp_encodings.h"
#include "exhaustive/worlds.h"
#include "plain/hf_unigram.h"
#include "plain/sp_from_proto.h"
#include "reference/sp_model_proto.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::exhaustive {
namespace {

using test::Encoding;
using test::Escape;
using test::Show;
using test::TestEngine;

class Exhaustive : public ::testing::TestWithParam<size_t> {
 protected:
  Exhaustive() : strings_(AllStrings(alphabet())), vocabularies_(Vocabularies(alphabet())) {}

  static const Alphabet& alphabet() { return Alphabets()[GetParam()]; }

  // Which vocabularies a run leaves out: three in five, under a sanitizer all but one in seventeen, in the long suite none.
  // What takes turns by threes and fours below is left whole.
  static bool Skipped(size_t vocabulary) {
    if (kSanitized) return vocabulary % 17 != 0;
    return !SweepsAll() && vocabulary % 5 > 1;
  }

  void Report(const char* mode) const {
    std::printf("%s, alphabet %s: %zu vocabularies, %zu comparisons\n", mode,
                alphabet().name.c_str(), vocabularies_.size(), compared_);
  }

  std::vector<std::string> strings_;
  std::vector<Vocabulary> vocabularies_;
  size_t compared_ = 0;
};

// ---- SentencePiece ----

sp_test::ModelProto ToProto(const Vocabulary& vocabulary) {
  sp_test::ModelProto model;
  model.AddSpecials();
  for (const Piece& piece : vocabulary.pieces) {
    model.Add(piece.text, piece.score,
              piece.kind == Kind::kNormal        ? sp_test::kNormal
              : piece.kind == Kind::kUserDefined ? sp_test::kUserDefined
                                                 : sp_test::kUnused);
  }
  if (vocabulary.byte_fallback) model.AddBytes();
  return model;
}

TEST_P(Exhaustive, SentencePiece) {
  for (size_t v = 0; v < vocabularies_.size(); ++v) {
    if (Skipped(v)) continue;
    sp_test::ModelProto proto = ToProto(vocabularies_[v]);
    // The normalizer's flags take turns; the first setting is the default.
    if (v % 4 == 1) proto.normalizer.add_dummy_prefix = false;
    if (v % 4 == 2) proto.normalizer.remove_extra_whitespaces = false;
    if (v % 4 == 3) proto.treat_whitespace_as_suffix = true;
    const std::string bytes = sp_test::Serialize(proto);
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.LoadFromSerializedProto(bytes).ok()) << vocabularies_[v].name;
    const plain::SpUnigram plain(plain::FromProto(proto, plain::SpRelease::k0_2_1));
    TestEngine engine(bytes, /*max_text_bytes=*/64, /*cache_bytes=*/0,
                      RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
    TestEngine general(bytes, 64, 0, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
    general.LeaveFastRoad();
    const plain::SpUnigram newest(plain::FromProto(proto, plain::SpRelease::k0_2_2));
    TestEngine newest_engine(bytes, /*max_text_bytes=*/64, /*cache_bytes=*/0,
                             RANKFEED_PARITY_SENTENCEPIECE);
    for (const std::string& text : strings_) {
      const Encoding expected = FromLibrary(library, text);
      const Encoding reference = FromReference(plain, text);
      const Encoding actual = engine.Encode(text);
      ASSERT_EQ(reference, expected)
          << vocabularies_[v].name << ", text " << Escape(text) << "\n  reference "
          << Show(reference) << "\n  library   " << Show(expected);
      ASSERT_EQ(actual, expected) << vocabularies_[v].name << ", text " << Escape(text)
                                  << "\n  engine  " << Show(actual) << "\n  library "
                                  << Show(expected);
      ASSERT_EQ(general.Encode(text), expected) << vocabularies_[v].name << ", " << Escape(text);
      // No library with the newest rule is linked: tests/oracle compares it with the wheel.
      const Encoding wanted = FromReference(newest, text), got = newest_engine.Encode(text);
      ASSERT_EQ(got, wanted) << vocabularies_[v].name << ", text " << Escape(text)
                             << ", newest rule\n  engine    " << Show(got) << "\n  reference "
                             << Show(wanted);
      ++compared_;
    }
  }
  Report("SentencePiece");
}

// ---- HuggingFace ----

// HuggingFace knows no piece types, so every piece is one; every third comes a second time with
// another score, and the last of equal pieces counts.
struct HfWorld {
  std::vector<std::pair<std::string, double>> pieces;
  bool byte_fallback = false;

  // Six digits: serde_json, which the engine follows, rounds such a number only once, as strtod
  // does. (Longer ones are the subject of builder/serde_number_test.cc.)
  static std::string Number(double score) {
    char number[40];
    std::snprintf(number, sizeof(number), "%.6g", score);
    return number;
  }
  void Add(const std::string& text, double score) {
    pieces.emplace_back(text, std::strtod(Number(score).c_str(), nullptr));
  }
};

HfWorld ToHf(const Vocabulary& vocabulary) {
  HfWorld world;
  world.byte_fallback = vocabulary.byte_fallback;
  world.Add("<unk>", 0.0);
  for (const Piece& piece : vocabulary.pieces) world.Add(piece.text, piece.score);
  for (size_t i = 0; i < vocabulary.pieces.size(); i += 3) {
    world.Add(vocabulary.pieces[i].text, vocabulary.pieces[i].score - 0.7);
  }
  if (vocabulary.byte_fallback) {
    for (int b = 0; b < 256; ++b) {
      char name[8];
      std::snprintf(name, sizeof(name), "<0x%02X>", b);
      world.Add(name, 0.0);
    }
  }
  return world;
}

std::string ToJson(const HfWorld& world, const std::string& pre_tokenizer) {
  std::string vocab;
  for (const auto& [text, score] : world.pieces) {
    // Texts need no escapes.
    vocab += (vocab.empty() ? "[[\"" : ",[\"") + text + "\"," + HfWorld::Number(score) + "]";
  }
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,)"
         R"("pre_tokenizer":)" +
         pre_tokenizer +
         R"(,"post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,)" +
         R"("byte_fallback":)" + (world.byte_fallback ? "true" : "false") + R"(,"vocab":)" + vocab +
         "]}}";
}

enum Form : size_t { kWhole = 0, kMetaspace = 1, kMetaspaceSplit = 2 };

std::string PreTokenizer(size_t form) {
  if (form == kWhole) return "null";
  return std::string(
             R"({"type":"Metaspace","replacement":"\u2581","prepend_scheme":"always","split":)") +
         (form == kMetaspaceSplit ? "true}" : "false}");
}

// Metaspace(always): U+0020 becomes U+2581 and one is put in front; with split each begins a
// pre-token of its own.
std::vector<std::string> PreTokenize(const std::string& text, size_t form) {
  if (text.empty()) return {};
  if (form == kWhole) return {text};
  static const std::string kSymbol = "\xe2\x96\x81";
  std::string all;
  for (const char c : text) all += c == ' ' ? kSymbol : std::string(1, c);
  if (all.compare(0, kSymbol.size(), kSymbol) != 0) all = kSymbol + all;
  if (form == kMetaspace) return {all};
  std::vector<std::string> splits;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find(kSymbol, begin + 1), all.size());
    splits.push_back(all.substr(begin, end - begin));
    begin = end;
  }
  return splits;
}

TEST_P(Exhaustive, HuggingFace) {
  for (size_t v = 0; v < vocabularies_.size(); ++v) {
    if (Skipped(v)) continue;
    const HfWorld world = ToHf(vocabularies_[v]);
    const plain::HfUnigram plain(world.pieces, 0u, world.byte_fallback);
    const size_t form = v % 3;  // take turns
    TestEngine engine(ToJson(world, PreTokenizer(form)), /*max_text_bytes=*/64,
                      /*cache_bytes=*/v % 2 == 0 ? 0 : 4096);
    for (const std::string& text : strings_) {
      Encoding expected;
      for (const std::string& split : PreTokenize(text, form)) {
        const auto tokens = plain.Encode(split);
        ASSERT_TRUE(tokens.has_value());
        for (const plain::HfToken& token : *tokens) {
          expected.ids.push_back(static_cast<int32_t>(token.id));
          expected.begin.push_back(token.begin);
          expected.end.push_back(token.end);
        }
      }
      Encoding actual = engine.Encode(text);
      if (form != kWhole) {  // the reference's offsets are in the changed text
        actual.begin = expected.begin;
        actual.end = expected.end;
      }
      ASSERT_EQ(actual, expected) << vocabularies_[v].name << ", form " << form << ", text "
                                  << Escape(text) << "\n  engine    " << Show(actual)
                                  << "\n  reference " << Show(expected);
      ++compared_;
    }
  }
  Report("HuggingFace");
}

INSTANTIATE_TEST_SUITE_P(Alphabets, Exhaustive, ::testing::Values(size_t{0}, size_t{1}, size_t{2}),
                         [](const auto& test) { return Alphabets()[test.param].name; });

}  // namespace
}  // namespace rankfeed::exhaustive
