// SPDX-License-Identifier: MIT
// fast/look_up.h: on every SIMD target, what the kernels say of segments is what their definitions
// say, one segment at a time.
#include "fast/look_up.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fast/guarded_page.h"
#include "fast/look_up_memory.h"
#include "fast/word_forms.h"

namespace rankfeed {
namespace {

using fast::LookUpBatch;
using fast::Segments;
using fast::SegmentKey;

// Segments of one text.
struct Cut {
  std::vector<uint32_t> begins, ends;
  Segments view() { return {begins.data(), ends.data()}; }
  size_t size() const { return begins.size(); }
};

Cut RandomCut(std::mt19937& random, uint32_t text_size) {
  Cut cut;
  for (uint32_t at = random() % 3; at < text_size;) {
    const uint32_t longest = random() % 3 == 0 ? 40 : 9;
    const uint32_t size = std::min<uint32_t>(1 + random() % longest, text_size - at);
    cut.begins.push_back(at | (random() % 2 != 0 ? Segments::kWordStart : 0));
    cut.ends.push_back(at + size);
    at += size + random() % 3;
  }
  return cut;
}

SegmentKey KeyOf(const std::string& text, uint32_t begin, uint32_t end, bool word_start) {
  const uint32_t size = std::min(end - begin, SegmentKey::kMaxBytes + 1);
  return SegmentKey::Make(text.data() + begin, size > SegmentKey::kMaxBytes ? 0 : size,
                       SegmentKey::Tag(size, word_start));
}

TEST(LookUp, ListsBeginsAndEnds) {
  fast_test::OnEveryIsa([] {
    const fast::KernelTable& kernels = fast_test::ForcedKernels();
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
      const auto blocks = static_cast<uint32_t>(1 + random() % 5);
      std::vector<fast::BoundaryMasks> masks(blocks);
      std::vector<uint32_t> begins{77}, ends;  // one is open
      for (uint32_t k = 0; k < blocks; ++k) {
        const uint32_t density = 1 + random() % 40;
        for (uint32_t bit = 0; bit < 64; ++bit) {
          const uint64_t is = uint64_t{1} << bit;
          if (random() % density == 0) {
            masks[k].starts |= is;
            if (random() % 2 == 0) masks[k].word_starts |= is;
          } else if (random() % 8 == 0) {
            masks[k].word_starts |= is;  // of no segment
          }
          if (random() % density == 0) masks[k].stops |= is;
          const uint32_t at = 1000 + 64 * k + bit;
          if ((masks[k].starts & is) != 0) {
            begins.push_back(at | ((masks[k].word_starts & is) != 0 ? Segments::kWordStart : 0));
          }
          if ((masks[k].stops & is) != 0) ends.push_back(at);
        }
      }
      const size_t room = 64 * blocks + 1 + kVectorSlack;
      Cut got{std::vector<uint32_t>(room), std::vector<uint32_t>(room)};
      got.begins[0] = 77;
      uint32_t begin = 1, end = 0;
      kernels.list(masks.data(), blocks, 1000, got.view(), &begin, &end);
      ASSERT_EQ(std::vector(got.begins.data(), got.begins.data() + begin), begins);
      ASSERT_EQ(std::vector(got.ends.data(), got.ends.data() + end), ends);
      const uint32_t starts = kernels.list_starts(masks.data(), blocks, 1000, got.ends.data());
      ASSERT_EQ(starts, begins.size() - 1);
      for (uint32_t i = 0; i < starts; ++i) ASSERT_EQ(got.ends[i], begins[i + 1] & ~Segments::kWordStart);
    }
  });
}

// Texts of any length one behind the other in a batch, each between pages that cannot be read, and
// a table that holds some of their segments and others that are alike.
TEST(LookUp, FindsWhatTheTableHoldsAndNothingElse) {
  fast_test::OnEveryIsa([] {
    const fast::KernelTable& kernels = fast_test::ForcedKernels();
    fast_test::GuardedPage page;
    std::mt19937 random(4);
    size_t hits = 0, lacks = 0;
    for (int round = 0; round < 200; ++round) {
      struct Text {
        std::string bytes;
        Cut cut;
      };
      std::vector<Text> texts(1 + random() % 4);
      uint32_t count = 0;
      for (Text& text : texts) {
        text.bytes.resize(1 + random() % (random() % 2 == 0 ? 400 : 40));
        for (char& c : text.bytes) c = static_cast<char>("ab\0\xff"[random() % 4]);
        text.cut = RandomCut(random, static_cast<uint32_t>(text.bytes.size()));
        count += static_cast<uint32_t>(text.cut.size());
        // What lies behind the last segment is not of this text.
        for (uint32_t i = 0; i < kVectorSlack; ++i) {
          text.cut.begins.push_back(static_cast<uint32_t>(random()));
          text.cut.ends.push_back(static_cast<uint32_t>(random()));
        }
      }
      constexpr uint32_t kBits = 4;
      std::vector<image::SegmentEntry> table((2 << kBits) + 1);
      fast_test::LookUpMemory memory(count);
      const fast::LookUpTables tables{table.data(), (1 << kBits) - 1, nullptr, 0};
      std::vector<SegmentKey> keys;
      for (const Text& text : texts) {
        for (size_t i = 0; i + kVectorSlack < text.cut.size(); ++i) {
          const bool word_start = text.cut.begins[i] >= Segments::kWordStart;
          const uint32_t begin = text.cut.begins[i] & ~Segments::kWordStart, end = text.cut.ends[i];
          keys.push_back(KeyOf(text.bytes, begin, end, word_start));
          SegmentKey kept = keys.back();
          if (random() % 3 == 0) {
            const auto size = static_cast<uint32_t>(1 + random() % (end - begin));
            kept = KeyOf(text.bytes, begin, begin + size, random() % 2 != 0);
          }
          image::SegmentEntry* const bucket = &table[2 * (kept.Hash() & tables.table_mask)];
          // Alike in all parts but one.
          const uint32_t other = random() % 24;
          if (random() % 4 == 0 && other < kept.size()) kept.part[other / 8] ^= 0x100;
          if (kept.size() > image::kMaxEntryBytes || random() % 2 == 0) continue;
          if (bucket[0].key[0] == kept.part[0] || bucket[1].key[0] == kept.part[0]) continue;
          image::SegmentEntry& entry = bucket[random() % 2];
          std::copy_n(kept.part, 3, entry.key);
          entry.id = static_cast<uint32_t>(random());
          entry.info = {1, static_cast<uint8_t>(random()), static_cast<uint16_t>(random())};
        }
      }
      uint32_t first = 0;
      for (Text& text : texts) {
        const auto segments = static_cast<uint32_t>(text.cut.size() - kVectorSlack);
        const std::string_view bytes =
            random() % 2 == 0 ? page.AtBegin(text.bytes) : page.AtEnd(text.bytes);
        // In two calls, as when a batch ends within a text.
        const uint32_t part = random() % (segments + 1);
        for (const auto& [from, size] : {std::pair(0u, part), std::pair(part, segments - part)}) {
          if (size == 0) continue;
          kernels.make_keys(tables, bytes.data(), bytes.size(), text.cut.view().From(from), size,
                            first, memory.batch());
          first += size;
        }
      }
      const LookUpBatch& batch = memory.batch();
      const uint32_t middle = random() % (count + 1);
      uint32_t lacking_count = kernels.match_table(tables, 0, middle, batch, 0);
      lacking_count = kernels.match_table(tables, middle, count, batch, lacking_count);
      std::vector<uint16_t> expected;
      for (uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(batch.hashes[i], keys[i].Hash());
        const image::SegmentEntry* const bucket = tables.Bucket(keys[i].Hash());
        const image::SegmentEntry* const entry = std::find_if(
            bucket, bucket + 2, [&](const image::SegmentEntry& e) {
              return std::equal(e.key, e.key + 3, keys[i].part);
            });
        if (entry == bucket + 2) {
          expected.push_back(static_cast<uint16_t>(i));
          continue;
        }
        ASSERT_EQ(*batch.found[i].ids, static_cast<int32_t>(entry->id));
        ASSERT_EQ(std::memcmp(&batch.found[i].info, &entry->info, sizeof(entry->info)), 0);
      }
      ASSERT_EQ(std::vector(batch.lacking, batch.lacking + lacking_count), expected);
      std::fill_n(batch.lacking, count, uint16_t{0});
      lacking_count = kernels.match_words(tables, 0, middle, batch, 0);
      lacking_count = kernels.match_words(tables, middle, count, batch, lacking_count);
      ASSERT_EQ(std::vector(batch.lacking, batch.lacking + lacking_count), expected);
      for (uint32_t i = 0, k = 0; i < count; ++i) {
        if (k < expected.size() && expected[k] == i) {
          ++k;
        } else {
          ASSERT_EQ(batch.hits[i], batch.found[i].id);
        }
      }
      hits += count - lacking_count;
      lacks += lacking_count;
      // An empty cache lacks them all, and their keys are there then.
      alignas(64) fast::CacheLine lines[2] = {};
      const fast::LookUpTables empty{table.data(), tables.table_mask, lines, 0};
      ASSERT_EQ(kernels.match_cache(empty, batch, lacking_count), lacking_count);
      if (kernels.match_longs != nullptr) {
        ASSERT_EQ(kernels.match_longs(empty, batch, lacking_count), lacking_count);
      }
      ASSERT_EQ(std::vector(batch.misses, batch.misses + lacking_count), expected);
      for (const uint16_t i : expected) {
        ASSERT_TRUE(std::equal(keys[i].part, keys[i].part + 4, batch.keys[i].part));
      }
    }
    EXPECT_GT(hits, 1000u);
    EXPECT_GT(lacks, 1000u);
  });
}

}  // namespace
}  // namespace rankfeed
