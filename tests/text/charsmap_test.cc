// SPDX-License-Identifier: MIT
#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rankfeed {
namespace {

// Keys "a" -> "X", "ab" -> "" and "abc" -> "long", laid out by hand: the children of a node sit at
// its offset XOR the byte, its value at the offset itself.
class CharsmapTest : public testing::Test {
 protected:
  CharsmapTest() : units_(0x500, kFree), pool_("X\0\0long\0", 8) {
    Node(0, 0x100, 0, false);
    Node(0x100 ^ 'a', 0x200, 'a', true);
    Value(0x200, 0);
    Node(0x200 ^ 'b', 0x300, 'b', true);
    Value(0x300, 2);
    Node(0x300 ^ 'c', 0x400, 'c', true);
    Value(0x400, 3);
  }
  Charsmap map() const { return Charsmap(units_, pool_); }

  std::vector<uint32_t> units_;
  std::string pool_;

 private:
  static constexpr uint32_t kFree = 0xff;  // a label that no UTF-8 text has

  void Node(uint32_t at, uint32_t children, uint32_t label, bool has_value) {
    units_[at] = (at ^ children) << 10 | (has_value ? 0x100u : 0) | label;
  }
  void Value(uint32_t at, uint32_t value) { units_[at] = 0x80000000u | value; }
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
  units_[0x200] = 0x80000000u;
  EXPECT_FALSE(map().Shortest(std::string_view("\0a", 2)));
  EXPECT_FALSE(map().Longest(std::string_view("\0a", 2)));
  EXPECT_EQ(map().Longest(std::string_view("a\0b", 3)).key_size, 1u);
}

TEST_F(CharsmapTest, ValueOutsideThePoolReplacesByNothing) {
  units_[0x200] = 0x80000000u | 1000;
  EXPECT_EQ(map().Shortest("a").key_size, 1u);
  EXPECT_EQ(map().Shortest("a").replacement, "");
}

// Run under a sanitizer this is the test of the bounds checks.
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
