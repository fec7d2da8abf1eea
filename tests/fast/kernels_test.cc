// SPDX-License-Identifier: MIT
// Every SIMD target against the scalar definition, at all alignments and around vector widths, in
// buffers that end where the text ends.
#include "fast/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "fast/word_forms.h"

namespace rankfeed::fast {
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
  fast_test::OnEveryIsa([] {
    const KernelTable& kernels = fast_test::ForcedKernels();
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

TEST(Kernels, EveryIsaClassifiesSplitsAsTheDefinition) {
  fast_test::OnEveryIsa([] {
    const KernelTable& kernels = fast_test::ForcedKernels();
    std::mt19937 random(3);
    for (size_t size = 0; size < 300; ++size) {
      const std::unique_ptr<char[]> text(new char[size]);
      for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(random() % (size % 2 == 0 ? 256 : 128));
      SplitMasks untouched = {};
      untouched.spaces = 0x5a;
      std::vector<SplitMasks> masks(size / 64 + 2, untouched);
      const bool found = kernels.classify_splits(text.get(), size, masks.data());
      bool beyond = false;
      const size_t blocks = (size + 63) / 64;
      for (size_t i = 0; i < blocks * 64; ++i) {
        const auto byte = static_cast<uint8_t>(i < size ? text[i] : '\t');
        const SplitMasks& m = masks[i / 64];
        const bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
        beyond |= byte >= 0x80;
        for (const auto& [mask, has] :
             {std::pair(m.letters, letter), std::pair(m.digits, byte >= '0' && byte <= '9'),
              std::pair(m.spaces, byte == ' ' || (byte >= 9 && byte <= 13)), std::pair(m.blanks, byte == ' '),
              std::pair(m.newlines, byte == '\r' || byte == '\n'), std::pair(m.apostrophes, byte == '\''),
              std::pair(m.beyond_ascii, byte >= 0x80)}) {
          ASSERT_EQ(mask >> (i % 64) & 1, has ? 1u : 0u) << size << " " << i;
        }
      }
      for (size_t k = 0; k < blocks; ++k) {
        EXPECT_EQ(masks[k].inner | masks[k].parts | masks[k].runs | masks[k].begins | masks[k].joined, 0u);
      }
      EXPECT_EQ(found, beyond);
      EXPECT_EQ(masks[blocks].spaces, untouched.spaces);  // nothing past the last block
    }
  });
}

TEST(Kernels, EveryIsaClassifiesLeadsAsTheDefinition) {
  fast_test::OnEveryIsa([] {
    const KernelTable& kernels = fast_test::ForcedKernels();
    std::mt19937 random(4);
    for (size_t round = 0; round < 65 * 20; ++round) {
      const size_t size = round % 65;
      const std::unique_ptr<char[]> text(new char[size]);
      for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(random());
      LeadSet plain;
      bool is_plain[256] = {};
      for (size_t n = random() % 20; n > 0; --n) {
        const auto lead = static_cast<uint8_t>(0xc0 + random() % 64);
        plain.Add(lead);
        is_plain[lead] = true;
      }
      LeadMasks m;
      kernels.classify_leads(text.get(), size, plain, &m);
      for (size_t i = 0; i < 64; ++i) {
        const auto byte = static_cast<uint8_t>(i < size ? text[i] : 0);
        ASSERT_EQ(m.inner >> i & 1, byte >= 0x80 && byte < 0xc0 ? 1u : 0u);
        ASSERT_EQ(m.leads >> i & 1, byte >= 0xc0 ? 1u : 0u);
        ASSERT_EQ(m.threes >> i & 1, byte >= 0xe0 ? 1u : 0u);
        ASSERT_EQ(m.fours >> i & 1, byte >= 0xf0 ? 1u : 0u);
        ASSERT_EQ(m.plain >> i & 1, is_plain[byte] ? 1u : 0u);
      }
    }
  });
}

}  // namespace
}  // namespace rankfeed::fast
