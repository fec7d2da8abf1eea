// SPDX-License-Identifier: MIT
// fast/cache.h and the look-up in it (KernelTable): what is found is what was kept, on every
// SIMD target, whatever shares a line.
#include "fast/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fast/look_up.h"
#include "fast/look_up_memory.h"
#include "fast/word_forms.h"

namespace rankfeed {
namespace {

using fast::CacheLine;
using fast::SegmentKey;

struct Kept {
  std::string text;
  bool word_start;
  std::vector<int32_t> ids;  // CacheLine::kMaxIds
  image::PathInfo info;
};

class Cache {
 public:
  explicit Cache(uint32_t bytes, bool two_lines = false) : memory_({1 << 16, Layout::kAlignment}) {
    Layout layout(memory_.data());
    cache_.Carve(layout, bytes);
    cache_.Clear();
    tables_ = {nullptr, 0, cache_.lines(), cache_.mask(), two_lines};
  }

  static SegmentKey Key(const Kept& word) {
    const auto size = static_cast<uint32_t>(word.text.size());
    return SegmentKey::Make(word.text.data(), size, SegmentKey::Tag(size, word.word_start));
  }
  void Keep(const Kept& word) {
    const SegmentKey key = Key(word);
    fast::Keep(key, word.ids.data(), word.info, tables_.Line(key.Hash()), tables_.OtherLine(key.Hash()));
  }
  void SetInfo(const Found& found) { cache_.SetInfo(found); }
  const CacheLine* Line(const Kept& word) const { return tables_.Line(Key(word).Hash()); }
  bool Find(const Kept& word, Found* found) const {
    fast_test::LookUpMemory memory(1);
    memory.Put(0, Key(word));
    const fast::LookUpBatch& batch = memory.batch();
    batch.lacking[0] = 0;
    const fast::KernelTable& kernels = fast_test::ForcedKernels();
    uint32_t lacks = kernels.match_cache(tables_, batch, 1);
    if (kernels.match_longs != nullptr) lacks = kernels.match_longs(tables_, batch, lacks);
    const bool is = lacks == 0;
    *found = batch.found[0];
    return is;
  }

 private:
  const AlignedBytes memory_;
  fast::SegmentCache cache_;
  fast::LookUpTables tables_{};
};

Kept Random(std::mt19937& random) {
  Kept word;
  const uint32_t size = random() % 2 == 0 ? 1 + random() % 31 : 1 + random() % 4;
  // Few letters and bytes that ids have too, so that keys and ids look alike.
  for (uint32_t i = 0; i < size; ++i) word.text += static_cast<char>("ab\x01\x10"[random() % 4]);
  // Many differ in one part of their keys only.
  if (random() % 2 != 0) {
    const size_t own = random() % word.text.size() / 4;
    for (size_t i = 0; i < word.text.size(); ++i) {
      if (i / 4 != own) word.text[i] = 'a';
    }
  }
  word.word_start = random() % 2 == 0;
  word.info.count = static_cast<uint8_t>(1 + random() % CacheLine::kMaxIds);
  word.info.exact_below = static_cast<uint8_t>(random() % 61);
  word.info.score_bound = static_cast<uint16_t>(random());
  word.ids.resize(CacheLine::kMaxIds);
  for (int32_t& id : word.ids) id = static_cast<int32_t>(random() % 3 == 0 ? 0 : random() % 0x2000);
  return word;
}

TEST(SegmentCache, FindsWhatWasKeptAndNothingElse) {
  fast_test::OnEveryIsa([] {
    std::mt19937 random(9);
    for (const auto& [bytes, two_lines] : {std::pair(64u, false), {256u, false}, {4096u, false}, {64u, true}, {4096u, true}}) {
      Cache cache(bytes, two_lines);
      // By segment: an entry is a function of it.
      std::map<std::pair<std::string, bool>, Kept> kept;
      size_t hits = 0;
      constexpr size_t kSteps = 20000;
      for (size_t step = 0; step < kSteps; ++step) {
        Kept word = Random(random);
        const auto known = kept.find({word.text, word.word_start});
        if (known != kept.end()) word = known->second;
        Found found{};
        if (!cache.Find(word, &found)) {
          cache.Keep(word);
          kept[{word.text, word.word_start}] = word;
          ASSERT_TRUE(cache.Find(word, &found)) << testing::PrintToString(word.text);
        } else {
          ++hits;
          ASSERT_NE(known, kept.end()) << testing::PrintToString(word.text);
          if (random() % 2 == 0) {  // what is known later
            word.info.score_bound = found.info.score_bound = static_cast<uint16_t>(random());
            cache.SetInfo(found);
            kept[{word.text, word.word_start}] = word;
            ASSERT_TRUE(cache.Find(word, &found));
          }
        }
        ASSERT_EQ(found.info.count, word.info.count);
        ASSERT_EQ(found.info.exact_below, word.info.exact_below);
        ASSERT_EQ(found.info.score_bound, word.info.score_bound);
        for (uint32_t i = 0; i < word.info.count; ++i) ASSERT_EQ(found.ids[i], word.ids[i]);
      }
      EXPECT_GT(hits, 20u);
      EXPECT_GT(kSteps - hits, 1000u);
    }
  });
}

TEST(SegmentCache, KeepInAnotherLineWhatTheFirstHasNoRoomFor) {
  std::mt19937 random(10);
  for (const bool two_lines : {false, true}) {
    size_t found_all = 0;
    constexpr size_t kRounds = 200;
    for (size_t round = 0; round < kRounds; ++round) {
      // Three short segments of one line, in a cache of 64 that is empty otherwise.
      Cache cache(4096, two_lines);
      std::vector<Kept> words;
      for (uint32_t i = 0; words.size() < 3; ++i) {
        Kept word{std::to_string(random() % 100000) + "x", false, {1, 2, 3, 0, 0, 0}, {3, 9, 7}};
        const bool fits = words.empty() || cache.Line(word) == cache.Line(words[0]);
        const bool is_new = std::none_of(words.begin(), words.end(), [&](const Kept& other) { return other.text == word.text; });
        if (fits && is_new) words.push_back(word);
      }
      for (const Kept& word : words) cache.Keep(word);
      Found found{};
      found_all += std::all_of(words.begin(), words.end(), [&](const Kept& word) { return cache.Find(word, &found); });
    }
    // But where both lines are the same, as one in 64 times.
    EXPECT_GE(found_all, two_lines ? kRounds * 9 / 10 : 0u);
    EXPECT_LE(found_all, two_lines ? kRounds : 0u);
  }
}

TEST(SegmentCache, ALineHoldsTwoShortSegmentsOrALongOne) {
  Cache cache(sizeof(CacheLine));
  const Kept a{"aa", true, {1, 2, 3, 4, 5, 6}, {2, 9, 7}},
      b{"bb", true, {7, 8, 9, 0, 0, 0}, {3, 9, 7}}, c{"cc", false, {7, 8, 9, 0, 0, 0}, {3, 9, 7}},
      many{"dd", false, {1, 2, 3, 4, 5, 6}, {6, 9, 7}},
      lengthy{"sixteen letters!", false, {1, 2, 3, 4, 5, 6}, {1, 9, 7}};
  Found found{};
  cache.Keep(a);
  cache.Keep(b);
  EXPECT_TRUE(cache.Find(a, &found));
  EXPECT_TRUE(cache.Find(b, &found));
  cache.Keep(c);
  EXPECT_FALSE(cache.Find(a, &found));
  EXPECT_TRUE(cache.Find(b, &found));
  cache.Keep(c);  // the same again takes no second place
  EXPECT_TRUE(cache.Find(b, &found));
  for (const Kept& whole : {many, lengthy}) {
    cache.Keep(whole);
    EXPECT_TRUE(cache.Find(whole, &found));
    EXPECT_EQ(found.ids[5], 6);
    EXPECT_FALSE(cache.Find(b, &found) || cache.Find(c, &found));
    cache.Keep(a);
    EXPECT_FALSE(cache.Find(whole, &found) || cache.Find(b, &found) || cache.Find(c, &found));
    EXPECT_TRUE(cache.Find(a, &found));
  }
  // The ids and info of a long one where a short one had its key, and looking the same.
  const Kept alike{"abc\x06\x09\x07\x01", true, {1, 2, 3, 0, 0, 0}, {3, 9, 7}},
      over{"dd", false, {0, 0, 3, 4, 5, 6}, {6, 9, 0x0107}};
  cache.Keep(alike);
  cache.Keep(b);
  EXPECT_TRUE(cache.Find(alike, &found));
  cache.Keep(over);
  EXPECT_TRUE(cache.Find(over, &found));
  EXPECT_FALSE(cache.Find(alike, &found));
}

}  // namespace
}  // namespace rankfeed
