// SPDX-License-Identifier: MIT
// Normalizers, pre-tokenizers, search and offsets of HuggingFace mode against fixed expectations of
// the tokenizers 0.23.2 wheel, and the rules that have no wheel to ask: bad UTF-8, errors, limits.
#include "reference/hf_encode.h"

#include <gtest/gtest.h>

#include "reference/hf_tiny.h"

namespace rankfeed::hf_test {
namespace {

struct Case {
  const char *normalizer, *pre_tokenizer;
  std::vector<std::pair<const char*, const char*>> texts;  // and what each becomes
};

// clang-format off
const Case kCases[] = {
    {kNone, kAlways,
     {{"hello world", "33:0-5 34:5-11"},
      {"hello  world ", "33:0-5 4:5-6 34:6-12 4:12-13"},
      {"", ""},
      {"a\011b", "23:0-1 0:1-2 6:2-3"},
      {"\342\226\201a", "23:0-2"},
      {"ab abc", "27:0-2 27:2-5 7:5-6"},
      {"ooooo", "4:0-1 35:0-2 36:2-5"},
      {"\346\227\245\346\234\254\346\227\245", "4:0-1 39:0-2 38:2-3"},
      {"x", "4:0-1 0:0-1"},
      {"xyz a", "4:0-1 0:0-3 23:3-5"},
      {"x y", "4:0-1 0:0-1 4:1-2 0:2-3"},
      {"a </s> b", "23:0-1 4:1-2 2:2-6 24:6-8"},
      {"<mask>  a", "41:0-6 4:6-7 23:7-9"},
      {"a   <mask>b", "23:0-1 41:1-10 24:10-11"},
      {"<s></s>", "1:0-3 2:3-7"},
      {"</s", "4:0-1 0:0-3"},
      {"a<s>", "23:0-1 1:1-4"}}},
    {kNone, kFirst,
     {{"hello world", "33:0-5 34:5-11"},
      {"a<mask>b", "23:0-1 41:1-7 6:7-8"},
      {"a </s> b", "23:0-1 4:1-2 2:2-6 24:6-8"}}},
    {kNone, kNever,
     {{"hello world", "28:0-2 11:2-3 31:3-5 34:5-11"},
      {" a", "23:0-2"}}},
    {kNone, kWhole,
     {{"ab ab", "27:0-2 27:2-5"},
      {"a  b", "23:0-1 4:1-2 24:2-4"}}},
    {kNone, kNone,
     {{"ab ab", "25:0-2 0:2-3 25:3-5"}}},
    {kNone, kWords,
     {{"hello world", "33:0-5 34:6-11"},
      {"a\302\205b\302\240a", "23:0-1 24:2-3 23:4-5"},
      {"  a  ", "23:2-3"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true}]})",
     {{"hello world", "33:0-5 15:6-7 12:7-8 13:8-9 11:9-10 8:10-11"}}},
    {kNone, R"({"type":"Whitespace"})",
     {{"ab, ab.1", "25:0-2 18:2-3 25:4-6 19:6-7 16:7-8"},
      {"\303\251\314\201'a", "22:0-1 21:1-2 20:2-3 5:3-4"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Removed"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a,.b", "23:0-1 24:3-4"},
      {"ab, ab.", "27:0-2 27:3-6"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Isolated"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a,.b", "23:0-1 4:1-2 18:1-2 4:2-3 19:2-3 24:3-4"},
      {"ab, ab.", "27:0-2 4:2-3 18:2-3 27:3-6 4:6-7 19:6-7"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"MergedWithPrevious"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a,.b", "23:0-1 18:1-2 4:2-3 19:2-3 24:3-4"},
      {"ab, ab.", "27:0-2 18:2-3 27:3-6 19:6-7"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"MergedWithNext"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a,.b", "23:0-1 4:1-2 18:1-2 4:2-3 19:2-3 6:3-4"},
      {"ab, ab.", "27:0-2 4:2-3 18:2-3 27:3-6 4:6-7 19:6-7"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a,.b", "23:0-1 4:1-2 18:1-2 19:2-3 24:3-4"},
      {"ab, ab.", "27:0-2 4:2-3 18:2-3 27:3-6 4:6-7 19:6-7"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a12b1", "23:0-1 37:1-2 4:2-3 17:2-3 24:3-4 37:4-5"}}},
    {kNone, R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":false},{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}]})",
     {{"a12b1", "23:0-1 37:1-2 17:2-3 24:3-4 37:4-5"}}},
    {kNone, R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed","invert":false})",
     {{"abba", "5:0-1 5:3-4"}}},
    {kNone, R"({"type":"Split","pattern":{"String":"b"},"behavior":"Removed","invert":true})",
     {{"abba", "6:1-2 6:2-3"}}},
    {kNone, R"({"type":"Split","pattern":{"String":"ab"},"behavior":"MergedWithNext","invert":false})",
     {{"ababa", "25:0-2 25:2-4 5:4-5"}}},
    {R"({"type":"Strip","strip_left":true,"strip_right":true})", kAlways,
     {{"  ab \343\200\200", "27:2-4"},
      {"\342\200\213ab", "4:0-1 0:0-1 25:1-3"},
      {"   ", ""}}},
    {R"({"type":"Strip","strip_left":false,"strip_right":true})", kFirst,
     {{" ab ", "27:0-3"}}},
    {R"({"type":"Lowercase"})", kAlways,
     {{"HELLO", "33:0-5"},
      {"\316\221\303\211", "4:0-1 0:0-1 22:1-2"},
      {"\304\260a", "4:0-1 0:0-1 5:1-2"}}},
    {R"({"type":"NFC"})", kAlways,
     {{"e\314\201", "4:0-1 22:0-1"},
      {"e\314\243\314\201", "4:0-1 0:0-1 21:2-3"},
      {"\314\201e", "4:0-1 21:0-1 9:1-2"}}},
    {R"({"type":"NFD"})", kAlways,
     {{"\303\251", "4:0-1 9:0-1 21:0-1"},
      {"\303\251\314\243", "4:0-1 9:0-1 0:1-2 21:1-2"},
      {"\352\260\200", "4:0-1 0:0-1"}}},
    {R"({"type":"NFKC"})", kAlways,
     {{"\357\254\201a", "4:0-1 0:0-1 5:1-2"},
      {"\342\221\240e\314\201", "37:0-1 22:1-2"},
      {"\357\275\201", "23:0-1"}}},
    {R"({"type":"NFKD"})", kAlways,
     {{"\302\275\303\251", "37:0-1 0:0-1 17:0-1 9:1-2 21:1-2"},
      {"\357\267\272", "4:0-1 0:0-1 4:0-1 0:0-1 4:0-1 0:0-1 4:0-1 0:0-1"}}},
    {R"({"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Lowercase"}]})", kAlways,
     {{"\303\211\303\200\314\201B", "4:0-1 9:0-1 25:1-4"},
      {"\314\201a", "23:1-2"}}},
    {R"({"type":"Nmt"})", kAlways,
     {{"\001a\002b\357\273\277a", "27:1-4 23:4-6"}}},
    {R"({"type":"Prepend","prepend":"ab"})", kAlways,
     {{"c", "27:0-1 7:0-1"},
      {"", ""}}},
    {R"({"type":"Replace","pattern":{"String":"ab"},"content":"c"})", kAlways,
     {{"ababa", "4:1-2 7:1-2 7:3-4 5:4-5"},
      {"d", "4:0-1 8:0-1"}}},
    {R"({"type":"Replace","pattern":{"String":","},"content":""})", kAlways,
     {{"a,b,", "27:0-3"}}},
    {R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})", kAlways,
     {{"a  b c   d", "23:0-1 24:2-4 4:4-5 7:5-6 4:8-9 8:9-10"}}},
    {R"({"type":"Replace","pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" "})", kAlways,
     {{"a\012b \011 c d\343\200\200\343\200\200e\302\240a", "23:0-1 24:1-3 4:5-6 7:6-7 4:7-8 8:8-9 4:10-11 9:11-12 0:12-13 5:13-14"}}},
};
// clang-format on

TEST(HfEncode, EqualsTheWheel) {
  for (const Case& c : kCases) {
    TinyFile file;
    file.normalizer = c.normalizer;
    file.pre_tokenizer = c.pre_tokenizer;
    Engine engine(file);
    for (const auto& [text, want] : c.texts) {
      EXPECT_EQ(engine.Encode(text), want) << c.normalizer << "\n" << c.pre_tokenizer << "\n\"" << text << '"';
    }
  }
}

TinyFile Plain() {
  TinyFile file;
  file.pre_tokenizer = kAlways;
  return file;
}

// Python: bytes.decode("utf-8", "replace"), then the wheel. Offsets are those bytes.
TEST(HfEncode, BadUtf8IsReplacedByMaximalSubparts) {
  Engine engine(Plain());
  EXPECT_EQ(engine.Encode("a\xff"
                          "b",
                          0, true),
            "23:0-1 0:1-2 6:2-3");
  EXPECT_EQ(engine.Encode("a\xe6\x97"
                          "b",
                          0, true),
            "23:0-1 0:1-3 6:3-4");
  EXPECT_EQ(engine.Encode("a\xed\xa0\x80"
                          "b",
                          0, true),
            "23:0-1 0:1-4 6:4-5");
  EXPECT_EQ(engine.Encode("a\xe6\x97"
                          "b",
                          0, false),
            "23:0-1 0:1-2 6:2-3");
  EXPECT_EQ(engine.Encode("a\xf0\x9f", 0, true), "23:0-1 0:1-3");
}

TEST(HfEncode, BadUtf8CanMatchAnAddedReplacementCharacter) {
  TinyFile file = Plain();
  file.added = {{"\xef\xbf\xbd", 0}};
  Engine engine(file);
  EXPECT_EQ(engine.Encode("a\xff"
                          "b",
                          0, true),
            "23:0-1 41:1-2 24:2-3");
  EXPECT_EQ(engine.Encode("a\xf0\x9f"
                          "b",
                          0, true),
            "23:0-1 41:1-3 24:3-4");
}

TEST(HfEncode, ByteFallbackNeedsEveryByte) {
  TinyFile file = Plain();
  file.byte_fallback = true;  // only <0x41> is in the vocabulary
  Engine engine(file);
  EXPECT_EQ(engine.Encode("AA"), "4:0-1 40:0-2 40:0-2");
  EXPECT_EQ(engine.Encode("AB"), "4:0-1 0:0-2");
}

TEST(HfEncode, NoUnknownId) {
  TinyFile file = Plain();
  file.unk_id = "null";
  Engine engine(file);
  EXPECT_EQ(engine.Encode("hello"), "33:0-5");
  EXPECT_EQ(engine.Encode("x"), "RANKFEED_E_UNK_ID");
}

TEST(HfEncode, SpecialInTextCanBeRefused) {
  Engine engine(Plain());
  EXPECT_EQ(engine.Encode("a</s>", RANKFEED_ERROR_ON_SPECIAL), "RANKFEED_E_SPECIAL_IN_TEXT");
  EXPECT_EQ(engine.Encode("a</s", RANKFEED_ERROR_ON_SPECIAL), engine.Encode("a</s"));
  EXPECT_EQ(engine.Encode("a</s>", RANKFEED_ERROR_ON_SPECIAL | RANKFEED_SPLIT_SPECIAL_TOKENS),
            engine.Encode("a</s>", RANKFEED_SPLIT_SPECIAL_TOKENS));
}

// A literal "<unk>" that reaches the model has the unknown id, so it fuses with unknown neighbours.
TEST(HfEncode, LiteralUnknownFuses) {
  Engine engine(Plain());
  EXPECT_EQ(engine.Encode("<unk>"), "4:0-1 0:0-5");
  EXPECT_EQ(engine.Encode("x<unk>y"), "4:0-1 0:0-7");
}

// A file whose added tokens are looked for in normalized text; they have the ids from 3 on, behind
// a vocabulary of three.
std::string SmallFile(const std::string& normalizer, const std::string& prepend_scheme,
                      const std::string& vocab, const std::vector<Added>& tokens) {
  std::string added;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool single_word = (tokens[i].flags & image::kSingleWord) != 0;
    added += (i != 0 ? R"(,{"id":)" : R"({"id":)") + std::to_string(3 + i) + R"(,"content":")" +
             tokens[i].content + R"(","single_word":)" + (single_word ? "true" : "false") +
             R"(,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
  }
  return R"({"version":"1.0","added_tokens":[)" + added + R"(],"normalizer":)" + normalizer +
         R"(,"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":")" +
         prepend_scheme +
         R"(","split":true},"model":{"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":)" +
         vocab + "}}";
}

// The ids of tokenizers 0.23.3, here and below. What single_word looks at is the text, also where
// that is a token.
TEST(HfEncode, NormalizedTokensBesideOneAnother) {
  Engine engine(SmallFile(
      R"({"type":"NFC"})", "never", R"([["<unk>",-14],["a",-1],["b",-2]])",
      {{"d", 0}, {"<", image::kSingleWord}, {"\u00e9", 0}, {"ab", image::kSingleWord}}));
  EXPECT_EQ(engine.Encode("d<"), "3:0-1 0:1-2");
  EXPECT_EQ(engine.Encode("\u00e9<"), "5:0-1 0:1-2");
  EXPECT_EQ(engine.Encode("d <"), "3:0-1 0:1-2 4:2-3");
  EXPECT_EQ(engine.Encode("\u00e9ab"), "5:0-1 1:1-2 2:2-3");
  EXPECT_EQ(engine.Encode("dab"), "3:0-1 1:1-2 2:2-3");
  EXPECT_EQ(engine.Encode("d<<"), "3:0-1 0:1-2 4:2-3");
  EXPECT_EQ(engine.Encode("\u00e9 \u00e9<"), "5:0-1 0:1-2 5:2-3 0:3-4");
}

// Another character of ASCII becomes the one that a token begins with, or its last.
TEST(HfEncode, NormalizedTokensOfReplacedCharacters) {
  Engine engine(SmallFile(R"({"type":"Sequence","normalizers":[)"
                          R"({"type":"Replace","pattern":{"String":"`"},"content":"'"},)"
                          R"({"type":"Replace","pattern":{"String":"+"},"content":"x"}]})",
                          "always", R"([["<unk>",-14],["\u2581'",-1],["x",-2]])", {{"'x", 0}}));
  for (const char* const text : {"'x", "`x", "'+", "`+"}) {
    EXPECT_EQ(engine.Encode(text), "3:0-2") << text;
    EXPECT_EQ(engine.Ids(text), std::vector<int32_t>{3}) << text;
    EXPECT_EQ(engine.Ids(std::string("a") + text + "`"), (std::vector<int32_t>{0, 3, 1})) << text;
  }
}

// What a run of spaces was counted in, or a Strip dropped, is no space any more behind the next step.
TEST(HfEncode, SpacesThatBecomeLettersBehindARunOrAStrip) {
  const std::string letters = R"({"type":"Replace","pattern":{"String":" "},"content":"A"}]})";
  const auto behind = [&](const std::string& element) {
    return SmallFile(R"({"type":"Sequence","normalizers":[{"type":"Nmt"},)" + element + "," + letters,
                     "always", R"([["<unk>",-14],["\u2581A",-1],["A",-2]])", {});
  };
  Engine run(behind(R"({"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})"));
  EXPECT_EQ(run.Ids("\r\n"), std::vector<int32_t>{1});
  EXPECT_EQ(run.Ids("A\r\n\tA"), (std::vector<int32_t>{1, 2, 2}));
  Engine strip(behind(R"({"type":"Strip","strip_left":true,"strip_right":true})"));
  EXPECT_EQ(strip.Ids("\r\nA\r\n"), std::vector<int32_t>{1});
  EXPECT_EQ(strip.Ids("A\r\nA"), (std::vector<int32_t>{1, 2, 2, 2}));
}

// Scores so large that the segment is searched again, where a token might have begun with its "<".
TEST(HfEncode, SegmentsSearchedAgainKeepTheirTokens) {
  Engine engine(SmallFile(R"({"type":"NFD"})", "never",
                          R"([["<unk>",-141],["<mask>",0],["  A\u2581",-180000]])",
                          {{"<<s>>", 0}}));
  EXPECT_EQ(engine.Encode("<mask>e\u0301\u0323ab\u06dd1"), "1:0-6 0:6-13");
  EXPECT_EQ(engine.Ids("<mask>e\u0301\u0323ab\u06dd1"), (std::vector<int32_t>{1, 0}));
}

// The same of as many characters as a segment that is kept may have, and of more.
TEST(HfEncode, SegmentsSearchedAgainKeepTheirLastCharacter) {
  Engine engine(SmallFile(R"({"type":"NFD"})", "never",
                          R"([["<unk>",-141],["a",-1],["bxx",-180000],["bxa",-180000],["\u2581",-1]])", {}));
  for (size_t n = 700; n < 1100; ++n) {
    const std::string text = "e\u0301\u0323" + std::string(n, 'x') + "a", at = std::to_string(3 + n);
    EXPECT_EQ(engine.Ids(text), (std::vector<int32_t>{0, 1})) << n;
    EXPECT_EQ(engine.Encode(text), "0:0-" + at + " 1:" + at + "-" + std::to_string(4 + n));
  }
}

// What two characters are replaced by may begin with a space, so that no U+2581 comes before it.
TEST(HfEncode, ReplacedAtTheBeginOfAText) {
  Engine engine(SmallFile(R"({"type":"Replace","pattern":{"String":"``"},"content":" "})", "always",
                          R"([["<unk>",-14],["\u2581",-1],["\u2581a",-2],["`",-3]])", {}));
  EXPECT_EQ(engine.Encode("``"), "1:1-2");
  EXPECT_EQ(engine.Encode("``a"), "2:1-3");
  EXPECT_EQ(engine.Encode("`a"), "1:0-1 3:0-1 0:1-2");
  EXPECT_EQ(engine.Encode("```a"), "1:1-2 3:2-3 0:3-4");
}

// The same where what stands between them has vanished.
TEST(HfEncode, ReplacedAtTheBeginOfATextAroundWhatVanishes) {
  Engine engine(SmallFile(R"({"type":"Sequence","normalizers":[)"
                          R"({"type":"Replace","pattern":{"String":"\u200b"},"content":""},)"
                          R"({"type":"Replace","pattern":{"String":"``"},"content":" "}]})",
                          "always",
                          R"([["<unk>",-14],["\u2581",-1],["\u2581a",-2],["`",-3]])", {}));
  for (const char* const text : {"``a", "`\u200b`a", "`\u200b\u200b`a", "\u200b`\u200b`a"}) {
    EXPECT_EQ(engine.Ids(text), std::vector<int32_t>{2}) << text;
  }
  EXPECT_EQ(engine.Ids("`\u200ba"), (std::vector<int32_t>{1, 3, 0}));
}

// A letter that marks make another one of, which shares a piece with the digit or sign before it.
TEST(HfEncode, LettersThatComposeBesideADigit) {
  constexpr char kPieces[] = R"([["<unk>",-14],["1\u00e9",-1],["1",-5],["\u00e9",-5],["\u2581",-9],["-\u1ebf",-1],["-",-5],)"
                             R"(["\u1ebf",-5],["1\uac01",-1],["\uac01",-5]])";
  for (const char* const normalizer : {R"({"type":"NFC"})", R"({"type":"NFKC"})",
                                       R"({"type":"Sequence","normalizers":[{"type":"Lowercase"},{"type":"NFC"}]})",
                                       R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]})"}) {
    Engine engine(SmallFile(normalizer, "never", kPieces, {}));
    for (const char* const text : {"1\u00e9", "1e\u0301"}) EXPECT_EQ(engine.Ids(text), std::vector<int32_t>{1}) << normalizer;
    for (const char* const text : {"-\u1ebf", "-\u00ea\u0301", "-e\u0302\u0301"}) {
      EXPECT_EQ(engine.Ids(text), std::vector<int32_t>{5}) << normalizer;
    }
    for (const char* const text : {"1\uac01", "1\uac00\u11a8", "1\u1100\u1161\u11a8"}) {
      EXPECT_EQ(engine.Ids(text), std::vector<int32_t>{8}) << normalizer;
    }
    if (std::string_view(normalizer).find("Lowercase") == std::string_view::npos) continue;
    EXPECT_EQ(engine.Ids("1E\u0301"), std::vector<int32_t>{1}) << normalizer;
    EXPECT_EQ(engine.Ids("-E\u0302\u0301"), std::vector<int32_t>{5}) << normalizer;
  }
}

// Each would take minutes if any stage were quadratic.
TEST(HfEncode, LongTextsAreLinear) {
  constexpr size_t kBytes = 1 << 20;
  TinyFile file = Plain();
  file.normalizer = R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Replace",)"
                    R"("pattern":{"Regex":" {2,}"},"content":" "}]})";
  Engine engine(file);
  const auto repeat = [&](std::string_view s) {
    std::string text;
    while (text.size() < kBytes) text += s;
    return text;
  };
  for (const char* unit :
       {"o", " ", "\xcc\x81", "\xcc\xa3\xcc\x81", "<mask>", " <mask>", "</s>", "<mas"}) {
    const std::string text = repeat(unit);
    EXPECT_FALSE(engine.Encode(text, 0, true).empty()) << unit;
  }
}

}  // namespace
}  // namespace rankfeed::hf_test
