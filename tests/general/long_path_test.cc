// SPDX-License-Identifier: MIT
// general/long_path.h and the streams of characters under it against the arrays of the general
// path: every form of the fast road, elements that no form has, blocks of one character and more,
// scores that are carried, and texts that keep many paths open.
#include "support/lengthy.h"  // before the wrapper, which has a Model too

#include "encode/text_encoder.h"
#include "general/hf_encode.h"
#include "general/sp_encode.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "base/utf8.h"
#include "general/hf_tiny.h"
#include "general/sp_model_proto.h"
#include "segment/word_forms.h"
#include "support/sanitizers.h"
#include "support/test_engine.h"

namespace rankfeed {
namespace {

using namespace segment_test;  // NOLINT: the test's own vocabulary

struct Result {
  rankfeed_status status;
  std::vector<int32_t> ids;
  std::vector<uint32_t> begin, end;
  bool operator==(const Result&) const = default;
};

Result EncodeWith(Encoder& encoder, std::string_view text, const rankfeed_encode_options& options) {
  Encoding encoding;
  const bool offsets = encoder.get()->limits.with_offsets != 0;
  const Error error = encoder.Encode(text, options, &encoding);
  if (error) return {error.status, {}, {}, {}};
  Result result{RANKFEED_OK, encoding.input_ids, {}, {}};
  if (offsets) result.begin = encoding.offset_begin, result.end = encoding.offset_end;
  return result;
}

rankfeed_encode_options Options(uint32_t flags) {
  rankfeed_encode_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  return options;
}

// One model on both ways.
class Pair {
 public:
  Pair(const rankfeed_model* model, uint32_t block, uint32_t kept)
      : arrays_(Create(model)), lengthy_(Create(model)), way_(lengthy_.get(), block, kept) {
    arrays_.get()->engine.reset();
  }
  bool ok() const { return way_.ok(); }

  // Blocks may refuse a text.
  void CheckUnlessRefused(std::string_view text) {
    if (EncodeWith(lengthy_, text, Options(0)).status != RANKFEED_E_LIMIT) Check(text, Options(0));
  }
  void Check(std::string_view text, const rankfeed_encode_options& options) {
    const Result expected = EncodeWith(arrays_, text, options);
    const Result result = EncodeWith(lengthy_, text, options);
    ASSERT_EQ(result.status, expected.status) << testing::PrintToString(text);
    ASSERT_EQ(result.ids, expected.ids) << testing::PrintToString(text);
    ASSERT_EQ(result.begin, expected.begin) << testing::PrintToString(text);
    ASSERT_EQ(result.end, expected.end) << testing::PrintToString(text);
    if (options.flags != RANKFEED_ERROR_ON_SPECIAL) return;
    const auto [found, at] = Special(arrays_, text);
    const auto [lengthy_found, lengthy_at] = Special(lengthy_, text);
    ASSERT_EQ(lengthy_found, found) << testing::PrintToString(text);
    ASSERT_EQ(lengthy_at.id, at.id) << testing::PrintToString(text);
    ASSERT_EQ(lengthy_at.byte_begin, at.byte_begin) << testing::PrintToString(text);
    ASSERT_EQ(lengthy_at.byte_end, at.byte_end) << testing::PrintToString(text);
  }

 private:
  static std::pair<rankfeed_status, rankfeed_special_match> Special(Encoder& encoder,
                                                                    std::string_view text) {
    rankfeed_special_match match{};
    match.struct_size = sizeof(match);
    return {rankfeed_find_special(encoder.get(), {text.data(), text.size()}, &match), match};
  }
  Encoder Create(const rankfeed_model* model) const {
    auto encoder = Encoder::Create(model, 1 << 11, /*with_offsets=*/true, 0);
    EXPECT_TRUE(encoder) << encoder.error().message;
    return std::move(*encoder);
  }

  Encoder arrays_, lengthy_;
  test::Lengthy way_;
};

TEST(LongPath, EveryFormOfTheFastRoad) {
  for (const FormFile& form : Forms()) {
    SCOPED_TRACE(form.name);
    const Image& image = ImageOf(form);
    for (const uint32_t block : {1u, 7u, 64u}) {
      Pair pair(image.model(), block, 4);
      ASSERT_TRUE(pair.ok());
      std::mt19937_64 random(block);
      for (int round = 0; round < static_cast<int>(Scaled(300)); ++round) {
        std::string text;
        while (random() % 4 != 0 && text.size() < 1500) text += Text(random);
        text.resize(std::min<size_t>(text.size(), 2000));
        static constexpr uint32_t kFlags[] = {0, RANKFEED_SPLIT_SPECIAL_TOKENS,
                                              RANKFEED_ESCAPE_SPECIAL, RANKFEED_ERROR_ON_SPECIAL};
        pair.Check(text, Options(kFlags[random() % 4]));
        if (HasFatalFailure()) return;
      }
    }
  }
}

constexpr char kTrimming[] =
    R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",1],"trim_offsets":true,"add_prefix_space":true})";

// Texts of what words are made of, some behind characters that a charsmap drops: the reference
// forgets those that come first, and what follows has places of characters before it.
void CheckTexts(Pair& pair, std::mt19937_64& random, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    if (random() % 4 == 0) {
      static const char* const kFirst[] = {"\x01", "\x7f", "\x02\u0301", "</s>", " ", "\u1e9b"};
      for (size_t n = 1 + random() % 30; n-- > 0;) {
        text += kFirst[random() % 8 < 5 ? random() % 2 : random() % std::size(kFirst)];
      }
    }
    while (random() % 3 != 0 && text.size() < 1000) text += Text(random);
    text.resize(std::min<size_t>(text.size(), 2000));
    static constexpr uint32_t kFlags[] = {0, 0, RANKFEED_ESCAPE_SPECIAL, RANKFEED_ERROR_ON_SPECIAL};
    pair.Check(text, Options(kFlags[random() % 4]));
    if (testing::Test::HasFatalFailure()) return;
  }
}

json SplitAtLine(const char* behavior) {
  return {{"type", "Split"},
          {"pattern", {{"String", "\n"}}},
          {"behavior", behavior},
          {"invert", false}};
}

// Any sequence of elements, with charsmap and vocabulary of the forms, and each way of trimming.
TEST(LongPath, ElementsInAnyOrder) {
  const json base = DefaultTokenizer();
  const auto strip = [](bool left, bool right) {
    return json{{"type", "Strip"}, {"strip_left", left}, {"strip_right", right}};
  };
  json white_space = ReplaceRun(" ");
  white_space["pattern"]["Regex"] = "\\s{2,}|[\\n\\r\\t]";
  const std::vector<json> elements = {Type("NFC"),
                                      Type("NFD"),
                                      Type("NFKC"),
                                      Type("NFKD"),
                                      Type("Lowercase"),
                                      Type("StripAccents"),
                                      Type("Nmt"),
                                      strip(true, true),
                                      strip(false, true),
                                      strip(true, false),
                                      ReplaceRun(" "),
                                      ReplaceRun("\u2581"),
                                      white_space,
                                      Replace("``", "\""),
                                      Replace("''", "\""),
                                      Replace("o[o", "x"),
                                      Replace(" ", "\u2581"),
                                      Replace("1", ""),
                                      Replace("aab", "ba"),
                                      {{"type", "Prepend"}, {"prepend", "\u2581"}},
                                      {{"type", "Prepend"}, {"prepend", "a "}}};
  const std::vector<json> splits = {
      nullptr,
      kMetaspace,
      Metaspace("first"),
      Metaspace("never"),
      SplitAtLine("Contiguous"),
      Sequence("pretokenizers", {SplitAtLine("MergedWithNext"), kMetaspace}),
      Sequence("pretokenizers", {Type("WhitespaceSplit"), kMetaspace}),
      Type("Whitespace"),
      {{"type", "Punctuation"}, {"behavior", "MergedWithPrevious"}}};
  std::mt19937_64 random(21);
  for (int round = 0; round < static_cast<int>(Scaled(80)); ++round) {
    json file = base;
    std::vector<json> normalizers;
    const size_t count = random() % 5, at = random() % (count + 2);
    uint32_t forms = 0;
    for (size_t i = 0; i <= count; ++i) {
      if (i == at) normalizers.push_back(base["normalizer"]);
      json element = elements[random() % elements.size()];
      forms += element["type"].get<std::string>().rfind("NF", 0) == 0;
      if (forms > 2) element = Type("Nmt");
      normalizers.push_back(element);
    }
    file["normalizer"] = Sequence("normalizers", normalizers);
    file["pre_tokenizer"] = splits[random() % splits.size()];
    if (random() % 2 == 0) {
      file["post_processor"] = {{"type", "RobertaProcessing"},
                                {"sep", {"</s>", 2}},
                                {"cls", {"<s>", 1}},
                                {"trim_offsets", true},
                                {"add_prefix_space", random() % 2 == 0}};
    }
    file["model"]["byte_fallback"] = random() % 2 == 0;
    for (int byte = 0; byte < 256; ++byte) {
      char piece[] = "<0x00>";
      std::snprintf(piece, sizeof(piece), "<0x%02X>", byte);
      file["model"]["vocab"].push_back({piece, 0.0});
    }
    SCOPED_TRACE(file["normalizer"].dump().substr(0, 200) + file["pre_tokenizer"].dump());
    const Image image(FormFile{"", file.dump()});
    Pair pair(image.model(), 1 + random() % 30, 4);
    ASSERT_TRUE(pair.ok());
    CheckTexts(pair, random, 60);
    if (HasFatalFailure()) return;
  }
}

TEST(LongPath, SentencePieceBackwards) {
  for (const char* const name : {"SentencePiece", "SentencePiece byte fallback"}) {
    const Image& image = ImageOf(Form(name));
    Pair pair(image.model(), 16, 4);
    ASSERT_TRUE(pair.ok());
    rankfeed_encode_options options = Options(0);
    options.sp_extra[0] = RANKFEED_SP_REVERSE;
    std::mt19937_64 random(3);
    for (int round = 0; round < static_cast<int>(Scaled(300)); ++round) {
      pair.Check(Text(random) + Text(random), options);
      if (HasFatalFailure()) return;
    }
  }
}

// Runs of one character, whose paths never meet, in words of every length around blocks and
// checkpoints: few are kept, so that they are thinned out again and again, on several levels.
TEST(LongPath, PathsThatNeverMeet) {
  const std::string json = hf_test::Json({.pre_tokenizer = hf_test::kAlways});
  const hf_test::Engine engine(json);
  for (const uint32_t block : {1u, 2u, 5u, 32u}) {
    Pair pair(engine.model(), block, 4);
    ASSERT_TRUE(pair.ok());
    for (const char* const unit : {"o", "a", "ab", "abc", "lo", "\u65e5", "z", "oab", "hel"}) {
      std::string text;
      while (text.size() < 700) {
        pair.Check(text, Options(0));
        if (HasFatalFailure()) return;
        text += unit;
      }
    }
  }
}

// The same in SentencePiece's arithmetic, of each release, with offsets: scores that tie, and
// scores so great that sums are made small again while paths are apart.
TEST(LongPath, SentencePiecePathsThatNeverMeet) {
  std::mt19937_64 random(5);
  for (const int32_t parity :
       {RANKFEED_PARITY_SENTENCEPIECE, RANKFEED_PARITY_SENTENCEPIECE_0_2_1}) {
    for (int round = 0; round < static_cast<int>(Scaled(24)); ++round) {
      sp_test::ModelProto proto;
      proto.AddSpecials();
      const float scale = std::ldexp(1.0f, static_cast<int>(random() % 14));
      std::string piece;
      for (int n = 0; n < 12; ++n) {
        piece = std::string(1 + random() % 9, n % 2 == 0 ? 'a' : 'b');
        if (n % 5 == 4) piece += "ab";
        const float score =
            -static_cast<float>(1 + random() % 5) * static_cast<float>(piece.size());
        const auto has = [&](const sp_test::PieceProto& other) { return other.text == piece; };
        if (std::any_of(proto.pieces.begin(), proto.pieces.end(), has)) continue;
        proto.Add(piece, scale * (random() % 2 == 0 ? score : score - 0.37f));
      }
      const test::TestEngine engine(sp_test::Serialize(proto), 1 << 11, 0, parity);
      Pair pair(engine.model(), static_cast<uint32_t>(1 + random() % 40), 4);
      ASSERT_TRUE(pair.ok());
      for (int texts = 0; texts < 20; ++texts) {
        std::string text;
        while (text.size() < 1000 && random() % 8 != 0) {
          static const char* const kUnits[] = {"a", "b", "aab", "ab", " a", "\u00e9", "aaaaab"};
          const char* const unit = kUnits[random() % std::size(kUnits)];
          for (size_t n = random() % 150; n-- > 0;) text += unit;
        }
        pair.Check(text, Options(0));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Those that split at white space or not at all, and more.
std::vector<std::string> PreTokenizers(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"null",           hf_test::kAlways, hf_test::kFirst,
                                  hf_test::kNever,  hf_test::kWhole,  hf_test::kWords,
                                  R"({"type":"Whitespace"})"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Elements that no form of the fast road has.
TEST(LongPath, OtherElements) {
  const char* const normalizers[] = {
      "null",
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"ab"},{"type":"Replace","pattern":{"String":"aba"},"content":"o "},{"type":"Lowercase"}]})",
      R"({"type":"Sequence","normalizers":[{"type":"Strip","strip_left":true,"strip_right":true},{"type":"Replace","pattern":{"Regex":"b{3,}"},"content":""},{"type":"Strip","strip_left":false,"strip_right":true}]})",
      R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Replace","pattern":{"Regex":"\\s{2,}|[\\n\\r\\t]"},"content":" "}]})",
      R"({"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"NFC"},{"type":"Nmt"}]})"};
  std::vector<std::string> pre_tokenizers =
      PreTokenizers({R"({"type":"Digits","individual_digits":true})",
                     R"({"type":"Digits","individual_digits":false})"});
  for (const char* const behavior :
       {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
    const std::string punctuation =
        std::string(R"({"type":"Punctuation","behavior":")") + behavior + "\"}";
    pre_tokenizers.push_back(punctuation);
    pre_tokenizers.push_back(R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},)" +
                             punctuation + R"(,{"type":"Digits","individual_digits":true},)" +
                             hf_test::kFirst + "]}");
  }
  static const char* const kParts[] = {
      "ab", "aba", "abab", " ", "  ", "\t\n", "bbb", "b", "bbbbbb", ",", ".,", "12", "1", "the",
      "hello", "\u00e9", "e\u0301", "\u0301", "a\u0301\u0323", "\uac00\u11a8", "\u1112\u1161\u11ab",
      "\u65e5", "A\u0130", "\x80", "\u2581", "<mask>", "\u200b", "x"};
  std::mt19937_64 random(11);
  for (const char* const normalizer : normalizers) {
    for (const std::string& pre_tokenizer : pre_tokenizers) {
      for (const bool bytes : {false, true}) {
        SCOPED_TRACE(std::string(normalizer) + pre_tokenizer);
        const hf_test::Engine engine(hf_test::Json({.normalizer = normalizer,
                                                    .pre_tokenizer = pre_tokenizer,
                                                    .unk_id = bytes ? "null" : "0",
                                                    .byte_fallback = bytes}));
        ASSERT_NE(engine.model(), nullptr);
        Pair pair(engine.model(), 1 + random() % 8, 4);
        ASSERT_TRUE(pair.ok());
        for (int round = 0; round < static_cast<int>(Scaled(60)); ++round) {
          std::string text;
          for (size_t n = random() % 30; n-- > 0;) text += kParts[random() % std::size(kParts)];
          pair.Check(text, Options(0));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Tokens of a random vocabulary: parts of each other, white space at their ends and between, which
// are words, take white space, and are special.
std::vector<hf_test::Added> RandomAdded(std::mt19937_64& random) {
  static const char* const kContents[] = {
      "ab", "abab", "b", "<x>",    "<x>y", "<",     "x",      "the",    " ", "  ",     " b",
      "b ", " a ",  ",", "\u00e9", "aba",  "<x> y", "\u65e5", "\u2581", "A", "<mask>", "\u3000a"};
  std::vector<hf_test::Added> added = {{"</s>", image::kSpecial}};
  const bool rstrip = random() % 2 == 0;
  std::vector<std::string> contents(std::begin(kContents), std::end(kContents));
  std::shuffle(contents.begin(), contents.end(), random);
  contents.resize(1 + random() % 6);
  for (const std::string& content : contents) {
    // U+2581 is a space to Nmt. Where some begin with white space and others take it behind them,
    // matches may lie in others, which only arrays have.
    const bool space = content[0] == ' ' || content == "\u2581" || content == "\u3000a";
    if (space && rstrip) continue;
    uint32_t flags = random() % 8 != 0 ? uint32_t{image::kNormalized} : 0;
    if (random() % 3 == 0) flags |= image::kSingleWord;
    if (random() % 2 == 0) flags |= image::kLstrip;
    if (rstrip && random() % 2 == 0) flags |= image::kRstrip;
    if (random() % 3 == 0) flags |= image::kSpecial;
    added.push_back({content, flags});
  }
  return added;
}

std::string RandomTextWithTokens(std::mt19937_64& random) {
  static const char* const kParts[] = {
      "ab",     "aba", "abab", "b",      "<x>",     "<x>y",   "<",      "x",    "the",   "y",
      "a",      ",",   "\t",   "\u00e9", "e\u0301", "\u65e5", "\u2581", "A",    "\n",    "\u3000",
      "<mask>", "12",  "\x01", "\ufdfa", "</s>",    "hello",  "\u0301", "\x80", "world", "oo"};
  std::string text;
  for (size_t n = random() % 40; n-- > 0;) {
    text += kParts[random() % std::size(kParts)];
    if (random() % 3 != 0) continue;
    // Also more white space than is kept.
    text.append(random() % 16 == 0 ? random() % 300 : random() % 3, ' ');
  }
  return text;
}

// Added tokens of normalized text.
TEST(LongPath, TokensOfNormalizedText) {
  const char* const normalizers[] = {
      "null",
      R"({"type":"Lowercase"})",
      R"({"type":"NFKC"})",
      R"({"type":"Strip","strip_left":true,"strip_right":true})",
      R"({"type":"Prepend","prepend":"\u2581"})",
      R"({"type":"Replace","pattern":{"String":" "},"content":"\u2581"})",
      R"({"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]})"};
  const std::vector<std::string> pre_tokenizers =
      PreTokenizers({SplitAtLine("Removed").dump(),
                     R"({"type":"Punctuation","behavior":"MergedWithNext"})"});
  std::mt19937_64 random(13);
  for (int round = 0; round < static_cast<int>(Scaled(300)); ++round) {
    const hf_test::TinyFile file{
        .normalizer = normalizers[random() % std::size(normalizers)],
        .pre_tokenizer = pre_tokenizers[random() % pre_tokenizers.size()],
        .added = RandomAdded(random),
        .byte_fallback = random() % 2 == 0,
        .post_processor = random() % 2 == 0 ? "null" : kTrimming};
    SCOPED_TRACE(hf_test::Json(file));
    const hf_test::Engine engine(hf_test::Json(file));
    ASSERT_NE(engine.model(), nullptr);
    static constexpr uint32_t kBlocks[] = {1, 7, 64};
    Pair pair(engine.model(), kBlocks[random() % 3], 4);
    ASSERT_TRUE(pair.ok());
    for (int texts = 0; texts < 60; ++texts) {
      static constexpr uint32_t kFlags[] = {0, 0, RANKFEED_SPLIT_SPECIAL_TOKENS,
                                            RANKFEED_ESCAPE_SPECIAL, RANKFEED_ERROR_ON_SPECIAL};
      pair.Check(RandomTextWithTokens(random).substr(0, 2000), Options(kFlags[random() % 5]));
      if (HasFatalFailure()) return;
    }
  }
}

// A character that a token begins with may be composed of two that are plain alone.
TEST(LongPath, ATokenTakesTheSpaceBeforeAComposedCharacter) {
  const hf_test::Engine engine(
      hf_test::Json({.normalizer = R"({"type":"NFC"})",
                     .added = {{"\u00e9", image::kNormalized | image::kLstrip | image::kRstrip}}}));
  for (const uint32_t block : {1u, 7u, 64u}) {
    Pair pair(engine.model(), block, 4);
    ASSERT_TRUE(pair.ok());
    std::string text = "the world";
    for (int i = 0; i < 40; ++i) {
      text += i % 3 == 0 ? " e\u0301" : i % 3 == 1 ? " ab" : " \t e\u0301 the";
      pair.Check(text, Options(0));
      pair.Check("hello " + text + std::string(200, ' ') + text, Options(0));
    }
  }
}

// More marks in a row than a normalization form reads together: of classes in any order, that are
// composed, and decompose, behind starters that compose with the one before them and behind none.
TEST(LongPath, ManyMarks) {
  const char* const normalizers[] = {
      R"({"type":"NFC"})", R"({"type":"NFD"})", R"({"type":"NFKC"})", R"({"type":"NFKD"})",
      R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"``"},"content":"a"},{"type":"Lowercase"},{"type":"NFKC"}]})",
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"o"},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"NFC"},{"type":"Lowercase"}]})"};
  static const char* const kMarks[] = {
      "\u0301", "\u0301", "\u0323", "\u0308", "\u0302", "\u0328", "\u0345", "\u0344", "\u0f71",
      "\u0f73", "\u0f81", "\u093c", "\u3099", "\u0338", "\u0315", "\u05b0", "\u1161", "\u11a8",
      "\u09be", "\u0313", "\u0342", "\U0001d165"};
  static const char* const kStarters[] = {"a",      "e",      "\u1ebf", "\u03b1", "\u1100", "\uac00",
                                          "\u09c7", "\u304b", "\u00e9", "",       "``",     "A",
                                          " ",      "\u0fb2", "\ufb2c", "\U0001d15f"};
  std::mt19937_64 random(31);
  for (const char* const normalizer : normalizers) {
    for (const char* const pre_tokenizer : {hf_test::kAlways, hf_test::kFirst}) {
      SCOPED_TRACE(std::string(normalizer) + pre_tokenizer);
      json file = json::parse(hf_test::Json({.normalizer = normalizer,
                                             .pre_tokenizer = pre_tokenizer,
                                             .post_processor = kTrimming}));
      // Known characters are tokens of their own.
      for (const auto [from, to] : {std::pair{0x1e00u, 0x2000u}, {0x300u, 0x3ffu}, {0x5b0u, 0x5c8u},
                                    {0x9bcu, 0x9cdu}, {0xf71u, 0xfbcu}, {0x1100u, 0x11c3u},
                                    {0x3041u, 0x309au}, {0xac00u, 0xac40u}, {0x1d157u, 0x1d166u},
                                    {0xfb1du, 0xfb4fu}, {0x100u, 0x250u}}) {
        for (uint32_t c = from; c < to; ++c) {
          char bytes[4];
          file["model"]["vocab"].push_back({std::string(bytes, utf8::Encode(c, bytes)), -3.0});
        }
      }
      const hf_test::Engine engine(file.dump());
      ASSERT_NE(engine.model(), nullptr);
      Pair pair(engine.model(), 1 + random() % 60, 4);
      ASSERT_TRUE(pair.ok());
      for (int round = 0; round < static_cast<int>(Scaled(250)); ++round) {
        // Marks behind what is put before a text are not read from the text.
        std::string text = std::string_view(normalizer).find("Prepend") != std::string::npos ? "b" : "";
        for (size_t rows = 1 + random() % 3; rows-- > 0 && text.size() < 1000;) {
          text += kStarters[random() % std::size(kStarters)];
          const size_t kinds = 1 + random() % std::size(kMarks), shift = random();
          for (size_t n = random() % 300; n-- > 0 && text.size() < 2000;) {
            text += kMarks[(shift + random() % kinds) % std::size(kMarks)];
          }
          if (random() % 2 == 0) text += random() % 2 == 0 ? "the " : "\u65e5";
        }
        pair.Check(text, Options(random() % 4 == 0 ? uint32_t{RANKFEED_ESCAPE_SPECIAL} : 0));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The same at the begin of a text, right behind what a Prepend puts in front of them: they are refused,
// or none is lost. Behind a letter of the text they stand as they come.
TEST(LongPath, ManyMarksBehindAPrepend) {
  for (const char* const prepend : {"ab ", "a", "\u0301"}) {
    const hf_test::Engine engine(hf_test::Json(
        {.normalizer = std::string(R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":")") +
                       prepend + R"("},{"type":"NFC"}]})"}));
    for (const char* const mark : {"\u1161", "\u0301", "\u0327"}) {
      std::string text;
      for (int i = 0; i < 100; ++i) text += mark;
      Pair pair(engine.model(), 7, 4);
      ASSERT_TRUE(pair.ok());
      pair.CheckUnlessRefused(text);
      pair.Check("x" + text, Options(0));
    }
  }
}

// Where elements before the form change marks, more than it reads together are refused.
TEST(LongPath, ManyMarksThatComeChangedAreRefused) {
  const hf_test::Engine engine(hf_test::Json(
      {.normalizer =
           R"({"type":"Sequence","normalizers":[{"type":"Replace","pattern":{"String":"\u0323"},"content":"\u0301"},{"type":"NFC"}]})",
       .pre_tokenizer = hf_test::kAlways}));
  auto encoder = Encoder::Create(engine.model(), 1 << 11, false, 0);
  ASSERT_TRUE(encoder);
  const test::Lengthy way(encoder->get(), 16, 4);
  ASSERT_TRUE(way.ok());
  std::string text = "a";
  for (int i = 0; i < 50; ++i) text += "\u0323";
  EXPECT_EQ(EncodeWith(*encoder, text, Options(0)).status, RANKFEED_OK);
  for (int i = 0; i < 200; ++i) text += "\u0323";
  EXPECT_EQ(EncodeWith(*encoder, text, Options(0)).status, RANKFEED_E_LIMIT);
  EXPECT_EQ(EncodeWith(*encoder, "ab", Options(0)).status, RANKFEED_OK);
}

TEST(LongText, MoreTokensThan32BitsCountAreRefused) {
  for (const char* const name : {"A", "SentencePiece"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    Encoder encoder = Make(image.model(), false, 0);
    const rankfeed_encode_options options = Options(0);
    for (const bool full : {false, true}) {
      TokenSink sink{.count = full ? TokenSink::kMost : 7};
      general::CarriedScore score;
      EXPECT_EQ(encode::TextEncoder(*encoder.get(), options)
                    .EncodePart({"a bear", 6}, true, true, &score, sink),
                full ? RANKFEED_E_LIMIT : RANKFEED_OK);
      const test::Lengthy way(encoder.get(), 16, 4);
      sink.count = full ? TokenSink::kMost : 7;
      const rankfeed_status status =
          image.model()->huggingface()
              ? general::EncodeHuggingFace(*image.model(), encoder.get()->general, "a bear", 0,
                                           sink)
              : general::EncodeSentencePiece(*image.model(), encoder.get()->general, "a bear", {},
                                             sink);
      EXPECT_EQ(status, full ? RANKFEED_E_LIMIT : RANKFEED_OK);
      encoder = Make(image.model(), false, 0);
    }
  }
}

// Behind an added token of normalized text nothing is left of the score that a part goes on from.
TEST(LongText, ATokenEndsTheScoreThatIsCarried) {
  const hf_test::Engine engine(hf_test::Json(
      {.pre_tokenizer = hf_test::kWhole, .added = {{"<x>", image::kNormalized}}}));
  auto encoder = Encoder::Create(engine.model(), 1 << 11, false, 0);
  ASSERT_TRUE(encoder);
  const auto after = [&](std::string_view text) {
    int32_t ids[64];
    TokenSink sink{.ids = ids, .capacity = 64};
    general::CarriedScore score{.before = -1e6};
    EXPECT_EQ(general::EncodeHuggingFaceStretch(*engine.model(), encoder->get()->general, text, 0,
                                                static_cast<uint32_t>(text.size()), 0, sink, &score),
              RANKFEED_OK);
    return score.after;
  };
  const auto check = [&] {
    EXPECT_LT(after("the hello"), -1e6);
    EXPECT_GT(after("the<x>hello"), -1e3);
    EXPECT_EQ(after("abab<x>hello"), after("the<x>hello"));
    EXPECT_EQ(after("the<x>"), 0);
  };
  check();
  const test::Lengthy way(encoder->get(), 16, 4);
  ASSERT_TRUE(way.ok());
  check();
}

// A part of a text where U+2581 stands behind words has one at its end, if a space stood there.
TEST(LongText, APartKeepsTheSpaceBehindIt) {
  for (const char* const name :
       {"SentencePiece suffix", "SentencePiece suffix, nothing behind a text",
        "SentencePiece suffix, all spaces, nothing behind a text"}) {
    SCOPED_TRACE(name);
    const Image& image = ImageOf(Form(name));
    Encoder encoder = Make(image.model(), false, 0);
    const auto ids = [&](std::string_view text, bool spaced) {
      std::vector<int32_t> room(64);
      TokenSink sink{.ids = room.data(), .capacity = 64};
      general::CarriedScore score{.spaced = spaced};
      EXPECT_EQ(general::EncodeSentencePiece(*image.model(), encoder.get()->general, text, {}, sink,
                                             &score),
                RANKFEED_OK);
      room.resize(sink.count);
      return room;
    };
    const auto check = [&] {
      std::vector<int32_t> parts = ids("a bear", true);
      const std::vector<int32_t> rest = ids("panda", false);
      parts.insert(parts.end(), rest.begin(), rest.end());
      EXPECT_EQ(parts, ids("a bear panda", false));
    };
    check();
    const test::Lengthy way(encoder.get(), 16, 4);
    check();
  }
}

// Pages of this process, in bytes.
size_t AddressSpace() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Private anonymous pages for scratch, made while the process may have so many bytes more.
class Scratch {
 public:
  Scratch(size_t size, size_t most_more) : size_(size) {
    rlimit limit{};
    EXPECT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
    const rlimit more{AddressSpace() + most_more, limit.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &more), 0);
    data_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    if (ok()) madvise(data_, size, MADV_NOHUGEPAGE);  // where there are none, it does not matter
  }
  ~Scratch() {
    if (ok()) munmap(data_, size_);
  }
  Scratch(const Scratch&) = delete;
  bool ok() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }
  // Bytes of the pages that were touched.
  size_t Resident() const {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> in((size_ + page - 1) / page);
    if (mincore(data_, size_, in.data()) != 0) return SIZE_MAX;
    return static_cast<size_t>(std::count_if(in.begin(), in.end(),
                                             [](unsigned char one) { return (one & 1) != 0; })) *
           page;
  }

 private:
  size_t size_;
  void* data_;
};

// In one call with a text, whose tokens are counted, by an encoder for texts of 2^30 bytes within
// 1 GiB of address space.
void CheckMemory(const rankfeed_model* model, const std::string& text, bool offsets) {
  rankfeed_limits limits{};
  limits.struct_size = sizeof(limits);
  limits.max_text_bytes = 1u << 30;
  limits.with_offsets = offsets ? 1 : 0;
  rankfeed_mem_req need{};
  ASSERT_EQ(rankfeed_encoder_mem_req(model, &limits, &need), RANKFEED_OK);
  const Scratch scratch(need.size, size_t{1} << 30);
  ASSERT_TRUE(scratch.ok());
  rankfeed_encoder* encoder = nullptr;
  ASSERT_EQ(rankfeed_encoder_init(model, &limits, scratch.data(), need.size, &encoder),
            RANKFEED_OK);
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
  rankfeed_encoding io{};  // room for one
  io.struct_size = sizeof(io);
  io.capacity = 1;
  io.input_ids = &id;
  if (offsets) io.offset_begin = &begin, io.offset_end = &end;
  ASSERT_EQ(rankfeed_encode(encoder, {text.data(), text.size()}, nullptr, &io),
            RANKFEED_E_OUTPUT_SIZE);
  EXPECT_GT(io.count, text.size() / 17);
  std::printf("%s: %zu bytes of text, %u tokens, scratch of %zu bytes, %zu of them resident\n",
              offsets ? "offsets" : "ids", text.size(), io.count, need.size, scratch.Resident());
  EXPECT_LE(scratch.Resident(), size_t{16} << 20);
}

// A text of RANKFEED_LONG_TEXT_BYTES (64 MB without it): words, and characters without a place to
// cut that leave the fast road.
TEST(LongText, MemoryDoesNotGrowWithTheText) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
  const char* const given = std::getenv("RANKFEED_LONG_TEXT_BYTES");
  const size_t bytes = given != nullptr ? std::strtoull(given, nullptr, 10) : 64 << 20;
  for (const char* const name : {"A", "SentencePiece", "normalized tokens"}) {
    const Image& image = ImageOf(Form(name));
    for (const char* const unit : {"the panda well-known, a bear \u4e2d\u6587 ", "abcdefgh", "a"}) {
      SCOPED_TRACE(std::string(name) + ", " + unit);
      std::string text;
      text.reserve(bytes + 64);
      while (text.size() < bytes) text += unit;
      for (const bool offsets : {false, true}) CheckMemory(image.model(), text, offsets);
    }
  }
}

}  // namespace
}  // namespace rankfeed
