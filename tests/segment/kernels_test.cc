// SPDX-License-Identifier: MIT
// Every SIMD target against the scalar definition, at all alignments and around vector widths, in
// buffers that end where the text ends.
#include "segment/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "segment/word_forms.h"

namespace rankfeed::segment {
namespace {

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

TEST(Kernels, EveryIsaClassifiesAsTheDefinition) {
  segment_test::OnEveryIsa([] {
    const KernelTable& kernels = segment_test::ForcedKernels();
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
        const bool found = kernels.classify(text.get(), size, {set, common, letters, stop_bytes}, masks.data());
        bool any = false;
        const size_t blocks = (size + 63) / 64;
        for (size_t i = 0; i < blocks * 64; ++i) {
          const bool inside = i < size;
          const auto byte = static_cast<uint8_t>(inside ? text[i] : 0);
          const ClassMasks& m = masks[i / 64];
          any |= inside && stop_bytes.Has(byte);
          ASSERT_EQ(m.separator >> (i % 64) & 1, !inside || set.Has(byte) ? 1u : 0u) << size << " " << i;
          ASSERT_EQ(m.common >> (i % 64) & 1, inside && common.Has(byte) ? 1u : 0u) << size << " " << i;
          ASSERT_EQ(m.letter >> (i % 64) & 1, inside && letters.Has(byte) ? 1u : 0u) << size << " " << i;
        }
        EXPECT_EQ(found, any);
        EXPECT_EQ(masks[blocks].separator, untouched.separator);  // nothing past the last block
      }
    }
  });
}

}  // namespace
}  // namespace rankfeed::segment
