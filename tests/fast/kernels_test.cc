// SPDX-License-Identifier: MIT
// Every SIMD target against the scalar definition, at all alignments and around vector widths, in
// buffers that end where the text ends.
#include "fast/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "builder/base/code_points.h"
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
      ByteSet stop_bytes;
      stop_bytes.Add(static_cast<uint8_t>(random() % 128));
      const bool found = kernels.classify_splits(text.get(), size, stop_bytes, masks.data());
      bool any = false;
      const size_t blocks = (size + 63) / 64;
      for (size_t i = 0; i < blocks * 64; ++i) {
        const auto byte = static_cast<uint8_t>(i < size ? text[i] : '\t');
        const SplitMasks& m = masks[i / 64];
        const bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
        any |= stop_bytes.Has(byte);
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
      EXPECT_EQ(found, any);
      EXPECT_EQ(masks[blocks].spaces, untouched.spaces);  // nothing past the last block
    }
  });
}

// Tables of no vocabulary, and bytes that are characters or not.
struct RandomCharacters {
  explicit RandomCharacters(std::mt19937& random) : blocks(0x1100), classes(5 * 256), pairs(image::kPairBits / 64) {
    for (uint16_t& block : blocks) block = static_cast<uint16_t>(random() % 5);
    for (uint8_t& of : classes) of = static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 16);
    for (uint64_t& bits : pairs) bits = uint64_t{random()} << 32 | random();
    for (uint8_t& kind : tables.kinds) kind = static_cast<uint8_t>(random() % 8);
    for (size_t n = random() % 20; n > 0; --n) tables.plain.Add(static_cast<uint8_t>(0xc2 + random() % 46));
    for (size_t n = random() % 20; n > 0; --n) tables.cuts.Add(static_cast<uint8_t>(0xc2 + random() % 46));
    tables.blocks = blocks.data();
    tables.classes = classes.data();
    tables.pairs = pairs.data();
    tables.uncut_lasts = random() % 2 == 0 ? 0 : uint64_t{random()} << 32 | random();
    tables.unstable = random() % 2 == 0 ? 0 : 0xc0;
  }
  static std::string Text(std::mt19937& random, size_t size) {
    std::string text;
    while (text.size() < size) {
      const uint32_t kind = random() % 16;
      const char32_t c = kind < 6 ? 0x80 + random() % 0x780 : kind < 12 ? 0x800 + random() % 0xf800 : random() % 0x80;
      if (kind == 15) {
        builder::AppendUtf8(0x10000 + random() % 0x100000, &text);
      } else if (c < 0xd800 || c >= 0xe000) {
        builder::AppendUtf8(c, &text);
      }
    }
    return text.substr(0, size);
  }
  std::vector<uint16_t> blocks;
  std::vector<uint8_t> classes;
  std::vector<uint64_t> pairs;
  CharacterTables tables;
};

TEST(Kernels, EveryIsaClassifiesLeadsAsTheDefinition) {
  fast_test::OnEveryIsa([] {
    const KernelTable& kernels = fast_test::ForcedKernels();
    std::mt19937 random(4);
    RandomCharacters characters(random);
    for (size_t round = 0; round < 65 * 60; ++round) {
      if (round % 65 == 0) characters = RandomCharacters(random);
      const CharacterTables& tables = characters.tables;
      const size_t size = round % 65, left = size + (random() % 2 == 0 ? random() % 70 : 0);
      const bool valid = round % 2 == 0;
      std::string made = RandomCharacters::Text(random, left);
      for (size_t i = 0; i < left && !valid; ++i) made[i] = random() % 8 == 0 ? static_cast<char>(random()) : made[i];
      const std::unique_ptr<char[]> text(new char[left]);
      std::copy(made.begin(), made.end(), text.get());
      made.resize(left + 4);  // zeros
      LeadMasks m;
      kernels.classify_leads(text.get(), size, left, tables, &m);
      size_t asked = 0;
      for (size_t i = 0; i < 64; ++i) {
        const auto byte = static_cast<uint8_t>(i < size ? made[i] : 0);
        const bool plain = tables.plain.Has(byte), four = byte >= 0xf0, ask = byte >= 0xc0 && !plain && !four;
        ASSERT_EQ(m.inner >> i & 1, byte >= 0x80 && byte < 0xc0 ? 1u : 0u);
        ASSERT_EQ(m.leads >> i & 1, byte >= 0xc0 ? 1u : 0u);
        ASSERT_EQ(m.threes >> i & 1, byte >= 0xe0 ? 1u : 0u);
        ASSERT_EQ(m.fours >> i & 1, four ? 1u : 0u);
        ASSERT_EQ(m.cuts >> i & 1, tables.cuts.Has(byte) ? 1u : 0u);
        if (ask && ++asked > 32) continue;
        uint64_t kind = plain ? CharacterTables::kALetter : 0;
        bool unsure = four;
        if (ask) {
          uint32_t bytes;
          const char32_t c = utf8::DecodeValid(made.data() + i, &bytes);
          // Where bytes that go on are missing, it may be any, and masks of inner bytes tell.
          if (!utf8::IsContinuation(made[i + 1]) || (bytes == 3 && !utf8::IsContinuation(made[i + 2]))) continue;
          const uint8_t of = characters.classes[characters.blocks[c >> 8] * 256u + c % 256];
          kind = tables.kinds[of % 16];
          unsure = c < (bytes == 2 ? 0x80u : 0x800u) || (c >= 0xd800 && c < 0xe000) || (of & tables.unstable) != 0;
        }
        for (uint32_t k = 0; k < 3; ++k) ASSERT_EQ(m.kinds[k] >> i & 1, kind >> k & 1) << i;
        ASSERT_EQ(m.unsure >> i & 1, unsure ? 1u : 0u) << i;
      }
    }
  });
}

TEST(Kernels, EveryIsaFindsCharactersApartAsTheDefinition) {
  fast_test::OnEveryIsa([] {
    const KernelTable& kernels = fast_test::ForcedKernels();
    std::mt19937 random(5);
    RandomCharacters characters(random);
    for (size_t round = 0; round < 3000; ++round) {
      if (round % 100 == 0) characters = RandomCharacters(random);
      std::string made = RandomCharacters::Text(random, random() % 140);
      while (!made.empty() && !utf8::IsValid(made)) made.pop_back();
      const std::unique_ptr<char[]> text(new char[made.size()]);
      std::copy(made.begin(), made.end(), text.get());
      const auto first = static_cast<char32_t>(random() % 0xd800);
      char32_t before = first, last = first;
      uint64_t leads = 0, apart = 0;
      for (size_t i = 0; i < std::min<size_t>(made.size(), 64); ++i) {
        const auto byte = static_cast<uint8_t>(made[i]);
        if (byte < 0xc2 || byte >= 0xf0 || random() % 8 == 0) continue;
        uint32_t bytes;
        const char32_t c = utf8::DecodeValid(made.data() + i, &bytes);
        leads |= uint64_t{1} << i;
        apart |= uint64_t{!characters.tables.MayHold(last, c)} << i;
        last = c;
      }
      if (leads == 0) continue;
      ASSERT_EQ(kernels.find_apart(text.get(), made.size(), leads, characters.tables, &before), apart);
      ASSERT_EQ(before, last);
    }
  });
}

}  // namespace
}  // namespace rankfeed::fast
