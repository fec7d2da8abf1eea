// SPDX-License-Identifier: MIT
#include "builder/normalize/charsmap_check.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "builder/builder_test_util.h"
#include "normalize/charsmap.h"
#include "rankfeed/model.h"
#include "reference/sp_model_proto.h"

namespace rankfeed::builder {
namespace {

using Rules = std::map<std::string, std::string>;

constexpr uint32_t kHf = RANKFEED_PARITY_HUGGINGFACE, kSp = RANKFEED_PARITY_SENTENCEPIECE;

std::string Blob(const std::vector<uint32_t>& units, const std::string& pool) {
  std::string blob;
  const auto put = [&](uint32_t v) {
    for (int i = 0; i < 4; ++i) blob += static_cast<char>(v >> (8 * i) & 0xff);
  };
  put(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) put(unit);
  return blob + pool;
}

std::string Refusal(const std::string& blob, uint32_t parity = kSp) {
  try {
    CheckCharsmap(blob, parity, "map");
  } catch (const BuildError& e) {
    return std::to_string(e.code) + " " + e.what();
  }
  return "";
}

TEST(CharsmapCheck, ListsTheRulesInByteOrder) {
  const Rules rules = {{"a", "A"}, {"ab", ""}, {"\xc3\xa4", "ae"}, {"b", "long replacement"}};
  const std::string blob = sp_test::MakeCharsmap(rules);
  const CharsmapView map = CheckCharsmap(blob, kSp, "map");
  Rules listed;
  std::string last;
  for (const CharsmapRule& rule : map.rules) {
    EXPECT_LT(last, rule.key);
    last = rule.key;
    listed.emplace(rule.key, rule.replacement);
  }
  EXPECT_EQ(listed, rules);
}

// Found by fuzz/spm_model: the image of such a map did not open.
TEST(CharsmapCheck, ValueOutsideThePoolWhereNoKeyLeadsIsRefused) {
  std::string blob = sp_test::MakeCharsmap({{"a", "b"}});
  for (size_t unit = 1; unit < 256; ++unit) {  // the block of unit 0 holds no key
    std::string broken = blob;
    broken.replace(4 + 4 * unit, 4, std::string("\xff\xff\xff\x80", 4));
    EXPECT_NE(Refusal(broken).find("replacement lies outside the pool"), std::string::npos) << unit;
  }
}

TEST(CharsmapCheck, PublishedMap) {
  RANKFEED_SHARED_FILE(model, "xlmr.model");
  const std::string blob = sp_test::CharsmapOf(model);
  ASSERT_EQ(blob.size(), 237539u);
  for (const uint32_t parity : {kHf, kSp}) {
    const CharsmapView map = CheckCharsmap(blob, parity, "map");
    EXPECT_EQ(map.units.size(), 44288u);
    EXPECT_EQ(map.rules.size(), 224711u);
    const Charsmap runtime(map.units, {map.pool.data(), map.pool.size()});
    for (size_t i = 0; i < map.rules.size(); i += 97) {
      const CharsmapMatch match = runtime.Longest(map.rules[i].key);
      EXPECT_EQ(match.key_size, map.rules[i].key.size());
      EXPECT_EQ(match.replacement, map.rules[i].replacement);
    }
  }
}

TEST(CharsmapCheck, BadSizes) {
  const std::string good = sp_test::MakeCharsmap({{"a", "b"}});
  EXPECT_EQ(Refusal(good), "");
  EXPECT_EQ(Refusal(""), "24 map is broken: it is shorter than its header");
  EXPECT_EQ(Refusal("\x04"), "24 map is broken: it is shorter than its header");
  std::string bytes = good;
  bytes[0] = 2;  // 512 * 4 bytes -> not a multiple
  EXPECT_EQ(Refusal(bytes), "24 map is broken: its trie is not a whole number of units");
  EXPECT_EQ(Refusal(std::string(8, '\0')),
            "24 map is broken: its trie is not a whole number of units");
  bytes = good;
  bytes[3] = 0x7f;
  EXPECT_EQ(Refusal(bytes), "24 map is broken: its trie is longer than the blob");
}

TEST(CharsmapCheck, EveryPrefixIsRefused) {
  const std::string good = sp_test::MakeCharsmap({{"a", "b"}, {"cd", "ef"}});
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(Refusal(good.substr(0, size)), "") << size;
  }
}

TEST(CharsmapCheck, BadPool) {
  std::string bytes = sp_test::MakeCharsmap({{"a", "b"}});
  bytes.back() = 'x';
  EXPECT_EQ(Refusal(bytes), "24 map is broken: the replacement pool is not NUL-terminated");
  bytes = sp_test::MakeCharsmap({{"a", "b\x80"}});
  EXPECT_EQ(Refusal(bytes), "24 map is broken: the replacement pool is not valid UTF-8");
}

TEST(CharsmapCheck, BadKeys) {
  EXPECT_EQ(Refusal(sp_test::MakeCharsmap({{"\xc3", "x"}})),
            "25 map has a key that is not valid UTF-8");
  EXPECT_EQ(Refusal(sp_test::MakeCharsmap({{std::string(1025, 'a'), "x"}})),
            "24 map is broken: a key is longer than 1024 bytes");
  EXPECT_EQ(Refusal(sp_test::MakeCharsmap({{std::string(1024, 'a'), "x"}})), "");
  EXPECT_EQ(Refusal(sp_test::MakeCharsmap({{"a", std::string(1025, 'x')}})),
            "5 map has a replacement of more than 1024 bytes");
}

TEST(CharsmapCheck, ChainsOfKeys) {
  Rules rules;
  for (size_t n = 1; n <= 32; ++n) rules[std::string(n, 'a')] = "x";
  EXPECT_EQ(Refusal(sp_test::MakeCharsmap(rules), kSp), "");
  rules[std::string(33, 'a')] = "x";
  EXPECT_NE(Refusal(sp_test::MakeCharsmap(rules), kSp).find("more than 32 keys"),
            std::string::npos);
  EXPECT_EQ(Refusal(sp_test::MakeCharsmap(rules), kHf), "");
}

// Hand-made tries of two blocks. Unit: offset << 10 | leaf << 8 | label.
TEST(CharsmapCheck, HostileTries) {
  const auto unit = [](uint32_t offset, uint32_t label, bool leaf) {
    return offset << 10 | (leaf ? 0x100u : 0u) | label;
  };
  std::vector<uint32_t> units(512, 0);
  units[0] = unit(256, 0, false);
  EXPECT_EQ(Refusal(Blob(units, std::string(1, '\0'))), "");  // no rules
  units[256 ^ 'a'] = unit(512, 'a', false);                   // children at 512 ^ 256 ^ 'a'
  EXPECT_NE(Refusal(Blob(units, std::string(1, '\0'))).find("points outside"), std::string::npos);
  units[256 ^ 'a'] = unit('a', 'a', false);  // children at block 256: itself under 'a'
  EXPECT_NE(Refusal(Blob(units, std::string(1, '\0'))).find("cycle"), std::string::npos);
  units[256 ^ 'a'] = unit(0, 'a', true);  // value at its own position: not a value unit
  EXPECT_NE(Refusal(Blob(units, std::string(1, '\0'))).find("no value unit"), std::string::npos);
  units[256 ^ 'a'] = unit('a' ^ 1, 'a', true);  // value at 256 ^ 1
  units[256 ^ 1] = 0x80000000 | 7;
  EXPECT_NE(Refusal(Blob(units, std::string(1, '\0'))).find("outside the pool"), std::string::npos);
  units[256 ^ 1] = 0x80000000 | 2;
  EXPECT_NE(Refusal(Blob(units, std::string("x\xc3\xa4", 4))).find("inside a character"),
            std::string::npos);
  units[256 ^ 1] = 0x80000000;
  EXPECT_EQ(Refusal(Blob(units, std::string("x\xc3\xa4", 4))), "");
  units[256] = unit(1, 0, false);  // an edge with label NUL
  EXPECT_NE(Refusal(Blob(units, std::string("x\xc3\xa4", 4))).find("NUL"), std::string::npos);
  units[256] = 0;
  units[0] = unit(256, 0, true);
  EXPECT_NE(Refusal(Blob(units, std::string(1, '\0'))).find("empty"), std::string::npos);
  units[0] = 0x80000000;
  EXPECT_NE(Refusal(Blob(units, std::string(1, '\0'))).find("root"), std::string::npos);
}

// n levels whose nodes all lead to the same next level: 2^n keys out of 3n units.
TEST(CharsmapCheck, SharedSubtreesDoNotBlowUp) {
  const auto make = [](uint32_t levels, bool with_keys) {
    std::vector<uint32_t> units(256 * (levels + 2), 0);
    units[0] = 256u << 10;
    for (uint32_t level = 1; level <= levels; ++level) {
      const uint32_t block = 256 * level, next = 256 * (level + 1);
      const bool last = level == levels;
      for (const uint32_t label : {uint32_t{'a'}, uint32_t{'b'}}) {
        const uint32_t position = block ^ label;
        units[position] = (position ^ next) << 10 | label | (last && with_keys ? 0x100u : 0u);
      }
      if (last) units[next] = with_keys ? 0x80000000u : 0;
    }
    return Blob(units, std::string(1, '\0'));
  };
  EXPECT_EQ(CheckCharsmap(make(10, true), kHf, "map").rules.size(), 1024u);
  EXPECT_NE(Refusal(make(40, true), kHf).find("rules"), std::string::npos);
  EXPECT_NE(Refusal(make(500, true), kHf).find("rules"), std::string::npos);
  EXPECT_EQ(CheckCharsmap(make(500, false), kHf, "map").rules.size(), 0u);
}

// Garbled maps are refused or listed, in bounded time and without reading outside.
TEST(CharsmapCheck, RandomDamage) {
  const std::string good = sp_test::MakeCharsmap({{"a", "b"}, {"ab", "c"}, {"\xe3\x81\x82", "d"}});
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    refused += !Refusal(bytes).empty();
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace rankfeed::builder
