// SPDX-License-Identifier: MIT
#include "normalize/charsmap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "normalize/charsmap_builder.h"

namespace rankfeed {
namespace {

class CharsmapTest : public testing::Test {
 protected:
  Charsmap map() const { return Charsmap(built_.units(), built_.pool()); }
  CharsmapBuilder built_{{{"a", "X"}, {"ab", ""}, {"abc", "long"}}};
};

TEST_F(CharsmapTest, ShortestAndLongest) {
  const CharsmapMatch shortest = map().Shortest("abcd");
  EXPECT_EQ(shortest.key_size, 1u);
  EXPECT_EQ(shortest.replacement, "X");
  const CharsmapMatch longest = map().Longest("abcd");
  EXPECT_EQ(longest.key_size, 3u);
  EXPECT_EQ(longest.replacement, "long");
  EXPECT_EQ(map().Longest("abd").key_size, 2u);
  EXPECT_EQ(map().Longest("abd").replacement, "");
  EXPECT_FALSE(map().Longest("ba"));
  EXPECT_FALSE(map().Shortest(""));
  EXPECT_FALSE(Charsmap().Longest("a"));
}

TEST_F(CharsmapTest, NulEndsOnlyTheShortestWalk) {
  EXPECT_FALSE(map().Shortest(std::string_view("\0a", 2)));
  EXPECT_FALSE(map().Longest(std::string_view("\0a", 2)));
  EXPECT_EQ(map().Longest(std::string_view("a\0b", 3)).key_size, 1u);
}

TEST_F(CharsmapTest, ValueOutsideThePoolReplacesByNothing) {
  built_.units()[built_.ValueAt("a")] = 0x80000000u | 1000;
  EXPECT_EQ(map().Shortest("a").key_size, 1u);
  EXPECT_EQ(map().Shortest("a").replacement, "");
}

// Run under a sanitizer this is the test of the bounds checks.
// A forged image may hold units that lead in circles.
TEST(Charsmap, WalkInACircleEndsAtTheLongestKeyThereMayBe) {
  // 256 units that all lead to themselves: every byte matches for ever, and a key ends at each.
  std::vector<uint32_t> units(256);
  for (uint32_t label = 0; label < 256; ++label) units[label] = label << 10 | 0x100 | label;
  const std::string text(1 << 20, 'a'), pool("x", 2);
  const CharsmapMatch match = Charsmap(units, pool).Longest(text);
  EXPECT_EQ(match.key_size, kMaxCharsmapKeyBytes);
}

TEST(Charsmap, AnyUnitsAreSafe) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint32_t> units(random() % 64);
    for (uint32_t& u : units) u = (random() & 0x800003ff) | (random() % 64) << 10;
    const std::string pool(random() % 4, 'x');
    std::string text(random() % 8, '\0');
    for (char& c : text) c = static_cast<char>(random() % 64);
    const Charsmap map(units, pool);
    EXPECT_LE(map.Longest(text).key_size, text.size());
    EXPECT_LE(map.Shortest(text).key_size, map.Longest(text).key_size);
  }
}

}  // namespace
}  // namespace rankfeed
