// SPDX-License-Identifier: MIT
// Tests of src/corpus_builder/level.cc.
#include "corpus_builder/level.h"

#include <random>
#include <unordered_map>

#include "builder/base/model_spec.h"
#include "corpus_files.h"

namespace rankfeed::corpus_test {
namespace {

using corpus_builder::BuildSlots;
using corpus_builder::LevelSlots;
using corpus_builder::PendingIndex;

TEST(CorpusLevel, EveryEntryIsWithinTheLongestProbe) {
  std::mt19937_64 random(1);
  for (const size_t n : {1u, 2u, 3u, 10u, 1000u, 100000u}) {
    std::vector<corpus::Entry> entries(n);
    for (size_t i = 0; i < n; ++i) entries[i] = {random(), corpus::kDataOffset + 8 * i};
    const LevelSlots level = BuildSlots(entries);
    ASSERT_EQ(level.slots.size(), corpus::SlotCount(static_cast<uint32_t>(n)));
    uint32_t longest = 0;
    uint64_t sum = 0;
    for (const corpus::Entry& entry : entries) {
      uint64_t at = corpus::FirstSlot(entry.hash, level.slots.size());
      uint32_t probe = 0;
      while (level.slots[at] != corpus::MakeSlot(entry.hash, entry.offset)) {
        ASSERT_NE(level.slots[at], 0u);
        ASSERT_LE(++probe, level.max_probe);
        at = at + 1 == level.slots.size() ? 0 : at + 1;
      }
      longest = std::max(longest, probe);
      sum += probe + 1;
    }
    EXPECT_EQ(longest, level.max_probe);
    // 2 probes on average at load 2/3, and far from the limit, as corpus/format.h says.
    if (n == 100000) {
      EXPECT_NEAR(static_cast<double>(sum) / n, 2.0, 0.1);
      EXPECT_LT(longest, 250u);
    }
  }
}

TEST(CorpusLevel, IdsMadeToCollideAreRefused) {
  std::vector<corpus::Entry> entries;
  for (uint64_t i = 0; i <= corpus::kMaxProbe; ++i) {
    entries.push_back({42, corpus::kDataOffset + 8 * i});
  }
  EXPECT_EQ(BuildSlots(entries).max_probe, corpus::kMaxProbe);
  entries.push_back({42, corpus::kDataOffset});
  try {
    BuildSlots(entries);
    FAIL() << "not refused";
  } catch (const builder::BuildError& error) {
    EXPECT_EQ(error.code, RANKFEED_E_LIMIT);
  }
}

TEST(CorpusLevel, PendingIndexFollowsAMap) {
  std::mt19937_64 random(2);
  PendingIndex index;
  for (int round = 0; round < 3; ++round) {
    std::unordered_map<uint64_t, uint32_t> newest;  // key -> item number
    for (int i = 0; i < 20000; ++i) {
      const uint64_t key = random() % 5000;
      const uint64_t hash = key / 2 * 0x9E3779B97F4A7C15u;  // two keys share a hash
      const auto same = [&](const PendingIndex::Item& item) { return item.token_count == key; };
      const uint32_t found = index.Find(hash, same);
      const auto expected = newest.find(key);
      ASSERT_EQ(found, expected == newest.end() ? PendingIndex::kNone : expected->second);
      index.Reserve();
      index.Add({{hash, 8u * i}, static_cast<uint32_t>(key), false, false}, found);
      newest[key] = static_cast<uint32_t>(index.items().size() - 1);
    }
    EXPECT_EQ(index.live(), newest.size());
    uint32_t live = 0;
    for (const PendingIndex::Item& item : index.items()) live += !item.replaced;
    EXPECT_EQ(live, index.live());
    index.Clear();
    EXPECT_EQ(index.live(), 0u);
  }
}

}  // namespace
}  // namespace rankfeed::corpus_test
