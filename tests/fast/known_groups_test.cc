// SPDX-License-Identifier: MIT
#include "fast/known_groups.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace rankfeed::fast {
namespace {

using Codes = std::vector<uint16_t>;
const Codes kNothing = {0xffff};

class KnownGroupsTest : public testing::Test {
 protected:
  KnownGroupsTest() { std::memset(static_cast<void*>(memory_.get()), 0xa5, sizeof(*memory_)); }
  Codes Found(const std::string& group) {
    const KnownGroups::Entry* const entry = groups_.Find(group);
    return entry != nullptr ? Codes(entry->codes, entry->codes + entry->count) : kNothing;
  }

  std::unique_ptr<KnownGroups::Memory> memory_ = std::make_unique<KnownGroups::Memory>();
  KnownGroups groups_{memory_.get()};
};

TEST_F(KnownGroupsTest, FindsWhatWasKeptAndNothingElse) {
  EXPECT_EQ(Found("k\u0301"), kNothing);  // whatever the memory held before
  groups_.Keep("k\u0301", Codes{17});
  EXPECT_EQ(Found("k\u0301"), Codes{17});
  EXPECT_EQ(Found("k\u0300"), kNothing);
  EXPECT_EQ(Found("k"), kNothing);
  groups_.Keep("\u00ad", Codes{});
  EXPECT_EQ(Found("\u00ad"), Codes{});
}

// Zeros at the end are no end.
TEST_F(KnownGroupsTest, TellsGroupsThatDifferInZerosOnly) {
  groups_.Keep("a", Codes{1});
  EXPECT_EQ(Found(std::string("a\0", 2)), kNothing);
  groups_.Keep(std::string("a\0", 2), Codes{2});
  EXPECT_EQ(Found(std::string("a\0\0", 3)), kNothing);
}

TEST_F(KnownGroupsTest, KeepsWhatFits) {
  const Codes most(KnownGroups::kMaxCodes, 3), more(KnownGroups::kMaxCodes + 1, 4);
  groups_.Keep("12345678", most);
  EXPECT_EQ(Found("12345678"), most);
  groups_.Keep("12345678", more);
  EXPECT_EQ(Found("12345678"), most);
  groups_.Keep("123456789", Codes{5});
  EXPECT_EQ(Found("123456789"), kNothing);
}

// More groups than places: a later one takes an earlier one's, and neither is taken for the other.
TEST_F(KnownGroupsTest, NeverMistakesOneForAnother) {
  for (int round = 0; round < 2; ++round) {
    uint32_t kept = 0;
    for (uint16_t i = 0; i < 1000; ++i) {
      const std::string group = std::to_string(i);
      const Codes wanted = {i, 0, i}, found = Found(group);
      EXPECT_TRUE(found == wanted || found == kNothing) << group;
      kept += found == wanted;
      groups_.Keep(group, wanted);
      EXPECT_EQ(Found(group), wanted);
    }
    EXPECT_LE(kept, 128u);
  }
}

}  // namespace
}  // namespace rankfeed::fast
