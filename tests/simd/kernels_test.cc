// SPDX-License-Identifier: MIT
// Every SIMD target against the scalar definition, at all alignments and around vector widths, in
// buffers that end where the text ends.
#include "simd/kernels.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

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
        std::vector<uint64_t> masks(size / 64 + 2, 0x5a5a5a5a5a5a5a5a);
        kernels.match_mask(text.get(), size, set, masks.data());
        size_t first = size;
        for (size_t i = 0; i < (size / 64 + 1) * 64; ++i) {
          const bool expected = i >= size || set.Has(static_cast<uint8_t>(text[i]));
          if (i < size && expected && first == size) first = i;
          ASSERT_EQ((masks[i / 64] >> (i % 64)) & 1, expected ? 1u : 0u) << size << " " << i;
        }
        EXPECT_EQ(masks[size / 64 + 1], 0x5a5a5a5a5a5a5a5a);  // nothing past the last word
        EXPECT_EQ(kernels.find_first(text.get(), size, set), first);
      }
    }
  });
}

}  // namespace
}  // namespace rankfeed::simd
