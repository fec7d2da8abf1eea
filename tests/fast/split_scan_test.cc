// SPDX-License-Identifier: MIT
// Segments of patterns from masks against splits found one by one.
#include "fast/split_scan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "builder/split/split_pattern.h"
#include "builder/unicode/unicode_delta.h"
#include "fast/kernels/kernels.h"
#include "fast/scan.h"
#include "support/sanitizers.h"

namespace rankfeed::fast {
namespace {

constexpr char kSpaces[] = R"(\s+(?!\S)|\s+)", kAnyCase[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|",
               kLines[] = R"([\r\n]*|\s*[\r\n]+|)", kOthers[] = R"(| ?[^\s\p{L}\p{N}]+)",
               kLetters[] = R"([^\r\n\p{L}\p{N}]?\p{L}+|)";

struct Family {
  const char* name;
  std::string regex;
  uint32_t space_run;
};

std::vector<Family> Families() {
  const std::string gpt2 = std::string(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+)") + kOthers + "|" + kSpaces,
                    any_case = kAnyCase, letters = kLetters, lines = kLines, others = kOthers;
  return {{"GPT-2", gpt2, 0},
          {"ModernBERT", gpt2, 24},
          {"short runs", gpt2, 3},
          {"cl100k", any_case + letters + R"(\p{N}{1,3})" + others + lines + kSpaces, 0},
          {"Qwen2", any_case + letters + R"(\p{N})" + others + lines + kSpaces, 0},
          {"Qwen3.5", any_case + R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+)" + lines + kSpaces, 0},
          {"with runs", any_case + letters + R"(\p{N}{1,2})" + others + lines + kSpaces, 5},
          {"tiktoken", any_case + letters + R"( ?\p{N}++)" + others + R"(+[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)", 0},
          {"no contractions", R"( ?[\p{L}\p{M}]+| ?\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+|)" + std::string(kSpaces), 0}};
}

// A model with classes, a step with the pattern, and pairs of characters that pieces hold together.
struct Fake {
  Model model = {};
  image::Step step = {};
  std::vector<uint64_t> pairs = std::vector<uint64_t>(image::kPairBits / 64);

  Fake(uint32_t knobs, uint32_t space_run, bool marks_parts = true) {
    // Equal blocks once, as an image has them.
    static std::vector<uint16_t> blocks;
    static std::vector<uint8_t> classes;
    std::map<std::vector<uint8_t>, uint16_t> known;
    for (uint32_t block = 0; blocks.size() < 0x1100; ++block) {
      std::vector<uint8_t> of(256);
      for (uint32_t i = 0; i < 256; ++i) of[i] = builder::HfSplitClass(static_cast<UChar32>(block * 256 + i));
      const auto [it, added] = known.try_emplace(of, static_cast<uint16_t>(known.size()));
      if (added) classes.insert(classes.end(), of.begin(), of.end());
      blocks.push_back(it->second);
    }
    model.split_classes = {blocks.data(), classes.data(), classes.size()};
    step.op = static_cast<uint32_t>(image::Op::kSplitPattern);
    step.arg0 = knobs;
    model.pre_tokenizer = {&step, 1};
    image::SegmentConfig config = {};
    config.rules = image::kPatternSplits | (marks_parts ? uint32_t{image::kPartsHaveKeys} : 0);
    config.space_run = space_run;
    config.uncut_lasts = uint64_t{1} << (U'\u3042' & 0x3f);
    config.uncut_firsts = uint64_t{1} << (0xc2 & 0x3f);
    model.segment.config = config;
    for (const auto& [a, b] : {std::pair(U'\u4e2d', U'\u6587'), std::pair(U'\u3002', U'\u4e2d'), std::pair(U'\u03b1', U'\u03c9'),
                               std::pair(U'\u03b1', U'\u4e2d')}) {
      const uint32_t bit = image::PairBit(a, b);
      pairs[bit / 64] |= uint64_t{1} << (bit % 64);
    }
    model.segment.spanned_pairs = pairs;
  }
};

// The bytes of the character at a place, if it may be cut from one beside it; else 0.
size_t CutSize(const Fake& fake, std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if ((lead & 0xf0) == 0xe0) return 3;
  if (lead < 0xc0 || lead >= 0xe0 || (fake.model.segment.config->uncut_firsts >> (lead & 0x3f) & 1) != 0) return 0;
  for (uint32_t c = (lead & 0x1f) << 6, end = c + 64; c < end; ++c) {
    const uint8_t of = fake.model.split_classes[c];
    if (of < split::kUpper || of > split::kLetter) return 2;
  }
  return 0;  // all that begin with this byte are letters
}

// Ends of segments one by one, as the pattern and runs of blanks say, those of parts of splits with kWordStart.
std::vector<uint32_t> Expected(const Fake& fake, std::string_view text) {
  const split::Pattern pattern(fake.model, fake.step.arg0);
  const uint32_t space_run = fake.model.segment.config->space_run;
  const bool marks_parts = (fake.model.segment.config->rules & image::kPartsHaveKeys) != 0;
  std::vector<uint32_t> ends;
  const auto split = [&](size_t begin, size_t end) {
    const std::string_view part = text.substr(begin, end - begin);
    for (size_t at = 0; at < part.size();) {
      const size_t next = pattern.End(part, at), first = ends.size();
      for (size_t i = at; i < next; ++i) {
        const size_t after = i + CutSize(fake, part, i);
        if (after == i || after >= next || CutSize(fake, part, after) == 0) continue;
        const char32_t a = utf8::CodePointAt(part, i), b = utf8::CodePointAt(part, after);
        const bool uncut = (fake.model.segment.config->uncut_lasts >> (a & 0x3f) & 1) != 0;
        if (!image::Spanned(fake.pairs.data(), a, b) && !uncut) ends.push_back(static_cast<uint32_t>(begin + after));
      }
      ends.push_back(static_cast<uint32_t>(begin + next));
      const bool whole = ends.size() == first + 1;
      for (size_t i = first; marks_parts && !whole && i < ends.size(); ++i) ends[i] |= Segments::kWordStart;
      at = next;
    }
  };
  size_t done = 0;
  for (size_t at = 0; at < text.size() && space_run != 0;) {
    const size_t run = std::min(text.find("  ", at), text.size());
    size_t end = std::min(text.find_first_not_of(' ', run), text.size());
    if (run == text.size()) break;
    split(done, run);
    const size_t left = (end - run) % space_run;
    if (left == 1) --end;
    for (size_t i = run; i < end; i += space_run) ends.push_back(static_cast<uint32_t>(std::min(i + space_run, end)));
    done = end;
    at = end + 1;
  }
  if (done < text.size()) split(done, text.size());
  return ends;
}

std::vector<uint32_t> Got(const Fake& fake, const KernelTable& kernels, std::string_view text, size_t bytes) {
  static std::vector<uint32_t> begins(SegmentScanner::kMaxSegments + 64), ends(begins.size());
  ByteSet stop_bytes;
  stop_bytes.Add('!');
  SplitScanner scanner(fake.model, kernels, stop_bytes);
  EXPECT_TRUE(scanner.Start(text));
  const std::string_view last = text.substr((text.size() - 1) / SplitBlocks::kMostBytes * SplitBlocks::kMostBytes);
  EXPECT_EQ(scanner.stopped(), last.find('!') != last.npos);
  std::vector<uint32_t> all;
  for (size_t at = 0; at < text.size();) {
    size_t end;
    const uint32_t count = scanner.Next(at, bytes, {begins.data(), ends.data()}, &end);
    EXPECT_GT(count, 0u);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t mark = begins[i] & Segments::kWordStart;
      EXPECT_EQ(begins[i] ^ mark, i == 0 ? at : ends[i - 1]);
      all.push_back(ends[i] | mark);
    }
    EXPECT_EQ(ends[count - 1], end);
    EXPECT_GT(end, at);
    at = end;
  }
  return all;
}

// Where they differ first; empty: nowhere.
std::string Difference(const std::vector<uint32_t>& got, const std::vector<uint32_t>& expected) {
  const size_t same = static_cast<size_t>(
      std::mismatch(got.begin(), got.end(), expected.begin(), expected.end()).first - got.begin());
  if (same == got.size() && same == expected.size()) return "";
  const auto at = [same](const std::vector<uint32_t>& ends) {
    return same < ends.size() ? std::to_string(ends[same]) : "none";
  };
  return "after " + (same == 0 ? "0" : std::to_string(got[same - 1])) + " got " + at(got) + ", expected " + at(expected);
}

const char* const kCharacters[] = {"a", "Z", "s", "ll", "'", "'s", "'RE", " ", " ", "  ", "\n", "\r\n", "\t", "1", "23", "!", "-", "/",
                                   "\u00e9", "\u00a0", "\u3000", "\u2028", "\u0301", "\u017f", "'\u017f", "\u4e2d", "\u6587", "\u3002",
                                   "\u03b1", "\u03c9", "\u0387", "\u3042", "\u0663", "\u2167", "\u200d", "\U0001f600", "\U0001d400", "\U0001d7ce", "\u0416", "\u00bd", ".\n"};

std::string RandomText(std::mt19937& random, size_t most) {
  const auto below = [&](size_t n) { return random() % n; };
  std::vector<const char*> pool;
  for (size_t n = 2 + below(6); n > 0; --n) pool.push_back(kCharacters[below(std::size(kCharacters))]);
  std::string text(below(70), "a !\n"[below(4)]);
  const size_t size = text.size() + below(most);
  while (text.size() < size) {
    const char* const piece = pool[below(pool.size())];
    const size_t times = below(12) == 0 ? below(100) : 1;
    for (size_t i = 0; i < times; ++i) text += piece;
  }
  return text;
}

TEST(SplitScan, EqualsThePattern) {
  std::mt19937 random(1);
  const char* const more = std::getenv("RANKFEED_SPLIT_TEXTS");
  const int texts = more != nullptr ? std::atoi(more) : 3000;
  for (const Family& family : Families()) {
    const auto knobs = builder::ReadSplitPattern(family.regex);
    ASSERT_TRUE(knobs) << family.regex;
    ASSERT_TRUE(SplitBlocks::Knows(*knobs)) << family.name;
    const Fake marking(*knobs, family.space_run), other(*knobs, family.space_run, /*marks_parts=*/false);
    for (int i = 0; i < texts; ++i) {
      const Fake& fake = i % 4 == 0 ? other : marking;
      const std::string text = RandomText(random, i % 50 == 0 ? 6000 : 300);
      if (text.empty()) continue;
      const size_t bytes = i % 3 == 0 ? 64 + random() % 300 : SplitBlocks::kMostBytes;
      const KernelTable* const kernels = KernelsOf(Isa{static_cast<uint8_t>(random() % kIsaCount)});
      if (kernels == nullptr) continue;
      ASSERT_EQ(Difference(Got(fake, *kernels, text, bytes), Expected(fake, text)), "")
          << family.name << " " << i << ", " << bytes << " bytes: " << testing::PrintToString(text);
    }
  }
}

// Every string of a few characters, at every place around the end of a word.
TEST(SplitScan, EqualsThePatternAroundWords) {
  const KernelTable* const kernels = KernelsOf(ChosenIsa());
  const char* const characters[] = {"a", "'", "s", " ", "\n", "\t", "1", "!", "\u3000", "\u0301", "\u03b1", "\u4e2d", "\U0001f600"};
  constexpr size_t kCount = std::size(characters), kLength = 4;
  for (const Family& family : Families()) {
    const Fake fake(*builder::ReadSplitPattern(family.regex), family.space_run);
    for (const char* before : {"a", "!", " "}) {
      std::string text;
      for (size_t number = 0; number < kCount * kCount * kCount * kCount; number += kSanitized ? 7 : 1) {
        text.assign(56 + number % 11, before[0]);
        for (size_t n = number, i = 0; i < kLength; ++i, n /= kCount) text += characters[n % kCount];
        text += "b c ,,d 12";
        ASSERT_EQ(Difference(Got(fake, *kernels, text, SplitBlocks::kMostBytes), Expected(fake, text)), "")
            << family.name << ": " << text;
      }
    }
  }
}

// Bytes of every kind: a text is stable as long as it is valid, without a normalizer.
TEST(SplitScan, StableAsFarAsValid) {
  const Fake fake(*builder::ReadSplitPattern(Families()[0].regex), 0);
  SplitScanner scanner(fake.model, *KernelsOf(ChosenIsa()), ByteSet());
  std::mt19937 random(2);
  const char* const bytes[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xe0\x80\x80", "\xed\xa0\x80", "\xe4\xb8",
                               "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xd0", "\xf0\x9f\x98"};
  for (int i = 0; i < 20000; ++i) {
    std::string text = RandomText(random, 200);
    for (size_t n = random() % 3; n > 0; --n) {
      text.insert(random() % (text.size() + 1), bytes[random() % std::size(bytes)]);
    }
    size_t valid = 0;
    while (valid < text.size() && utf8::Decode(text, valid).valid) valid += utf8::Decode(text, valid).size;
    ASSERT_EQ(scanner.Start(text), valid == text.size()) << testing::PrintToString(text);
    if (valid != text.size()) {
      ASSERT_EQ(scanner.stable_bytes(), valid) << testing::PrintToString(text);
    }
  }
}

TEST(SplitScan, KnowsNoOtherFamily) {
  for (const char* regex : {R"(\p{N})", R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|\p{N}| ?[\p{P}\p{S}]+|\s+(?!\S)|\s+)",
                            R"( ?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                            R"( ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+(?!\S)|\s+)"}) {
    const auto knobs = builder::ReadSplitPattern(regex);
    ASSERT_TRUE(knobs) << regex;
    EXPECT_FALSE(SplitBlocks::Knows(*knobs)) << regex;
  }
}

// The classes of a forged image may be any, of any character.
TEST(Pattern, EndsBetweenCharactersWhateverTheirClasses) {
  const std::vector<std::string> characters = {"a", " ", "'", "s", "\n", "\u00e9", "\u20ac", "\U0001f600", "\U0010ffff"};
  const std::vector<uint16_t> blocks(image::kCodePointBlocks);  // all the same one
  std::mt19937 random(71);
  for (int round = 0; round < static_cast<int>(Scaled(20000)); ++round) {
    std::vector<uint8_t> classes(256);
    for (uint8_t& kind : classes) kind = static_cast<uint8_t>(random() % (round % 2 == 0 ? 12 : 256));
    Model model = {};
    model.split_classes = {blocks.data(), classes.data(), classes.size()};
    const split::Pattern pattern(model, static_cast<uint32_t>(random()) & split::kMostKnobs);
    std::string text;
    for (size_t count = 1 + random() % 6; count > 0; --count) text += characters[random() % characters.size()];
    const std::vector<char> exact(text.begin(), text.end());
    for (size_t at = 0; at < exact.size();) {
      const size_t end = pattern.End({exact.data(), exact.size()}, at);
      ASSERT_TRUE(end > at && end <= exact.size()) << text << " from " << at << " to " << end;
      ASSERT_TRUE(end == exact.size() || !utf8::IsContinuation(exact[end])) << text << " to " << end;
      at = end;
    }
  }
}

}  // namespace
}  // namespace rankfeed::fast
