// SPDX-License-Identifier: MIT
// The grapheme rule of Precompiled and its ranges (tokenizers 0.23.2, normalizers/precompiled.rs).
#include "normalize/precompiled.h"

#include <gtest/gtest.h>

#include "normalize/charsmap_builder.h"
#include "normalize/table_model.h"

namespace rankfeed::normalize {
namespace {

class PrecompiledTest : public testing::Test {
 protected:
  std::string Run(std::string_view input) {
    Model model = tables_.model();
    model.charsmap_units = charsmap_.units();
    model.charsmap_pool = charsmap_.pool();
    OwnedText in(input, input.size() * 4 + 8), out(input.size() * 4 + 8);
    EXPECT_TRUE(RunPrecompiled(model, in.text, &out.text));
    return out.ranges();
  }

  TableModel tables_{{}};
  CharsmapBuilder charsmap_{{{"e\u0301", "\u00e9"},
                             {"\u0301", ""},
                             {"\u00bd", "1/2"},
                             {"\r", " "},
                             {"\n", " "},
                             {"\r\n", "!"},
                             {"A", "a"},
                             {"A\u0301", "\u00e1"}}};
};

TEST_F(PrecompiledTest, ShortClusterIsReplacedAsAWhole) {
  EXPECT_EQ(Run("e\u0301\u0302x"), "\u00e9:0-1 x:5-6");  // the second mark is lost
  EXPECT_EQ(Run("A\u0301x"), "a:0-1 x:3-4");             // the shortest key, not the longest
  EXPECT_EQ(Run("\r\nx"), " :0-1 x:2-3");
}

TEST_F(PrecompiledTest, ClusterOfSixBytesGoesCharacterByCharacter) {
  EXPECT_EQ(Run("\u00bd\u0301\u0302x"), "1:0-2 /:0-2 2:2-4 \u0302:4-6 x:6-7");
  EXPECT_EQ(Run("e\u0301\u0302\u0301x"), "e:0-1 \u0302:3-5 x:7-8");
}

TEST_F(PrecompiledTest, AddedCharactersShareTheRange) {
  EXPECT_EQ(Run("\u00bdx"), "1:0-2 /:0-2 2:0-2 x:2-3");
}

TEST_F(PrecompiledTest, RemovalAtTheFrontShiftsEveryRange) {
  EXPECT_EQ(Run("\u0301ab"), "a:0-2 b:2-3");
}

TEST_F(PrecompiledTest, OutputTooSmall) {
  Model model = tables_.model();
  model.charsmap_units = charsmap_.units();
  model.charsmap_pool = charsmap_.pool();
  OwnedText in("\u00bd\u00bd", 16), out(5);
  EXPECT_FALSE(RunPrecompiled(model, in.text, &out.text));
}

}  // namespace
}  // namespace rankfeed::normalize
