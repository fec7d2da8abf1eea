// SPDX-License-Identifier: MIT
// Every SIMD target against the scalar definition, at all alignments and around vector widths, in
// buffers that end where the text ends.
#include "simd/kernels.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace rankfeed::simd {
namespace {

// Runs body once per target that this build and this CPU both have.
template <class Body>
void ForEachTarget(const Body& body) {
  int targets = 0;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    body(Dispatch());
    ++targets;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GT(targets, 0);
}

ByteSet Whitespace() {
  ByteSet set;
  for (const uint8_t b : {0x20, 0x09, 0x0a, 0x0c, 0x0d}) set.Add(b);
  return set;
}

TEST(ByteSet, HoldsExactlyWhatWasAdded) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    ByteSet set;
    bool expected[256] = {};
    for (int i = 0; i < 1 + round % 20; ++i) {
      const auto b = static_cast<uint8_t>(random() % 128);
      set.Add(b);
      expected[b] = true;
    }
    for (int b = 0; b < 256; ++b) EXPECT_EQ(set.Has(static_cast<uint8_t>(b)), expected[b]) << b;
  }
}

TEST(Kernels, EveryTargetEqualsTheDefinition) {
  ForEachTarget([](const Kernels& kernels) {
    std::mt19937 random(2);
    for (size_t size = 0; size < 300; ++size) {
      for (int round = 0; round < 4; ++round) {
        const ByteSet set = round == 0 ? ByteSet{} : Whitespace();
        // Exactly size bytes on the heap: sanitizers see any read past the text.
        const std::unique_ptr<char[]> text(new char[size]);
        for (size_t i = 0; i < size; ++i) {
          text[i] = static_cast<char>(random() % (round == 3 ? 256 : 48));
        }
        ByteSet common, letters;
        for (int k = 0; k < 12; ++k) common.Add(static_cast<uint8_t>(random() % 128));
        for (int k = 0; k < 40; ++k) letters.Add(static_cast<uint8_t>(random() % 128));
        const ClassMasks untouched = {0x5a, 0x5a, 0x5a};
        std::vector<ClassMasks> masks(size / 64 + 2, untouched);
        ByteSet stop_bytes;
        stop_bytes.Add(static_cast<uint8_t>(random() % 128));
        const bool found = kernels.classify(text.get(), size, set, common, letters, stop_bytes, masks.data());
        bool any = false;
        size_t first = size;
        const size_t blocks = (size + 63) / 64;
        for (size_t i = 0; i < blocks * 64; ++i) {
          const bool inside = i < size;
          const auto byte = static_cast<uint8_t>(inside ? text[i] : 0);
          const ClassMasks& m = masks[i / 64];
          if (inside && set.Has(byte) && first == size) first = i;
          any |= inside && stop_bytes.Has(byte);
          ASSERT_EQ(m.separator >> (i % 64) & 1, !inside || set.Has(byte) ? 1u : 0u) << size << " " << i;
          ASSERT_EQ(m.common >> (i % 64) & 1, inside && common.Has(byte) ? 1u : 0u) << size << " " << i;
          ASSERT_EQ(m.letter >> (i % 64) & 1, inside && letters.Has(byte) ? 1u : 0u) << size << " " << i;
        }
        EXPECT_EQ(found, any);
        EXPECT_EQ(masks[blocks].separator, untouched.separator);  // nothing past the last block
        EXPECT_EQ(kernels.find_first(text.get(), size, set), first);
      }
    }
  });
}

// At every place of texts of every length up to several rounds of the widest vectors, behind which
// there is another.
TEST(Kernels, EveryTargetFindsTheFirst) {
  ForEachTarget([](const Kernels& kernels) {
    const ByteSet set = Whitespace();
    for (size_t size = 0; size < 600; size += size < 70 ? 1 : 13) {
      const std::unique_ptr<char[]> text(new char[size]);
      std::fill_n(text.get(), size, 'a');
      EXPECT_EQ(kernels.find_first(text.get(), size, set), size);
      for (size_t at = size; at-- > 0;) {
        text[at] = ' ';
        EXPECT_EQ(kernels.find_first(text.get(), size, set), at);
        if (at % 7 != 0) text[at] = 'a';
      }
    }
  });
}

}  // namespace
}  // namespace rankfeed::simd
