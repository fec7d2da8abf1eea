// SPDX-License-Identifier: MIT
// The fast path against the general path: the same model with and without its engine, ids and offsets,
// in both parity modes, over the published pipeline forms, stress strings, every cache size
// and every SIMD target.
#include "fast/engine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/utf8.h"
#include "fast/guarded_page.h"
#include "fast/word_forms.h"
#include "support/sanitizers.h"

namespace rankfeed {
namespace {

using namespace fast_test;  // NOLINT: the test's own vocabulary

class UnigramEngine : public EachForm {};
RANKFEED_EACH_FORM(UnigramEngine);

TEST_P(UnigramEngine, EqualsThePlainPathOnStressTexts) {
  ASSERT_TRUE(fast::Available(*model()));
  Encoder plain = Make(model(), true, 0);
  Encoder none = Make(model(), false, 0);
  Encoder tiny = Make(model(), false, 128);
  Encoder large = Make(model(), false, 1 << 20);
  std::mt19937_64 random(7);
  for (int round = 0; round < static_cast<int>(Sampled(20000)); ++round) {
    const std::string text = Text(random);
    const uint32_t flags = round % 5 == 0 ? uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS} : 0;
    const std::vector<int32_t> expected = Encode(plain, text, flags);
    ASSERT_EQ(Encode(none, text, flags), expected) << testing::PrintToString(text);
    ASSERT_EQ(Encode(tiny, text, flags), expected) << testing::PrintToString(text);
    ASSERT_EQ(Encode(large, text, flags), expected) << testing::PrintToString(text);
  }
}

TEST_P(UnigramEngine, OffsetsEqualThoseOfThePlainPath) {
  Encoder plain = Make(model(), true, 0);
  auto fast = Encoder::Create(model(), 1 << 16, /*offsets=*/true, 1 << 12);
  ASSERT_TRUE(fast);
  std::mt19937_64 random(17);
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  for (int round = 0; round < static_cast<int>(Sampled(5000)); ++round) {
    std::string text;
    for (size_t parts = 1 + random() % 3; parts > 0; --parts) text += Text(random);
    constexpr uint32_t kUnits[] = {0, RANKFEED_OFFSETS_CODE_POINTS, RANKFEED_OFFSETS_UTF16};
    options.flags = kUnits[round % 3];
    Encoding expected, encoding;
    ASSERT_FALSE(plain.Encode(text, options, &expected));
    ASSERT_FALSE(fast->Encode(text, options, &encoding));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(encoding, expected, text));
  }
  const RoadCounts roads = fast->Roads();
  const bool known = (model()->segment.config->rules & image::kNoOffsets) == 0;
  EXPECT_EQ(roads[RANKFEED_REASON_NONE].texts != 0, known);
}

// What only the general path takes goes there with the words around it, and their places are those
// that they have in the whole text.
TEST_P(UnigramEngine, OffsetsOfAPartEqualThoseOfThePlainPath) {
  const std::vector<std::string> words = {"the", "quick", "Fox,", "\u00fcber", "\u0434\u0430", "(a)",
                                          "x-ray", "42", "\u4e2d\u6587", "don't", "\U0001f600"};
  const std::vector<std::string> odd = {"\xff", "\u2581", "e\u0301\u0323", "\xe4\xb8", "\u0600a",
                                        "\U00012000 \U00012000\U00012001", "\u200b\u0301"};
  if ((model()->segment.config->rules & image::kNoOffsets) != 0) return;
  Encoder plain = Make(model(), true, 0);
  auto fast = Encoder::Create(model(), 1 << 16, /*offsets=*/true, 1 << 12);
  ASSERT_TRUE(fast);
  std::mt19937_64 random(19);
  const rankfeed_encode_options options{sizeof(options), 0};
  uint64_t bytes = 0, left = 0;
  for (int round = 0; round < static_cast<int>(Sampled(60)); ++round) {
    std::string text = round % 16 == 0 ? odd[random() % odd.size()] : "";
    for (size_t i = 0; i < 300; ++i) {
      if (i != 0) text += i % 50 == 49 ? "  " : " ";
      text += random() % 300 == 0 ? odd[random() % odd.size()] : words[random() % words.size()];
      if (random() % 300 == 0) text += odd[random() % odd.size()];
    }
    Encoding expected, encoding;
    ASSERT_FALSE(plain.Encode(text, options, &expected));
    ASSERT_FALSE(fast->Encode(text, options, &encoding));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(encoding, expected, text));
    bytes += text.size();
  }
  for (uint32_t reason = 1; reason < RANKFEED_REASON_COUNT; ++reason) {
    left += fast->Roads()[reason].bytes;
  }
  if (form().name == "A" || form().name == "SentencePiece") {
    EXPECT_LT(left, bytes / 5);
  }
}

// Long enough that sums of float32 lose bits and margins have to decide.
TEST_P(UnigramEngine, EqualsThePlainPathOnLongTexts) {
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 1 << 18);
  std::mt19937_64 random(11);
  for (size_t round = 0; round < Scaled(20, 5); ++round) {
    std::string text;
    while (text.size() < 50000) {
      const std::string part = sp_test::StressText(random, 12);
      // U+2581 and bad bytes would send all of the text down the general path.
      if (utf8::IsValid(part) && part.find("\u2581") == std::string::npos &&
          part.find('\0') == std::string::npos) {
        text += part + (random() % 4 == 0 ? "" : " ");
      }
    }
    text.resize(50000);
    while (utf8::IsContinuation(text.back())) text.pop_back();
    text.pop_back();
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << round;
  }
}

TEST_P(UnigramEngine, EveryIsaGivesTheSameIdsAndReadsOnlyTheText) {
  if (!IsOneOf({"B", "SentencePiece", "SentencePiece 0.2.1"})) return;
  GuardedPage page;
  Encoder plain = Make(model(), true, 0);
  OnEveryIsa(model(), [&](Encoder& fast) {
    std::mt19937_64 random(17);
    for (int round = 0; round < static_cast<int>(Sampled(5000)); ++round) {
      std::string text = Text(random);
      if (random() % 2 == 0) text.resize(std::min<size_t>(text.size(), random() % 80));
      ASSERT_LE(text.size(), 4096u);
      const std::vector<int32_t> expected = Encode(plain, text, 0);
      ASSERT_EQ(Encode(fast, page.AtEnd(text), 0), expected) << testing::PrintToString(text);
      ASSERT_EQ(Encode(fast, page.AtBegin(text), 0), expected) << testing::PrintToString(text);
    }
  });
}

// Where only some are taken, each form has other ones than the form before it.
TEST_P(UnigramEngine, EqualsThePlainPathOnEveryCodePoint) {
  const uint32_t dense = kSanitized ? 29 : SweepsAll() ? 1 : 3, step = kSanitized ? 1217 : SweepsAll() ? 1 : 211;
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  for (char32_t cp = static_cast<uint32_t>(GetParam()) % dense; cp < 0x110000; cp += cp < 0x3400 ? dense : step) {
    if (cp >= 0xd800 && cp < 0xe000) continue;
    char bytes[4];
    const std::string c(bytes, utf8::Encode(cp, bytes));
    const std::string text = c + " a" + c + "b, " + c + "\u0301x\t" + c + c + "." + c + "7" + c + "(";
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << std::hex << uint32_t{cp};
  }
}

// All texts of four characters out of those that may be read together with their neighbours: what
// begins charsmap keys, what is one, marks of every length, separators, common bytes.
TEST_P(UnigramEngine, EqualsThePlainPathOnEveryOrderOfMarks) {
  if (!IsOneOf({"B", "DeBERTa, punctuation", "DeBERTa of transformers 5, punctuation", "SentencePiece",
                "SentencePiece 0.2.1"})) {
    return;
  }
  const std::vector<std::string> characters = {
      " ",      "\t",     "\u3000", "\u9f98", ",",          "<",      "5",      "a",      "\u00e9",
      "\u00bd", "\u00a9", "\uff21", "\uff76", "\u304b",     "\u0928", "\u0627", "\uac00", "\u0600",
      "\u0301", "\u0338", "\u0340", "\u0345", "\u064b",     "\u0654", "\u093c", "\u093f", "\u0e33",
      "\u3099", "\uff9e", "\u200c", "\u200d", "\U0001d165", "\u201c", "\u00a0", "\ufeff", "="};
  const size_t count = characters.size(), step = kSanitized ? 1009 : SweepsAll() ? 1 : 97;
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  for (size_t n = 0; n < count * count * count * count; n += step) {
    std::string text;
    for (size_t k = 0, rest = n; k < 4; ++k, rest /= count) text += characters[rest % count];
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
  }
}

// Marks that a segment begins with are in one cluster with the separator or sign before it, but not
// with a control character, and a charsmap takes whole clusters. Segments of the same marks come
// behind each of them, and batches end in the middle of what marks become.
TEST_P(UnigramEngine, EqualsThePlainPathWhereSegmentsBeginWithMarks) {
  const std::vector<std::string> units = {"\u0344", "\u0344", "\u200d", "\u0301", "\u0340",
                                          "\u0338", "\u0345", "\u00ad", "\ufdfa",
                                          "\"",     "`",      ",",      "<",      "5",
                                          " ",      "\t",     "\n",     "\r",     "\x01",
                                          "a",      "\u00a8", "</s>",   "\u044d", "\u0438",
                                          "\u0306", "\u304b", "\u3099"};
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  std::mt19937_64 random(43);
  for (int round = 0; round < static_cast<int>(Sampled(3000)); ++round) {
    std::vector<std::string> few;
    for (size_t i = 0; i < 4; ++i) few.push_back(units[random() % units.size()]);
    const bool is_long = round % 20 == 0;
    if (is_long) few = {units[10 + random() % 4], units[random() % units.size()], "\u200d"};
    few.push_back(units[random() % 4]);
    std::string text;
    const size_t size = is_long ? 6000 : 1 + random() % 40;
    while (text.size() < size) text += few[random() % few.size()];
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
  }
}

// Which of those a control character is, where an element in front of the charsmap made a space of one.
TEST(UnigramEngine, EqualsThePlainPathWhereMarksFollowControlCharacters) {
  const json base = DefaultTokenizer();
  json file = base;
  file["normalizer"] = Sequence("normalizers", {Replace("\t", " "), base["normalizer"]});
  file["pre_tokenizer"] = Metaspace("always");
  const Image image(file);
  ASSERT_TRUE(fast::Available(*image.model()));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  const std::string marks = "\u0344\u0344";
  EXPECT_NE(Encode(plain, "a\t" + marks, 0), Encode(plain, "a\n" + marks, 0));
  for (const char* before : {"\t", "\n", " ", "\r"}) {
    for (const char* behind : {"\t", "\n", " ", "\r"}) {
      // Both segments of marks have the same behind them.
      const std::string text =
          "a" + (before + marks) + "a" + (behind + marks) + "a" + behind + "a";
      EXPECT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
    }
  }
}

// Short stretches between added tokens, of what vanishes, becomes spaces or is white space of other
// kinds, marks and signs: what a stretch begins and ends with decides about the U+2581 in front of it
// and what a Strip drops. The same segments come at the begin and elsewhere.
TEST_P(UnigramEngine, EqualsThePlainPathAtEndsOfStretches) {
  const std::vector<std::string> units = {
      "</s>",   "</s>",   "</s>",   " ",      "  ",     "\r",     "\n",     "\t",     "\x0c",
      "\x01",   "\x7f",   "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u200b", "\u3000",
      "\ufeff", "\u00ad", "\u200d", "\u00a8", "\ufdfa", "\u00bd", "\u2026", "\u0600", "\u0301",
      "\u0338", "\u0323", "\u3099", "\u0e33", "\u0344", "<",      "=",      ",",      ".",
      "`",      "'",      "a",      "e",      "\u00e9", "\u304b", "\u1112", "\u1161", "\u11ab",
      "\uac00", "\u2581", "\U00012000"};
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  auto placed = Encoder::Create(model(), 1 << 16, /*offsets=*/true, 1 << 12);
  ASSERT_TRUE(placed);
  std::mt19937_64 random(29);
  const rankfeed_encode_options options{sizeof(options), 0};
  for (int round = 0; round < static_cast<int>(Sampled(20000)); ++round) {
    const size_t used = 3 + random() % (units.size() - 3), size = 1 + random() % 9;
    std::vector<std::string> few;
    for (size_t i = 0; i < 6; ++i) few.push_back(units[random() % used]);
    std::string text;
    for (size_t i = 0; i < size; ++i) {
      text += round % 2 == 0 ? few[random() % few.size()] : units[random() % units.size()];
    }
    Encoding expected, encoding;
    ASSERT_FALSE(plain.Encode(text, options, &expected));
    ASSERT_EQ(Encode(fast, text, 0), expected.input_ids) << testing::PrintToString(text);
    ASSERT_FALSE(placed->Encode(text, options, &encoding));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(encoding, expected, text));
  }
  if (form().name == "RemBERT" || form().name == "DeBERTa of transformers 5, punctuation") {
    const uint64_t before = fast.Roads()[RANKFEED_REASON_NONE].texts;
    for (const char* text : {"a</s>\x01\ufdfa</s>b", "</s>=\u0338</s>a"}) Encode(fast, text, 0);
    // A sign with a mark after it takes the general path.
    EXPECT_EQ(fast.Roads()[RANKFEED_REASON_NONE].texts - before, form().name == "RemBERT" ? 2u : 1u);
  }
}

// White space that a Strip takes away may be an added token.
TEST(UnigramEngine, EqualsThePlainPathWhereStrippedWhiteSpaceIsAToken) {
  for (const char* name : {"DeBERTa", "DeBERTa, punctuation", "DeBERTa of transformers 5", "A"}) {
    SCOPED_TRACE(name);
    json file = Form(name).tokenizer();
    const auto id = static_cast<int>(file["model"]["vocab"].size());
    json token = file["added_tokens"][0];
    token["id"] = id;
    token["content"] = "\n";
    file["added_tokens"].push_back(token);
    const Image image(file);
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 4096);
    for (const char* text : {"a\n", "\na", "\n", " a \n ", "\n\n", "a\n\u0085", "a \n\x0c"}) {
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
    }
  }
}

// Characters that marks make others of, behind such that a word is cut at: where it was cut depends
// on the character without its mark, of which there are fewer pieces. Also where a batch ends there.
TEST(UnigramEngine, EqualsThePlainPathBehindCutsThatMarksUndo) {
  const std::vector<std::string> characters = {
      "\u4e8e", "\u306e", "\u044d", "\u0438", "\u0456", "\u043e", "\u304b",
      "\u306f", "\u0306", "\u0308", "\u3099", "\u309a", "a",      "\u200c"};
  const size_t count = characters.size(), step = kSanitized ? 97 : 1;
  const Image& image = ImageOf(Form("B"));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  for (size_t n = 0; n < count * count * count * count; n += step) {
    std::string text = "\u4e8e";
    for (size_t k = 0, rest = n; k < 4; ++k, rest /= count) text += characters[rest % count];
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
    text.erase(0, 3);  // behind the cut is the U+2581 then
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
  }
  for (size_t n = 1000; n < 4200; n += step) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += characters[i % 2];
    text += "\u044d\u0438\u0306\u304b\u3099";
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << n;
  }
}

TEST(UnigramEngine, EqualsThePlainPathOnLongWords) {
  const Image& image = ImageOf(Form("B"));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 4096);
  for (const size_t size : {23, 24, 25, 31, 32, 33, 63, 64, 65, 1000, 2046, 2047, 2048, 5000, 65000}) {
    for (const std::string unit : {"a", "ab", "\u4e2d", "\u0e01\u0e33", "\U0001f600"}) {
      std::string word;
      while (word.size() + unit.size() <= size) word += unit;
      for (const std::string& text : {word, " " + word, word + " ", "x " + word + " y"}) {
        if (text.size() > 65536) continue;
        ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << unit << " " << size;
      }
    }
  }
}

// U+FDFA is four words, U+00A8 a space and a mark. Texts are longer than a batch, so that it ends
// inside of them too.
TEST_P(UnigramEngine, EqualsThePlainPathOnCharactersThatBecomeSeveralWords) {
  const std::vector<std::string> units = {"\ufdfa", "\ufdfa", "\ufdfa", "\ufdfb", "\u00a8",
                                          "\ufe70", "a",      "\u0301", "\u0650", "\u4e2d",
                                          "<",      ",",      " ",      "\u3388", "\u2026",
                                          "\U00010480\U00010481", "qqqqqqqqqqqqqqqqqqqz"};
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  std::mt19937_64 random(23);
  for (int round = 0; round < static_cast<int>(Sampled(400)); ++round) {
    const size_t used = 1 + random() % units.size(),
                 size = random() % (round % 8 == 0 ? 60000 : 3000);
    std::string text;
    while (text.size() < size) text += units[random() % used];
    ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0))
        << round << ": " << testing::PrintToString(text);
  }
}

// A batch that ends behind a character that becomes a space: what comes next is read with it.
TEST_P(UnigramEngine, EqualsThePlainPathWhereALongSegmentGoesOnBehindASpace) {
  const char* const kBehind[] = {"\u00a0\u0301x", "\u3000\u0323", "\u00a8\u0301x", "\ufdfa\u0301",
                                 "\u00a0\u0600\ufdfa"};
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  for (size_t size = 4040; size < 4104; size += kSanitized ? 5 : 1) {
    for (const char* behind : kBehind) {
      const std::string text = std::string(size, 'a') + behind;
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << size << " " << behind;
    }
  }
}

// A batch that ends inside of the first character of a segment, which becomes several words: the
// segment goes on at its begin, yet is no whole one that could be normalized once more.
TEST_P(UnigramEngine, EqualsThePlainPathWhereASegmentGoesOnInsideItsFirstCharacter) {
  const char* const kSegments[] = {"\ufdfa\ufe70a\u0301", "\ufdfa\u00a8\u0301x",
                                   "\ufdfa\ufdfaa\u0301\u0323", "\ufdfa\u0e33\u0301",
                                   "\ufdfa\ufdfb\u0650\u0301"};
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  for (size_t size = 3930; size < 3980; size += kSanitized ? 5 : 1) {
    for (const char* segment : kSegments) {
      const std::string text = std::string(size, 'a') + " " + segment + " b";
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << size << " " << segment;
    }
  }
}

// A run that fills a batch is one span in parts, also where segments before it became nothing.
TEST_P(UnigramEngine, EqualsThePlainPathWhereNothingComesBeforeAPart) {
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  for (const char* before : {"\u3000 ", "\u3000 \u200b\u3000 ", "x \u3000 "}) {
    for (const std::string unit : {"a", "\u2026"}) {
      std::string text = before;
      for (int i = 0; i < 4500; ++i) text += unit;
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << before << unit;
      text += "\ufdfb b";
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << before << unit;
    }
  }
}

// A longer key of the charsmap may begin with a character that is a space alone, and a space that
// is dropped in front of a text is told from it.
TEST(UnigramEngine, EqualsThePlainPathWhereKeysBeginWithASpace) {
  for (const auto& [prefix, remove] :
       {std::pair{false, true}, {true, true}, {false, false}, {true, false}}) {
    SCOPED_TRACE(testing::Message() << "prefix " << prefix << ", remove " << remove);
    sp_test::ModelProto change;
    change.normalizer.add_dummy_prefix = prefix;
    change.normalizer.remove_extra_whitespaces = remove;
    change.normalizer.charsmap = sp_test::MakeCharsmap({{"\u00a0", " "},
                                                         {"\u00a0b", "c"},
                                                         {"\u3000", " "},
                                                         {"\u3000\u0301", "a"},
                                                         {"\u3000\u00a0e", "d"},
                                                         {"\u0001", ""}});
    const Image image(DefaultModel() + sp_test::Serialize(change));
    ASSERT_TRUE(fast::Available(*image.model()));
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 4096);
    std::mt19937_64 random(37);
    const char* const parts[] = {"\u00a0", "\u3000", "\u0301", "\u0001",
                                 "b",      "e",      "bear",   " ",      "\n"};
    for (int round = 0; round < static_cast<int>(Sampled(20000)); ++round) {
      std::string text;
      for (size_t i = 1 + random() % 6; i > 0; --i) text += parts[random() % std::size(parts)];
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
    }
  }
}

// What vanishes in front of the charsmap leaves CR and LF around it together, wherever else in the
// text it comes.
TEST(UnigramEngine, EqualsThePlainPathWhereWhatVanishesComesAgainBetweenLineEnds) {
  const json base = DefaultTokenizer(), charsmap = base["normalizer"];
  for (const std::vector<json>& before :
       {std::vector<json>{Replace("x", "")}, {Type("NFKD"), Type("StripAccents")}, {Type("Nmt")}}) {
    json file = base;
    std::vector<json> elements = before;
    elements.push_back(charsmap);
    file["normalizer"] = Sequence("normalizers", elements);
    file["pre_tokenizer"] = Metaspace("always");
    SCOPED_TRACE(file["normalizer"]["normalizers"][0].dump());
    const Image image(file);
    ASSERT_TRUE(fast::Available(*image.model()));
    Encoder plain = Make(image.model(), true, 0);
    Encoder fast = Make(image.model(), false, 4096);
    std::mt19937_64 random(41);
    const char* const parts[] = {"a",  " ",        "\r",        "\n", "\r\x01\n", "\r\u0301\n",
                                 "x",  "\u0301",   "\rx\n",     "\x01", " \x01 ", "</s>"};
    for (int round = 0; round < static_cast<int>(Sampled(20000)); ++round) {
      std::string text;
      for (size_t i = 1 + random() % 9; i > 0; --i) text += parts[random() % std::size(parts)];
      ASSERT_EQ(Encode(fast, text, 0), Encode(plain, text, 0)) << testing::PrintToString(text);
    }
  }
}

TEST(UnigramEngine, EqualsThePlainPathOnXquad) {
  const std::string vocabulary = sp_test::SharedData("xlmr.tokenizer.json");
  if (vocabulary.empty()) GTEST_SKIP() << "no xlmr.tokenizer.json in RANKFEED_SHARED_DATA";
  const Image image(sp_test::ReadFile(vocabulary));
  ASSERT_TRUE(fast::Available(*image.model()));
  Encoder plain = Make(image.model(), true, 0);
  Encoder fast = Make(image.model(), false, 1 << 20);
  const size_t step = kSanitized ? 30 : SweepsAll() ? 1 : 3;
  size_t texts = 0;
  for (const char* language : sp_test::kXquadLanguages) {
    const auto lines =
        sp_test::ReadTexts(sp_test::SharedData(std::string("xquad/") + language + ".jsonl"));
    for (size_t i = 0; i < lines.size(); i += step, ++texts) {
      ASSERT_EQ(Encode(fast, lines[i], 0), Encode(plain, lines[i], 0)) << lines[i];
    }
  }
  EXPECT_GE(texts, 17160u / step);
}

// Pipelines whose words depend on each other must not be offered the word path.
TEST(UnigramEngine, IsNotAvailableWhereWordsAreNotIndependent) {
  json base = DefaultTokenizer();
  base["model"]["vocab"].get_ref<json::array_t&>().resize(1000);  // compiles faster
  const auto with = [&](const json& normalizer, const json& pre_tokenizer) {
    json file = base;
    file["normalizer"] = normalizer;
    file["pre_tokenizer"] = pre_tokenizer;
    return file;
  };
  json unsplit = kMetaspace;
  unsplit["split"] = false;
  const json precompiled = base["normalizer"];
  const json punctuation = {{"type", "Punctuation"}, {"behavior", "Isolated"}};
  const json files[] = {
      with(precompiled, Sequence("pretokenizers", {punctuation, kMetaspace})),
      with(precompiled, Sequence("pretokenizers", {Type("WhitespaceSplit"), unsplit})),
      with(Sequence("normalizers", {precompiled, Replace(" ", "\u2581")}),
           Sequence("pretokenizers", {Type("WhitespaceSplit"), kMetaspace})),
      with(precompiled, nullptr),
      with({{"type", "Prepend"}, {"prepend", "a"}}, kMetaspace),
  };
  for (const json& file : files) {
    const Image image(file);
    EXPECT_FALSE(fast::Available(*image.model())) << file["normalizer"]["type"];
  }
}

class ShortStretches : public EachForm {};
RANKFEED_EACH_FORM(ShortStretches);

// A text repeats a few short stretches between added tokens. Some of them leave the fast road. Special
// tokens are treated in every way in turn.
TEST_P(ShortStretches, BetweenAddedTokensAreAsOnThePlainPath) {
  const std::vector<std::string> tokens = {"<s>", "</s>", "<mask>", "[unk]", "<unk>"};
  const std::vector<std::string> atoms = {"a",  " ",      "\u0301", "<\u0338", "\u2057<\u0301", "\ufdfa",
                                          "\t", "\u1680", "\u00a0", "\x04",   "the",           "\u2581"};
  constexpr uint32_t kFlags[] = {0, RANKFEED_SPLIT_SPECIAL_TOKENS, RANKFEED_ESCAPE_SPECIAL};
  Encoder plain = Make(model(), true, 0);
  Encoder fast = Make(model(), false, 4096);
  std::mt19937_64 random(3);
  for (int round = 0; round < static_cast<int>(Scaled(400)); ++round) {
    std::vector<std::string> stretches(1 + random() % 6);
    for (std::string& stretch : stretches) {
      for (size_t n = 1 + random() % 4; n > 0; --n) stretch += atoms[random() % atoms.size()];
    }
    std::string text;
    const size_t size = random() % 4 == 0 ? 9000 : random() % 300;
    while (text.size() < size) {
      text += stretches[random() % stretches.size()] + tokens[random() % tokens.size()];
    }
    const uint32_t flags = kFlags[random() % 3];
    ASSERT_EQ(Encode(fast, text, flags), Encode(plain, text, flags)) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace rankfeed
