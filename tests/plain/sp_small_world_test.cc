// SPDX-License-Identifier: MIT
// SentencePiece mode over small worlds: random models with every piece type, normalizer flag and
// awkward charsmap rule, and every string of a few symbols, three ways: engine, plain reference and
// libsentencepiece 0.1.97, which wins where they differ. The rule of newer releases, which no
// linked library has, two ways.
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>

#include <cstdio>
#include <random>

#include "plain/sp_from_proto.h"
#include "reference/sp_random_models.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::plain {
namespace {

using test::Encoding;
using test::Escape;
using test::Show;
using test::TestEngine;

Encoding FromReference(const SpUnigram& reference, const std::string& text) {
  Encoding out;
  for (const SpToken& token : reference.Encode(text)) {
    out.ids.push_back(static_cast<int32_t>(token.id));
    out.begin.push_back(token.begin);
    out.end.push_back(token.end);
  }
  return out;
}

Encoding FromLibrary(const sentencepiece::SentencePieceProcessor& library,
                     const std::string& text) {
  Encoding out;
  const auto result = library.EncodeAsImmutableProto(text);
  for (size_t i = 0; i < result.pieces_size(); i++) {
    const auto piece = result.pieces(static_cast<int>(i));
    out.ids.push_back(static_cast<int32_t>(piece.id()));
    out.begin.push_back(piece.begin());
    out.end.push_back(piece.end());
  }
  return out;
}

// Symbols of the models' letters, of the charsmap's keys, and bytes that are not UTF-8.
const std::vector<std::string>& Symbols() {
  static const std::vector<std::string> symbols = {"a",        "b",
                                                   "o",        " ",
                                                   "\u2581",   "A",
                                                   "e",        "\u0301",
                                                   "\u00e9",   "\u4e2d",
                                                   "\uff76",   "\uff9e",
                                                   "\x01",     "\x02",
                                                   "\t",       "\u00a0",
                                                   "\xe4\xb8", "\xff",
                                                   "x",        "\U0001f600",
                                                   "<sep>",    std::string(1, '\0')};
  return symbols;
}

TEST(SpSmallWorld, EngineReferenceAndLibraryAgree) {
  std::mt19937_64 random(5);
  size_t strings = 0, models = 0;
  for (size_t w = 0; w < Scaled(150); w++) {
    const sp_test::ModelProto proto = sp_test::RandomModel(random);
    const std::string bytes = Serialize(proto);
    sentencepiece::SentencePieceProcessor library;
    if (!library.LoadFromSerializedProto(bytes).ok()) continue;
    models++;
    TestEngine engine(bytes, 1u << 16, 1u << 16, RANKFEED_PARITY_SENTENCEPIECE_0_2_1);
    const SpUnigram reference(FromProto(proto, SpRelease::k0_2_1));
    TestEngine newest_engine(bytes);
    const SpUnigram newest(FromProto(proto, SpRelease::k0_2_2));
    // Four symbols of this world, all strings of up to four of them, and longer ones at random.
    std::vector<std::string> alphabet;
    for (int i = 0; i < 4; i++) alphabet.push_back(Symbols()[random() % Symbols().size()]);
    std::vector<std::string> texts = {""};
    for (size_t first = 0, round = 0; round < 4; round++) {
      const size_t last = texts.size();
      for (; first < last; first++) {
        for (const std::string& symbol : alphabet) texts.push_back(texts[first] + symbol);
      }
    }
    for (int i = 0; i < 30; i++) {
      std::string text;
      for (size_t k = random() % 20; k > 0; k--) text += Symbols()[random() % Symbols().size()];
      texts.push_back(text);
    }
    for (const std::string& text : texts) {
      const Encoding expected = FromLibrary(library, text);
      const Encoding actual = engine.Encode(text);
      const Encoding plain = FromReference(reference, text);
      ASSERT_EQ(plain, expected) << "world " << w << " text " << Escape(text) << "\n  reference "
                                 << Show(plain) << "\n  library   " << Show(expected);
      ASSERT_EQ(actual, expected) << "world " << w << " text " << Escape(text) << "\n  engine  "
                                  << Show(actual) << "\n  library " << Show(expected);
      const Encoding wanted = FromReference(newest, text), got = newest_engine.Encode(text);
      ASSERT_EQ(got, wanted) << "world " << w << " text " << Escape(text)
                             << ", newest rule\n  engine    " << Show(got) << "\n  reference "
                             << Show(wanted);
      strings++;
    }
  }
  std::printf("%zu models, %zu strings\n", models, strings);
  EXPECT_GT(models, Scaled(150) / 2);
}

}  // namespace
}  // namespace rankfeed::plain
