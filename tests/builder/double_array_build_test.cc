// SPDX-License-Identifier: MIT
#include "builder/trie/double_array_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {
namespace {

using Codes = std::vector<uint16_t>;

std::vector<trie::Unit> Build(const std::map<Codes, uint32_t>& keys, uint32_t code_count,
                              uint64_t weight_seed = 0, const std::vector<uint16_t>& groups = {}) {
  std::vector<TrieKey> list;
  std::mt19937_64 random(weight_seed);
  for (const auto& [codes, value] : keys) {
    list.push_back({codes, value, weight_seed == 0 ? 1 : random() >> 20});
  }
  return BuildDoubleArray(list, code_count, groups);
}

// The invariants of trie/double_array.h, over the whole array.
void CheckInvariants(const std::vector<trie::Unit>& units, uint32_t code_count) {
  ASSERT_LE(units.size(), trie::kMaxUnits);
  std::set<uint32_t> bases;
  for (size_t i = 0; i < units.size(); ++i) {
    ASSERT_LE(trie::Base(units[i]) + code_count, units.size()) << "unit " << i;
    if (trie::Base(units[i]) != 0) {
      ASSERT_TRUE(bases.insert(trie::Base(units[i])).second)
          << "base of unit " << i << " is shared";
    }
    ASSERT_NE(trie::Label(units[i]), 0u) << "unit " << i;
    if (i > 0 && trie::Label(units[i]) != trie::kEmptyLabel) {
      ASSERT_LT(trie::Label(units[i]), code_count);
      ASSERT_TRUE(i >= trie::Label(units[i]));
      if (i > trie::Base(units[0])) {
        ASSERT_EQ(i - trie::Base(units[0]), trie::Label(units[i])) << "of the root alone";
      }
    }
  }
  // Every used unit's parent base exists.
  for (size_t i = 1; i < units.size(); ++i) {
    if (trie::Label(units[i]) == trie::kEmptyLabel) continue;
    ASSERT_TRUE(bases.contains(static_cast<uint32_t>(i) - trie::Label(units[i]))) << "unit " << i;
  }
}

uint32_t Find(const std::vector<trie::Unit>& units, const Codes& codes) {
  const trie::View view(units);
  trie::Unit unit = view.root();
  for (const uint16_t code : codes) {
    if (!view.Step(unit, code)) return trie::kNoValue;
  }
  return trie::Value(unit);
}

// Follows every code from every node: exactly the prefixes of keys are reachable.
void CheckContents(const std::vector<trie::Unit>& units, const std::map<Codes, uint32_t>& keys,
                   uint32_t code_count) {
  std::map<Codes, uint32_t> want;
  for (const auto& [codes, value] : keys) {
    for (size_t n = 0; n <= codes.size(); ++n) {
      want.emplace(Codes(codes.begin(), codes.begin() + static_cast<long>(n)), trie::kNoValue);
    }
    want[codes] = value;
  }
  std::map<Codes, std::vector<uint16_t>> children;
  for (const auto& [prefix, value] : want) {
    if (!prefix.empty()) children[Codes(prefix.begin(), prefix.end() - 1)].push_back(prefix.back());
  }
  const trie::View view(units);
  for (const auto& [prefix, value] : want) {
    trie::Unit unit = view.root();
    for (const uint16_t code : prefix) ASSERT_TRUE(view.Step(unit, code));
    if (!prefix.empty()) {
      ASSERT_EQ(trie::Value(unit), value);
    }
    const std::vector<uint16_t>& want_next = children[prefix];
    std::vector<uint16_t> next_codes;
    for (uint32_t code = 0; code < code_count; ++code) {
      trie::Unit next = unit;
      if (view.Step(next, code)) next_codes.push_back(static_cast<uint16_t>(code));
    }
    ASSERT_EQ(next_codes, want_next);
  }
}

TEST(DoubleArrayBuild, EmptySetIsARootWithoutChildren) {
  const auto units = Build({}, 300);
  CheckInvariants(units, 300);
  for (uint16_t code = 0; code < 300; ++code) EXPECT_EQ(Find(units, {code}), trie::kNoValue);
}

// All sets of keys over {1, 2} of at most two codes: 2^6 sets.
TEST(DoubleArrayBuild, EverySmallSet) {
  const std::vector<Codes> all = {{1}, {2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}};
  for (uint32_t set = 0; set < 64; ++set) {
    std::map<Codes, uint32_t> keys;
    for (uint32_t i = 0; i < 6; ++i) {
      if (set >> i & 1) keys[all[i]] = i;
    }
    const auto units = Build(keys, 3);
    CheckInvariants(units, 3);
    CheckContents(units, keys, 3);
  }
}

TEST(DoubleArrayBuild, RandomSets) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const uint32_t code_count = 2 + random() % (round % 3 == 0 ? 400 : 12);
    std::map<Codes, uint32_t> keys;
    const int count = 1 + static_cast<int>(random() % 300);
    for (int i = 0; i < count; ++i) {
      Codes codes(1 + random() % 6);
      for (uint16_t& code : codes) code = static_cast<uint16_t>(1 + random() % (code_count - 1));
      keys[codes] = static_cast<uint32_t>(i);
    }
    const auto units = Build(keys, code_count, round + 1);
    CheckInvariants(units, code_count);
    CheckContents(units, keys, code_count);
  }
}

TEST(DoubleArrayBuild, WidestNodeAndHighestCode) {
  std::map<Codes, uint32_t> keys;
  for (uint32_t code = 1; code < trie::kMaxCodes; ++code) {
    keys[{static_cast<uint16_t>(code)}] = code;
    if (code % 1000 == 0) keys[{static_cast<uint16_t>(code), 0xfffe}] = 1;
  }
  const auto units = Build(keys, trie::kMaxCodes);
  CheckInvariants(units, trie::kMaxCodes);
  for (const auto& [codes, value] : keys) ASSERT_EQ(Find(units, codes), value);
}

TEST(DoubleArrayBuild, LongKey) {
  std::map<Codes, uint32_t> keys = {{Codes(20000, 5), 1}, {Codes(19999, 5), 2}};
  const auto units = Build(keys, 6);
  CheckInvariants(units, 6);
  EXPECT_EQ(Find(units, Codes(20000, 5)), 1u);
  EXPECT_EQ(Find(units, Codes(19999, 5)), 2u);
  EXPECT_EQ(Find(units, Codes(19998, 5)), trie::kNoValue);
}

TEST(DoubleArrayBuild, SpaceStaysNearTheNodeCount) {
  std::mt19937 random(3);
  std::map<Codes, uint32_t> keys;
  std::set<Codes> nodes;
  while (keys.size() < 20000) {
    Codes codes(1 + random() % 5);
    // Squares crowd low codes, as frequent characters do.
    for (uint16_t& code : codes) {
      const double r = static_cast<double>(random() % 100000) / 100000;
      code = static_cast<uint16_t>(1 + static_cast<int>(r * r * 2000));
    }
    keys[codes] = 0;
    for (size_t n = 1; n <= codes.size(); ++n)
      nodes.emplace(codes.begin(), codes.begin() + static_cast<long>(n));
  }
  const auto units = Build(keys, 2002);
  CheckInvariants(units, 2002);
  EXPECT_LT(units.size(), nodes.size() * 5 / 4 + 2 * 2002);
}

// Keys of the codes of one of ten groups: what they need takes fewer cache lines when groups are
// named.
TEST(DoubleArrayBuild, NodesOfAGroupLieTogether) {
  constexpr uint16_t kGroups = 10, kCodes = 400;
  std::mt19937 random(31);
  std::vector<uint16_t> groups(kCodes + 1);
  for (uint16_t code = 0; code <= kCodes; ++code) groups[code] = code % kGroups;
  std::map<Codes, uint32_t> keys;
  for (uint32_t n = 0; n < 20000; ++n) {
    const uint32_t group = random() % kGroups;
    Codes codes(2 + random() % 4);
    for (uint16_t& code : codes) {
      code = static_cast<uint16_t>(kGroups + kGroups * (random() % (kCodes / kGroups - 1)) + group);
    }
    keys[codes] = n;
  }
  const auto lines = [&](const std::vector<trie::Unit>& units) {
    std::set<size_t> touched;
    for (const auto& [codes, value] : keys) {
      if (groups[codes[0]] != 3) continue;
      uint32_t at = 0;
      for (const uint16_t code : codes) {
        at = trie::Base(units[at]) + code;
        touched.insert(at / 8);
      }
    }
    return touched.size();
  };
  const auto mixed = Build(keys, kCodes + 1, 9), grouped = Build(keys, kCodes + 1, 9, groups);
  CheckInvariants(grouped, kCodes + 1);
  CheckContents(grouped, keys, kCodes + 1);
  EXPECT_LT(lines(grouped) * 2, lines(mixed));
  EXPECT_LT(grouped.size(), mixed.size() * 5 / 4);
}

// The leaf of code 1 has the base of the node of code 2, whose child it is not.
TEST(DoubleArray, TakeNoStepFromALeaf) {
  std::vector<trie::Unit> units(8, trie::MakeUnit(trie::kEmptyLabel, 0, trie::kNoValue));
  units[0] = trie::MakeUnit(trie::kEmptyLabel, 1, trie::kNoValue);
  units[2] = trie::LeafUnit(1, 3, 7);
  units[3] = trie::MakeUnit(2, 3, trie::kNoValue);
  units[4] = trie::MakeUnit(1, 0, 9);
  const trie::View view(units);
  trie::Unit unit = view.root();
  ASSERT_TRUE(view.Step(unit, 2));
  ASSERT_TRUE(view.Step(unit, 1));
  EXPECT_EQ(trie::Value(unit), 9u);
  unit = view.root();
  ASSERT_TRUE(view.Step(unit, 1));
  EXPECT_EQ(trie::Value(unit), 7u);
  EXPECT_FALSE(view.Step(unit, 1));
}

TEST(DoubleArrayBuild, SameInputSameArray) {
  std::map<Codes, uint32_t> keys = {{{1, 2, 3}, 0}, {{1, 2}, 1}, {{7}, 2}, {{3, 3}, 3}};
  EXPECT_EQ(Build(keys, 9, 5), Build(keys, 9, 5));
}

TEST(DoubleArrayBuild, MoreNodesThanUnitsAreALimit) {
  const size_t length = 8192, count = trie::kMaxUnits / length;  // with the root one node too many
  std::vector<Codes> codes(count, Codes(length, 1));
  std::vector<TrieKey> keys;
  for (uint32_t i = 0; i < count; ++i) {
    codes[i][0] = static_cast<uint16_t>(i + 1);
    keys.push_back({codes[i], i, 1});
  }
  try {
    BuildDoubleArray(keys, static_cast<uint32_t>(count + 1));
    FAIL() << "built";
  } catch (const BuildError& error) {
    EXPECT_EQ(error.code, RANKFEED_E_LIMIT);
    EXPECT_STREQ(error.what(),
                 "the vocabulary needs 8388609 trie units; the limit of trie units is 8388608");
  }
}

TEST(DoubleArrayBuild, RefusesUnsortedDuplicateEmptyAndOutOfRange) {
  const Codes a = {1}, b = {2}, none, zero = {0}, high = {9};
  const auto build = [](const std::vector<TrieKey>& keys) { BuildDoubleArray(keys, 9); };
  EXPECT_THROW(build({{b, 0, 1}, {a, 1, 1}}), std::invalid_argument);
  EXPECT_THROW(build({{a, 0, 1}, {a, 1, 1}}), std::invalid_argument);
  EXPECT_THROW(build({{none, 0, 1}}), std::invalid_argument);
  EXPECT_THROW(build({{zero, 0, 1}}), std::invalid_argument);
  EXPECT_THROW(build({{high, 0, 1}}), std::invalid_argument);
  EXPECT_THROW(build({{a, trie::kNoValue, 1}}), std::invalid_argument);
  EXPECT_THROW(BuildDoubleArray({}, 0), std::invalid_argument);
  EXPECT_THROW(BuildDoubleArray({}, trie::kMaxCodes + 1), std::invalid_argument);
}

}  // namespace
}  // namespace rankfeed::builder
