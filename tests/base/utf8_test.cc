// SPDX-License-Identifier: MIT
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rankfeed::utf8 {
namespace {

std::vector<uint32_t> Sizes(std::string_view text) {
  std::vector<uint32_t> sizes;
  for (size_t pos = 0; pos < text.size(); pos += sizes.back()) {
    sizes.push_back(Decode(text, pos).size);
  }
  return sizes;
}

TEST(Utf8, EveryScalarValueSurvives) {
  for (char32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    char bytes[4];
    const uint32_t size = Encode(c, bytes);
    ASSERT_EQ(size, EncodedSize(c));
    const Decoded d = Decode({bytes, size}, 0);
    ASSERT_TRUE(d.valid);
    ASSERT_EQ(d.code_point, c);
    ASSERT_EQ(d.size, size);
    uint32_t again = 0;
    ASSERT_EQ(DecodeValid(bytes, &again), c);
    ASSERT_EQ(again, size);
    ASSERT_EQ(SizeFromLead(static_cast<unsigned char>(bytes[0])), size);
    // Every proper prefix is one bad sequence, as a whole.
    for (uint32_t cut = 1; cut < size; ++cut) {
      const Decoded bad = Decode({bytes, cut}, 0);
      ASSERT_FALSE(bad.valid);
      ASSERT_EQ(bad.size, cut);
    }
  }
}

// Python 3.11: len(bytes.decode("utf-8", "replace")) and where each U+FFFD begins; the examples of
// the Unicode Standard 15, section 3.9, tables 3-8 to 3-11, and the bounds of table 3-7.
TEST(Utf8, MaximalSubparts) {
  using V = std::vector<uint32_t>;
  EXPECT_EQ(Sizes("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), (V{1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Sizes("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), (V{1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Sizes("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), (V{1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(Sizes("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), (V{2, 1, 3, 2, 1}));
  EXPECT_EQ(Sizes("\xf5\x80\xc1\xbf"), (V{1, 1, 1, 1}));
  EXPECT_EQ(Sizes("\xe0\xa0\xf4\x8f\xbf"), (V{2, 3}));
}

// Behind each character a byte more, and each cut short: the quick cases must not look beyond the
// end.
TEST(Utf8, CodePointAtIsDecodes) {
  for (char32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    char bytes[5];
    const uint32_t size = Encode(c, bytes);
    bytes[size] = static_cast<char>(0x80);
    for (uint32_t cut = 1; cut <= size + 1; ++cut) {
      const std::string text(bytes, cut);  // of its own, so that AddressSanitizer sees its end
      ASSERT_EQ(CodePointAt(text, 0), Decode(text, 0).code_point) << uint32_t{c} << " " << cut;
    }
  }
}

TEST(Utf8, CodePointAtIsDecodesForBadBytes) {
  const unsigned char kNext[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xff};
  for (unsigned lead = 0; lead < 256; ++lead) {
    for (const unsigned char second : kNext) {
      for (const unsigned char third : kNext) {
        for (size_t size = 1; size <= 3; ++size) {
          const char bytes[] = {static_cast<char>(lead), static_cast<char>(second),
                                static_cast<char>(third)};
          const std::string text(bytes, size);
          ASSERT_EQ(CodePointAt(text, 0), Decode(text, 0).code_point)
              << lead << " " << +second << " " << +third;
        }
      }
    }
  }
}

TEST(Utf8, PreviousUndoesDecode) {
  const unsigned char kBytes[] = {0x00, 0x41, 0x80, 0x8f, 0x90, 0xa0, 0xbf, 0xc1,
                                  0xc3, 0xe0, 0xe6, 0xed, 0xf0, 0xf1, 0xf4, 0xff};
  constexpr int kKinds = sizeof kBytes;
  std::string text(6, '\0');
  for (int n = 0; n < kKinds * kKinds * kKinds * kKinds * kKinds; ++n) {
    int rest = n;
    for (size_t i = 0; i < 5; ++i, rest /= kKinds)
      text[i] = static_cast<char>(kBytes[rest % kKinds]);
    text[5] = static_cast<char>(kBytes[n % 7]);
    for (size_t pos = 0; pos < text.size();) {
      const size_t next = pos + Decode(text, pos).size;
      ASSERT_EQ(Previous(text, next), pos) << n;
      pos = next;
    }
  }
}

}  // namespace
}  // namespace rankfeed::utf8
