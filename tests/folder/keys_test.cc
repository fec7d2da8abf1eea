// SPDX-License-Identifier: MIT
#include "folder/keys.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "folder/document.h"
#include "rankfeed/builder.h"

namespace rankfeed::folder {
namespace {

std::string Refusal(const char* file, const std::string& text) {
  const Document document(text, file);
  return RefusedKey(file, file, document.root());
}

TEST(Keys, StandOnceEach) {
  std::set<std::string> seen;
  for (const Key& key : Keys()) {
    EXPECT_TRUE(seen.insert(std::string(key.file) + " " + key.key).second) << key.file << " " << key.key;
    EXPECT_NE(std::string(key.note), "");
    EXPECT_TRUE(key.taken == nullptr || key.rule == Rule::kRefused) << key.key;
  }
}

TEST(Keys, TakeOnlyWhatAsksForNothing) {
  for (const Key& key : Keys()) {
    const std::string name = std::string("{\"") + key.key + "\":";
    for (const char* const empty : {"null", "false", "\"\"", "[]", "{}"}) EXPECT_EQ(Refusal(key.file, name + empty + "}"), "");
    if (key.taken != nullptr) {
      EXPECT_EQ(Refusal(key.file, name + key.taken + "}"), "");
    }
    const std::string why = Refusal(key.file, name + "\"other\"}");
    EXPECT_EQ(why.empty(), key.rule != Rule::kRefused) << key.key;
    if (!why.empty()) {
      EXPECT_NE(why.find(std::string(key.key) + " is \"other\""), std::string::npos) << why;
    }
  }
  EXPECT_EQ(Refusal("config.json", R"({"a_key_of_nobody":1})"), "");
}

TEST(Keys, AreTheSameThroughC) {
  rankfeed_folder_key key{};
  EXPECT_EQ(rankfeed_folder_key_at(0, &key), RANKFEED_E_STRUCT_SIZE);
  key.struct_size = sizeof key;
  uint32_t i = 0;
  for (; rankfeed_folder_key_at(i, &key) == RANKFEED_OK; ++i) {
    const Key* const found = FindKey(key.file, key.key);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(static_cast<uint32_t>(found->rule), key.rule);
    EXPECT_STREQ(found->note, key.note);
  }
  EXPECT_EQ(i, Keys().size());
}

// transformers writes 10^30 for "no limit", which 64 bits do not hold.
TEST(Document, ReadIntegersOfAnySize) {
  const Document document(R"({"a\"1":[1000000000000000019884624838656,12],"b":0.10000000000000000000001,"c":"1000000000000000019884624838656"})", "x");
  document.root().At("a\"1").Each([](const builder::Json& value) { EXPECT_GT(value.Number(), 11.0); });
  EXPECT_NEAR(document.root().At("b").Number(), 0.1, 1e-9);
  EXPECT_EQ(document.root().At("c").String(), "1000000000000000019884624838656");
}

}  // namespace
}  // namespace rankfeed::folder
