// SPDX-License-Identifier: MIT
// Sums that lose bits: the fast path, the general path and a plain reference agree on texts of near
// ties whose score passes the threshold that SentencePiece rebases at, several times and at every
// kind of place. Vocabularies are small, with scores from usual ones up to some that pass it with a
// few pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <set>

#include "base/utf8.h"
#include "fast/engine.h"
#include "fast/word_forms.h"
#include "image/model.h"
#include "models/unigram/exactness.h"
#include "plain/sp_from_proto.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using fast_test::Encode;
using fast_test::Image;
using fast_test::Make;
using fast_test::OnEveryIsa;

constexpr const char* kLetters[] = {"a", "b", "o", "s", "\u4e2d", "\u0e01"};

size_t Characters(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !utf8::IsContinuation(c); }));
}

// Scores are few different ones, so that many paths tie but for rounding.
sp_test::ModelProto RandomModel(std::mt19937_64& random, float scale) {
  sp_test::ModelProto model;
  model.AddSpecials();
  const auto score = [&] { return -scale * (3.1f + 0.37f * static_cast<float>(random() % 9)); };
  model.Add("\u2581", score());
  model.Add("zyxwvutr", score());  // characters enough for the fast path, in no text
  std::set<std::string> texts;
  for (size_t i = 6 + random() % 40; i > 0; --i) {
    std::string text(random() % 3 == 0 ? "\u2581" : "");
    const size_t kind = random() % 3;
    for (size_t k = 1 + random() % (kind == 0 ? 1 : 4); k > 0; --k) {
      text += kLetters[kind == 1 ? random() % 2 : random() % 6];
    }
    texts.insert(text);
  }
  for (const std::string& text : texts) {
    if (text != "\u2581" && Characters(text) <= image::kMaxSegmentPieceChars) model.Add(text, score());
  }
  return model;
}

// Repetitions, unknown characters, long and short words.
std::string Text(std::mt19937_64& random, size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    const std::string letter = random() % 20 == 0 ? "?" : kLetters[random() % 6];
    for (size_t n = 1 + random() % (random() % 30 == 0 ? 200 : 7); n > 0; --n) text += letter;
    if (random() % 3 != 0) text += ' ';
  }
  return text;
}

std::vector<int32_t> Reference(const plain::SpUnigram& plain, const std::string& text) {
  std::vector<int32_t> ids;
  for (const plain::SpToken& token : plain.Encode(text)) {
    ids.push_back(static_cast<int32_t>(token.id));
  }
  return ids;
}

TEST(Exactness, PathsAndReferenceAgreeAcrossTheRebasingThreshold) {
  std::mt19937_64 random(23);
  size_t differing = 0, texts = 0;
  const size_t rounds = Scaled(150, 75);
  for (size_t round = 0; round < rounds; ++round) {
    const float scale = std::ldexp(1.0f, static_cast<int>(round % 5) * 4);  // 1 ... 65536
    const sp_test::ModelProto proto = RandomModel(random, scale);
    const std::string file = Serialize(proto);
    std::vector<std::vector<int32_t>> by_release;
    const std::string text = Text(random, scale == 1 ? 60000 : 12000 / (round % 3 + 1));
    for (const auto& [parity, release] :
         {std::pair{RANKFEED_PARITY_SENTENCEPIECE, plain::SpRelease::k0_2_2},
          std::pair{RANKFEED_PARITY_SENTENCEPIECE_0_2_1, plain::SpRelease::k0_2_1}}) {
      const Image image(file, parity);
      ASSERT_TRUE(fast::Available(*image.model()));
      const std::vector<int32_t> expected =
          Reference(plain::SpUnigram(plain::FromProto(proto, release)), text);
      Encoder plain = Make(image.model(), true, 0);
      ASSERT_EQ(Encode(plain, text, 0), expected) << "round " << round << " parity " << parity;
      const auto number = parity;  // clang 14 captures no structured binding
      OnEveryIsa(image.model(), [&](Encoder& fast) {
        ASSERT_EQ(Encode(fast, text, 0), expected) << "round " << round << " parity " << number;
      });
      by_release.push_back(expected);
      ++texts;
    }
    differing += by_release[0] != by_release[1];
  }
  std::printf("%zu texts; the releases differ on %zu\n", texts, differing);
  EXPECT_GT(differing, rounds / 8);
}

// No segment is settled whose path, or one beside it, may pass the threshold.
TEST(Exactness, WeightsOfRebasedSumsLeaveRoomForTheWayInside) {
  constexpr double kUnit = 1.0 / 65536;
  for (const double unk : {-10.5, -24.6, -900.0, -70000.0, -5e8}) {
    const unigram::ExactnessRule rule(kUnit, unigram::ScoreSums::kFloat32Rebased, unk);
    for (const uint32_t chars : {1u, 2u, 53u, 54u, 300u, 4000u}) {
      for (const double score : {0.0, -1.0, -300.0, -40000.0, -98000.0}) {
        for (const double before : {0.0, -5000.0, -60000.0, -98000.0, -98689.0, -99999.0}) {
          const image::PathInfo info =
              rule.Make(static_cast<uint64_t>(-score / kUnit), rule.most_margin(), 1, chars);
          const uint64_t sum = rule.Accumulated(before) + info.score_bound;
          if (sum >> info.exact_below != 0) continue;  // not settled
          EXPECT_LT(-before - unk * chars, unigram::kRebaseBeyond) << unk << " " << chars;
          EXPECT_LT(-before - score, unigram::kRebaseBeyond) << score << " " << before;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rankfeed
