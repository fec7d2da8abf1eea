// SPDX-License-Identifier: MIT
// Batches that are full: what does not fit goes on in the next one, be that in the middle of a
// segment, of a character that becomes several, or of what a group of characters becomes. Encoders
// of this test have little room for a search, so that a few hundred bytes fill it; texts of many
// times the length go through the same places otherwise.
#include <gtest/gtest.h>

#include <random>
#include <span>

#include "fast/word_forms.h"
#include "models/spans.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

constexpr uint32_t kRoom = 512;
static_assert(kRoom < SpanBatch::kCapacity);

// An encoder of the fast road whose batches are full soon.
Encoder MakeSmall(const rankfeed_model* model, uint32_t cache_bytes, bool offsets = false) {
  auto encoder = Encoder::Create(model, 1 << 16, offsets, cache_bytes);
  EXPECT_TRUE(encoder) << encoder.error().message;
  encoder->get()->scratch.unigram.kind.paths.search.set_room(kRoom);
  return std::move(*encoder);
}

// Characters that become several codes, words, others, or none; marks; what ends a segment or does
// not; characters of scripts that are cut everywhere.
const char* const kAtoms[] = {"a",          "bc",
                              "the",        "x",
                              " ",          "  ",
                              "\n",         "\r\n",
                              "\t",         ".",
                              ",",          "!",
                              "<",          "(",
                              "0",          "7",
                              "\u00a0",     "\u2581",
                              "\u3000",     "\u200b",
                              "\u0001",     "\u0600",
                              "\u00ad",     "\ufdfa",
                              "\ufe70",     "\u3388",
                              "\u33a8",     "\u00bd",
                              "\u0344",     "\ufb01",
                              "\u2026",     "\u2167",
                              "\u00bc",     "e\u0301",
                              "\u0301",     "\u0323\u0307",
                              "\u0338",     "=\u0338",
                              "\u0f77",     "\u2a0c",
                              "\u1112",     "\u1161\u11a8",
                              "\u00e9",     "\u0434",
                              "\u05d0",     "\u0e01\u0e33",
                              "\u4e2d",     "\u6587\u5b57",
                              "\u3042",     "\uac00",
                              "\U0001f600", "\U00020000",
                              "</s>",       "<unk>",
                              "\xff",       "\xe4\xb8",
                              "``",         "''"};

// A few atoms again and again: what fills a batch is a run of one of them, and what comes before
// and behind it is most often nothing, a space, or what becomes nothing.
std::string FillingText(std::mt19937_64& random) {
  const char* atoms[4] = {" ", "\u3000"};
  for (size_t i = 1 + random() % 2; i < 4; ++i) atoms[i] = kAtoms[random() % std::size(kAtoms)];
  std::string text;
  for (size_t runs = 1 + random() % 6; runs > 0; --runs) {
    const std::string atom = atoms[random() % std::size(atoms)];
    const size_t times = random() % 3 == 0 ? random() % 700 : 1 + random() % 3;
    for (size_t i = 0; i < times; ++i) text += atom;
  }
  return text;
}

class FullBatches : public EachForm {};
RANKFEED_EACH_FORM(FullBatches);

TEST_P(FullBatches, IdsAndOffsetsEqualThoseOfTheGeneralPath) {
  Encoder plain = Make(model(), true, 0);
  Encoder fast = MakeSmall(model(), 4096);
  Encoder with_offsets = MakeSmall(model(), 0, /*offsets=*/true);
  std::mt19937_64 random(29);
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  for (int round = 0; round < static_cast<int>(Sampled(200)); ++round) {
    const std::string text = FillingText(random);
    Encoding expected, encoding;
    ASSERT_FALSE(plain.Encode(text, options, &expected));
    ASSERT_EQ(Encode(fast, text, 0), expected.input_ids) << testing::PrintToString(text);
    ASSERT_FALSE(with_offsets.Encode(text, options, &encoding));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(encoding, expected, text));
  }
}

// What is read together with marks behind it, and marks; what may end a span before those, and what
// joins all that is next to it.
const char* const kJoined[] = {
    "a",      "e",          "<",      "=",      ">",      "k",      "3",      ")",      "bc",
    "\u0301", "\u0338",     "\u0323", "\u0308", "\u0344", "\u3099", "\u2057", "\u00e9", "\u00bd",
    "\ufdfa", "\u304b",     "\u1112", "\u1161", "\u11a8", "\uac00", "\u0600", "\u0f77", "\u2a0c",
    "\u0e33", "\U0001f468", "\u200d", "\u200b", "\u00ad", "\u0434", "\u4e2d", "\u2026", "\u00bc"};

// A few of them in any order, with hardly a place to cut a stretch at: groups of characters go over
// the ends of batches and spans, and become what spans may not end next to.
std::string JoinedText(std::mt19937_64& random) {
  const char* atoms[6];
  const size_t count = 2 + random() % 5;
  for (size_t i = 0; i < count; ++i) atoms[i] = kJoined[random() % std::size(kJoined)];
  const uint64_t spaces = random() % 3 == 0 ? 100 : ~uint64_t{0};
  std::string text;
  for (size_t left = random() % (random() % 2 == 0 ? 200 : 1500); left > 0; --left) {
    text += random() % spaces == 0 ? " " : atoms[random() % count];
  }
  return text;
}

TEST_P(FullBatches, GroupsAtTheirEndsAreWhatTheyAreElsewhere) {
  Encoder plain = Make(model(), true, 0);
  Encoder fast = MakeSmall(model(), 4096);
  std::mt19937_64 random(31);
  for (int round = 0; round < static_cast<int>(Sampled(300)); ++round) {
    const std::string text = JoinedText(random);
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
  }
}

// Nor do they take a text to the general path, also where a span was cut before one. Where signs are
// isolated, one with a mark does.
TEST_P(FullBatches, TextsOfGroupsStayOnTheFastRoad) {
  if (!IsOneOf({"A", "B", "DeBERTa", "DeBERTa, punctuation", "A, punctuation"})) return;
  const char* const atoms[] = {")", "\u2057", "<\u0301", "\u2057<\u0301", "\u0301", "<"};
  const char* const signs[] = {"\u2057", "<\u0301", "a&\u0301", "\u2057=\u0338", "b=\u0338", "'"};
  const auto text = [](std::span<const char* const> of, std::mt19937_64& random) {
    std::string all;
    while (all.size() < 4000) all += of[random() % of.size()];
    return all;
  };
  std::mt19937_64 random(37 + GetParam());
  Encoder plain = Make(model(), true, 0);
  Encoder fast = MakeSmall(model(), 4096);
  for (uint32_t round = 0; round < 20; ++round) {
    const std::string all = text(round % 2 == 0 ? std::span(atoms) : std::span(signs), random);
    EXPECT_EQ(Encode(fast, all, 0), Encode(plain, all, 0));
  }
  if (form().name.ends_with("punctuation")) return;
  EXPECT_EQ(fast.Roads()[RANKFEED_REASON_NONE].texts, 20u);
}

// One text too long for a batch of segments, where a part that waits is only a first character.
TEST_P(FullBatches, ASegmentMayEndABatchWithinItsFirstCharacter) {
  if (!IsOneOf({"SentencePiece", "SentencePiece no prefix"})) return;
  Encoder plain = Make(model(), true, 0);
  Encoder fast = MakeSmall(model(), 0);
  for (size_t letters = 0; letters < 600; ++letters) {
    for (const char* end : {" b", "\u00a0", " \u200b", ""}) {
      const std::string text = std::string(letters, 'a') + " \ufdfa\ufe70a\u0301" + end;
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << letters << end;
    }
  }
}

}  // namespace
}  // namespace rankfeed
