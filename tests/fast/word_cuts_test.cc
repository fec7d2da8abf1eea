// SPDX-License-Identifier: MIT
#include "fast/word_cuts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rankfeed {
namespace {

using fast::WordCuts;
using Tokens = std::vector<std::pair<uint32_t, uint32_t>>;

// Returns the bits of a word's cuts between these places of tokens.
uint16_t Bits(const std::string& word, bool trims, Tokens places) {
  std::vector<uint32_t> begins, ends;
  for (const auto& [begin, end] : places) begins.push_back(begin), ends.push_back(end);
  const auto count = static_cast<uint32_t>(places.size());
  return WordCuts::Of(word, trims, {nullptr, begins.data(), ends.data(), count, count});
}

TEST(WordCuts, PlaceWhatTheyWereMadeOf) {
  struct Case {
    std::string word;
    bool trims;
    Tokens tokens;
  };
  const std::string longest(31, 'x');
  for (const Case& one : {Case{"word", false, {{0, 4}}}, {"words", false, {{0, 4}, {4, 5}}},
                          {" words", false, {{0, 5}, {5, 6}}}, {" words", true, {{1, 5}, {5, 6}}}, {" ab", true, {{1, 1}, {1, 3}}},
                          {longest, false, {{0, 1}, {1, 29}, {29, 30}, {30, 31}}}}) {
    const uint16_t bits = Bits(one.word, one.trims, one.tokens);
    ASSERT_NE(bits, 0) << one.word;
    const auto count = static_cast<uint32_t>(one.tokens.size());
    std::vector<uint32_t> begins(count + 2), ends(count + 2);
    for (const bool both : {false, true}) {
      const TokenSink sink{nullptr, begins.data(), both ? ends.data() : nullptr, count + 2, 0};
      WordCuts(bits).Place(one.word, one.trims, 100, 1, count, sink);
    }
    for (uint32_t k = 0; k < count; ++k) {
      EXPECT_EQ(begins[k + 1], 100 + one.tokens[k].first) << one.word;
      EXPECT_EQ(ends[k + 1], 100 + one.tokens[k].second) << one.word;
    }
    EXPECT_EQ(begins[0] + begins[count + 1] + ends[0] + ends[count + 1], 0u);
  }
}

TEST(WordCuts, AreNoneWhereTokensLieOtherwise) {
  EXPECT_EQ(Bits("words", false, {{0, 3}, {4, 5}}), 0);             // a byte is in none
  EXPECT_EQ(Bits("words", false, {{0, 4}}), 0);                     // nor is the last one
  EXPECT_EQ(Bits("words", false, {{1, 5}}), 0);                     // nor is the first one
  EXPECT_EQ(Bits("words", false, {{0, 4}, {3, 5}}), 0);             // one is in two
  EXPECT_EQ(Bits(" words", true, {{0, 6}}), 0);                     // the space was not taken off
  EXPECT_EQ(Bits(std::string(32, 'x'), false, {{0, 1}, {1, 32}}), 0);  // too long for a key
  EXPECT_FALSE(WordCuts(0).known());
}

}  // namespace
}  // namespace rankfeed
