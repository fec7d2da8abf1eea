// SPDX-License-Identifier: MIT
// The four forms against ICU restricted to the code points of Unicode 9.0, and the ranges of the
// tokenizers 0.23.2 wheel (read off its normalizers' alignments).
#include "normalize/unicode_forms.h"

#include <gtest/gtest.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>
#include <unicode/unistr.h>

#include <random>
#include <string>
#include <vector>

#include "normalize/table_model.h"
#include "support/sanitizers.h"

namespace rankfeed::normalize {
namespace {

using image::Op;

const TableModel& Tables() {
  static const TableModel tables({Op::kNfc, Op::kNfkc});
  return tables;
}

std::string Normalize(Form form, std::string_view input, std::string* ranges = nullptr) {
  const size_t capacity = input.size() * 33 + 64;
  OwnedText in(input, capacity), out(capacity);
  uint32_t* const work[3] = {out.work[0].data(), out.work[1].data(), out.work[2].data()};
  EXPECT_TRUE(RunForm(Tables().model(), form, work, in.text, &out.text));
  if (ranges != nullptr) *ranges = out.ranges();
  return out.string();
}

class Icu {
 public:
  Icu() : known_(icu::UnicodeString(u"[:age=9.0:]"), error_) {
    known_.freeze();
    EXPECT_TRUE(U_SUCCESS(error_));
  }
  std::string Run(Form form, const std::string& input) {
    const icu::Normalizer2* base =
        icu::Normalizer2::getInstance(nullptr, form.compatible ? "nfkc" : "nfc",
                                      form.composed ? UNORM2_COMPOSE : UNORM2_DECOMPOSE, error_);
    const icu::FilteredNormalizer2 filtered(*base, known_);
    std::string out;
    icu::UnicodeString normalized;
    filtered.normalize(icu::UnicodeString::fromUTF8(input), normalized, error_);
    normalized.toUTF8String(out);
    EXPECT_TRUE(U_SUCCESS(error_));
    return out;
  }

 private:
  UErrorCode error_ = U_ZERO_ERROR;
  icu::UnicodeSet known_;
};

constexpr Form kForms[] = {{false, false}, {false, true}, {true, false}, {true, true}};

TEST(UnicodeForms, EveryCodePointAsInIcu) {
  Icu icu;
  for (const Form form : kForms) {
    // With sanitizers a part of those beyond the alphabets.
    for (char32_t c = 1; c <= utf8::kMaxCodePoint; c += kSanitized && c >= 0x3400 ? 11 : 1) {
      if ((c >= 0xd800 && c <= 0xdfff) || (c >= 0x30000 && c < 0xe0000)) continue;
      char bytes[4];
      const std::string text(bytes, utf8::Encode(c, bytes));
      ASSERT_EQ(Normalize(form, text), icu.Run(form, text)) << std::hex << static_cast<uint32_t>(c);
    }
  }
}

TEST(UnicodeForms, RandomSequencesAsInIcu) {
  Icu icu;
  std::mt19937 random(7);
  // Bases, marks of many classes, Hangul parts, characters that compose with what they follow.
  const std::vector<char32_t> kPool = {
      'a',     'e',     'o',     'q',     0xe9,   0x1ea5, 0x1e69, 0x212b, 0x300,   0x301,
      0x302,   0x307,   0x308,   0x31b,   0x323,  0x327,  0x328,  0x334,  0x338,   0x345,
      0x344,   0x3b1,   0x1f00,  0x1f84,  0x5b0,  0x5bc,  0x64b,  0x651,  0x93c,   0x915,
      0x958,   0x9c7,   0x9be,   0xb47,   0xb3e,  0xf71,  0xf72,  0xf73,  0xf74,   0xf80,
      0x1100,  0x1112,  0x1161,  0x1175,  0x11a7, 0x11a8, 0x11c2, 0xac00, 0xac01,  0xd788,
      0x3099,  0x309a,  0x304b,  0xfb01,  0xfdfa, 0x2460, 0xff76, 0xff9e, 0x110a5, 0x110ba,
      0x1d165, 0x1d16d, 0x1d15e, 0x16d63, 0x897,  ' ',    '\n'};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) {
      char bytes[4];
      text.append(bytes, utf8::Encode(kPool[random() % kPool.size()], bytes));
    }
    for (const Form form : kForms) ASSERT_EQ(Normalize(form, text), icu.Run(form, text)) << text;
  }
}

TEST(UnicodeForms, LongRunsOfMarksAreSortedStably) {
  // More marks than the insertion sort takes, in falling classes with two marks in each.
  std::string text = "a", want = "a";
  for (int i = 0; i < 100; ++i) text += "\u0301\u0300\u0323\u0327";
  for (int i = 0; i < 100; ++i) want += "\u0327";
  for (int i = 0; i < 100; ++i) want += "\u0323";
  for (int i = 0; i < 100; ++i) want += "\u0301\u0300";
  EXPECT_EQ(Normalize({false, false}, text), want);
}

TEST(UnicodeForms, Ranges) {
  std::string ranges;
  Normalize({false, false}, "\u00e9x", &ranges);
  EXPECT_EQ(ranges, "e:0-2 \u0301:0-2 x:2-3");
  Normalize({false, true}, "e\u0301x", &ranges);
  EXPECT_EQ(ranges, "\u00e9:0-1 x:3-4");
  // Sorted marks take their changes along, but the input is consumed in its own order.
  Normalize({false, false}, "e\u0301\u0323x", &ranges);
  EXPECT_EQ(ranges, "e:0-1 \u0323:1-3 \u0301:3-5 x:5-6");
}

TEST(UnicodeForms, OutputTooSmall) {
  OwnedText in("\u1e69\u1e69", 64), out(5);
  uint32_t* const work[3] = {out.work[0].data(), out.work[1].data(), out.work[2].data()};
  EXPECT_FALSE(RunForm(Tables().model(), {false, false}, work, in.text, &out.text));
}

}  // namespace
}  // namespace rankfeed::normalize
