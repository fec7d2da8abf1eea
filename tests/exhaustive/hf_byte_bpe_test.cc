// SPDX-License-Identifier: MIT
// Every short word of letters of one to four bytes, some of which words are cut between and some not, under small
// byte-level BPE vocabularies in which merges reach none, some, half or all of the pieces, with and without
// ignore_merges: ids and offsets of both roads against plain code.
#include <gtest/gtest.h>

#include <cstdio>

#include "exhaustive/worlds.h"
#include "support/byte_bpe.h"
#include "support/sanitizers.h"
#include "support/engine.h"

namespace rankfeed::exhaustive {
namespace {

using test::ByteBpe;
using test::Encoding;
using test::Escape;
using test::Show;
using test::TestEngine;

struct World {
  std::vector<std::string> letters;
  std::vector<std::string> pieces;  // beside the letters
};

// Words are cut beside α, β, ก, ข, 中, 国 and 人 where no piece holds both neighbours, beside the others never.
const std::vector<World>& Worlds() {
  static const std::vector<World> worlds = {
      {{"a", "é", "中", "国", "𠀀", "α"}, {"中国", "a中", "中中a", " 国", "国α", "αé"}},
      {{"a", "д", "α", "β", "ก", "ข"}, {"αβ", "กข", " αα", "กขก", "дก", "ขa"}},
      {{"中", "国", "人", "ก", "α", "𐐨"}, {"中国", "国人", " 中国", "人人中", "กα", "𐐨中"}}};
  return worlds;
}

enum Reached { kNone, kSome, kHalf, kAll };

// Some: the letters; half: every other piece too; all: all pieces, words first as their letters are.
ByteBpe Vocabulary(const World& world, Reached reached, bool ignore_merges) {
  ByteBpe model(ignore_merges);
  const auto cut = [](const std::string& piece) {
    const size_t last = utf8::Previous(piece, piece.size());
    return last != 0 ? last : piece.size() - 1;
  };
  const auto add = [&](const std::string& piece, bool is_reached) {
    is_reached ? model.Make(piece, cut) : model.Add(piece);
  };
  for (const std::string& letter : world.letters) add(letter, reached >= kSome);
  for (size_t i = 0; i < world.pieces.size(); ++i) {
    add(world.pieces[i], reached == kAll || (reached == kHalf && i % 2 == 0));
  }
  return model;
}

Encoding Expected(const plain::HfBpe& plain, const std::vector<std::string>& splits) {
  Encoding all;
  uint32_t at = 0;
  for (const std::string& split : splits) {
    for (const plain::HfToken& token : ByteBpe::Encode(plain, split)) {
      all.ids.push_back(static_cast<int32_t>(token.id));
      all.begin.push_back(at + token.begin);
      all.end.push_back(at + token.end);
    }
    at += static_cast<uint32_t>(split.size());
  }
  return all;
}

class HfByteBpe : public ::testing::TestWithParam<size_t> {
 protected:
  // splits: of one text.
  void Check(const plain::HfBpe& plain, TestEngine* engine, const std::vector<std::string>& splits) {
    std::string text;
    for (const std::string& split : splits) text += split;
    const Encoding wanted = Expected(plain, splits);
    for (int round = 0; round < 2; ++round) {  // the second finds what the first has kept
      const Encoding got = engine->Encode(text);
      ASSERT_EQ(got, wanted) << Escape(text) << "\n  " << Show(got) << "\n  " << Show(wanted);
      ASSERT_EQ(engine->Ids(text), wanted.ids) << Escape(text);
    }
  }
};

TEST_P(HfByteBpe, EncodesEveryShortWordAsMergesDo) {
  const World& world = Worlds()[GetParam()];
  const auto words = Sequences(world.letters, kSanitized ? 3 : SweepsAll() ? 7 : 5);
  for (const Reached reached : {kNone, kSome, kHalf, kAll}) {
    for (const bool ignore_merges : {true, false}) {
      const ByteBpe model = Vocabulary(world, reached, ignore_merges);
      SCOPED_TRACE(model.File());
      const plain::HfBpe plain = model.Plain();
      TestEngine fast(model.File(), 1 << 17), general(model.File(), 1 << 17);
      ASSERT_TRUE(fast.encoder()->has_fast_road());
      general.LeaveFastRoad();
      std::vector<std::string> splits;  // of a text of several blocks, whose words are found by masks
      for (const std::string& word : words) {
        Check(plain, &fast, {word});
        Check(plain, &general, {word});
        if (HasFatalFailure()) return;
        splits.push_back(" " + word);
        if (splits.size() < 1000 && &word != &words.back()) continue;
        Check(plain, &fast, splits);
        if (HasFatalFailure()) return;
        splits.clear();
      }
      // Words that are too long for a key.
      for (const std::string& word : Sequences(world.letters, 3)) {
        std::string many = " ";
        for (int i = 0; i < 12; ++i) many += word;
        Check(plain, &fast, {many});
        Check(plain, &fast, {many, many + world.letters[2], many});
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, HfByteBpe, ::testing::Range(size_t{0}, Worlds().size()));

}  // namespace
}  // namespace rankfeed::exhaustive
