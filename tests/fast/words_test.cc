// SPDX-License-Identifier: MIT
// The fast road of WordPiece and BPE models against the general path: the same model with and without its
// engine, ids and offsets, over published vocabularies, stress strings and every code point.
#include "fast/words.h"

#include <gtest/gtest.h>

#include <random>

#include "base/byte_alphabet.h"
#include "base/utf8.h"
#include "support/sanitizers.h"
#include "support/engine.h"
#include "support/wordpiece_data.h"

namespace rankfeed {
namespace {

using test::Encoding;
using test::Escape;
using test::ReadAll;
using test::Show;
using test::TestEngine;
using test::SharedData;

// In the folder of published vocabularies.
constexpr const char* kPublished[] = {
    "wordpiece/bert-base-uncased/tokenizer.json", "wordpiece/bert-base-cased/tokenizer.json",
    "wordpiece/bert-base-multilingual-cased/tokenizer.json", "bpe/qwen/tokenizer.json",
    "bpe/modernbert/tokenizer.json", "bpe/roberta/tokenizer.json"};

// Under a sanitizer, where compiling them takes longest, two of each test: the one of its number and the third after it.
std::vector<const char*> Vocabularies(size_t number) {
  if (kSanitized) return {kPublished[number % 3], kPublished[number % 3 + 3]};
  return {std::begin(kPublished), std::end(kPublished)};
}

// The content of one of them, empty if it is not there.
std::string Published(const std::string& path) {
  const std::string data = SharedData();
  return data.empty() ? "" : ReadAll(data + "/" + path);
}

// The same source on both roads.
struct Pair {
  explicit Pair(const std::string& source, uint32_t cache_bytes = 1u << 14)
      : fast(source, 1u << 16, cache_bytes), plain(source, 1u << 16, 0) {
    EXPECT_TRUE(fast.encoder()->has_fast_road());
    plain.LeaveFastRoad();
  }
  void Compare(const std::string& text, uint32_t flags = 0) {
    const Encoding want = plain.Encode(text, flags);
    // The second round finds what the first spelled; places are worked out the first time that they are asked for.
    if (want.status == RANKFEED_OK && flags == 0) CompareColumns(text, want, turn_ % 4);
    for (int round = 0; round < 2; ++round) {
      const Encoding got = fast.Encode(text, flags);
      ASSERT_EQ(got, want) << Escape(text) << "\n" << Show(got) << "\n" << Show(want);
    }
    if (want.status == RANKFEED_OK && flags == 0) CompareColumns(text, want, turn_ / 4 % 4);
    ++turn_;
  }
  // columns: 1 for begins, 2 for ends.
  void CompareColumns(const std::string& text, const Encoding& want, uint32_t columns) {
    std::vector<uint32_t> begins, ends;
    const bool begin = (columns & 1) != 0, end = (columns & 2) != 0;
    ASSERT_EQ(fast.IdsWith(begin ? &begins : nullptr, end ? &ends : nullptr, text, want.ids.size()), want.ids) << Escape(text);
    if (begin) {
      ASSERT_EQ(begins, want.begin) << Escape(text);
    }
    if (end) {
      ASSERT_EQ(ends, want.end) << Escape(text);
    }
  }
  TestEngine fast, plain;
  uint32_t turn_ = 0;  // texts before
};

// Characters of every meaning: letters, capitals, marks that go and that stay, ideographs,
// punctuation of all versions, white space, what is removed, bad bytes.
const std::vector<std::string>& Alphabet() {
  static const std::vector<std::string> characters = {
      "a",      "b",      "e",      "T",      "H",      "s",      "i",          "n",      "g",
      "1",      "7",      " ",      " ",      " ",      "\t",     "\n",         ",",      ".",
      "#",      "'",      "=",      "<",      "[",      "\u00e9", "\u00c9",     "\u00df", "\u0130",
      "\u03a3", "\u0301", "\u0338", "\u0345", "\u093f", "\u0928", "\u0e33",     "\u0e38", "\u0e48",
      "\u1dfb", "\u08d4", "\u302e", "\u4e2d", "\u6587", "\uf900", "\u3042",     "\u3099", "\uac00",
      "\u1112", "\u1161", "\u2014", "\u061d", "\u2260", "\u037e", "\u1fef",     "\u3000", "\u00a0",
      "\u2028", "\u0085", "\u000b", "\u200b", "\u200d", "\ufeff", "\u00ad",     "\ufffd", "\u0378",
      "\ue000", "\u20ac", "\U0001f600",       "\U0001d165",       "\U0001d160", "\x80",   "\xe4\xb8",
      "\U0001e001",       "##",     "ing",    "eb",     "the",    "[SEP]",  "[MASK]",
      "b<T",    "b<t",    "a=\u0338",        "==\u0338i",
      "'S",     "'ll",    "!",      "/",      "\r\n",   "\n\n",   "  ",         "       ",
      "12",     "\u00ea\u0323",     "\u1fa1\u0301",     "\u017f", "\u0434\u0430", "<|im_end|>", "[unused1]"};
  return characters;
}

std::string Text(std::mt19937_64& random, size_t characters) {
  std::string text;
  for (size_t i = 0; i < characters; ++i) text += Alphabet()[random() % Alphabet().size()];
  return text;
}

TEST(Words, EqualsThePlainPathOnStressTexts) {
  for (const char* name : Vocabularies(0)) {
    SCOPED_TRACE(name);
    const std::string source = Published(name);
    if (source.empty()) GTEST_SKIP() << "no vocabulary in RANKFEED_SHARED_DATA";
    Pair pair(source);
    std::mt19937_64 random(7);
    for (int round = 0; round < static_cast<int>(Sampled(10000)); ++round) {
      const uint32_t flags = round % 5 == 0   ? uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS}
                             : round % 7 == 0 ? uint32_t{RANKFEED_ESCAPE_SPECIAL}
                             : round % 9 == 0 ? uint32_t{RANKFEED_ERROR_ON_SPECIAL}
                                              : 0;
      pair.Compare(Text(random, 1 + random() % (round % 50 == 0 ? 400 : 24)), flags);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Words, EqualsThePlainPathOnEveryCodePoint) {
  for (const char* name : Vocabularies(1)) {
    SCOPED_TRACE(name);
    const std::string source = Published(name);
    if (source.empty()) GTEST_SKIP() << "no vocabulary in RANKFEED_SHARED_DATA";
    Pair pair(source);
    const uint32_t step = kSanitized ? 2411 : SweepsAll() ? 1 : 37;
    for (char32_t cp = 0; cp < 0x110000; cp += cp < 0x3400 ? (kSanitized ? 97 : 1) : step) {
      if (cp >= 0xd800 && cp < 0xe000) continue;
      char bytes[4];
      const std::string c(bytes, utf8::Encode(cp, bytes));
      pair.Compare(c + " a" + c + "b " + c + "\u0301x\t" + c + c + "." + c + "7" + c + "(\u0301" + c);
      if (HasFatalFailure()) return;
    }
  }
}

// Several texts of one call, so that their segments share batches, and texts whose tokens do not fit.
TEST(Words, BatchesAreTheTextsOneByOne) {
  const std::string source = Published("wordpiece/bert-base-cased/tokenizer.json");
  if (source.empty()) GTEST_SKIP() << "no vocabulary in RANKFEED_SHARED_DATA";
  TestEngine engine(source, 1u << 16, 1u << 12);
  std::mt19937_64 random(3);
  for (int round = 0; round < static_cast<int>(Sampled(200)); ++round) {
    std::vector<std::string> texts;
    std::vector<rankfeed_text> views;
    std::vector<int32_t> want;
    std::vector<uint32_t> ends = {0};
    for (size_t i = 0; i < 40; ++i) texts.push_back(Text(random, random() % 200));
    for (const std::string& text : texts) {
      views.push_back({text.data(), text.size()});
      const Encoding one = engine.Encode(text);
      want.insert(want.end(), one.ids.begin(), one.ids.end());
      ends.push_back(static_cast<uint32_t>(want.size()));
    }
    std::vector<int32_t> ids(want.size());
    std::vector<uint32_t> bounds(texts.size() + 1);
    rankfeed_encodings io{};
    io.struct_size = sizeof(io);
    io.capacity = static_cast<uint32_t>(want.size() - (round % 2 != 0 ? want.size() / 3 : 0));
    io.input_ids = ids.data();
    io.cu_seqlens = bounds.data();
    const rankfeed_status status =
        rankfeed_encode_batch(engine.encoder(), views.data(), views.size(), nullptr, &io);
    ASSERT_EQ(status, round % 2 != 0 ? RANKFEED_E_OUTPUT_SIZE : RANKFEED_OK);
    ASSERT_EQ(bounds, ends);
    ASSERT_TRUE(std::equal(ids.begin(), ids.begin() + io.capacity, want.begin()));
  }
}

TEST(Words, TextsMayComeInPieces) {
  for (const char* name : Vocabularies(2)) {
    SCOPED_TRACE(name);
    const std::string source = Published(name);
    if (source.empty()) GTEST_SKIP() << "no vocabulary in RANKFEED_SHARED_DATA";
    TestEngine engine(source);
    std::mt19937_64 random(5);
    int whole = 0;
    for (int round = 0; round < static_cast<int>(Sampled(400)); ++round) {
      std::string text = Text(random, random() % 700);
      for (int i = 0; i < 40; ++i) text.insert(random() % (text.size() + 1), " plain words, ");
      const Encoding want = engine.Encode(text);
      std::vector<char> window(1024);
      std::vector<int32_t> ids(want.ids.size());
      ASSERT_EQ(rankfeed_encode_begin(engine.encoder(), nullptr, window.data(), window.size()),
                RANKFEED_OK);
      rankfeed_stream_io io{};
      io.struct_size = sizeof(io);
      rankfeed_status status = RANKFEED_OK;
      uint32_t count = 0;
      const auto place = [&] {
        io.input_ids = ids.data() + count;
        io.capacity = static_cast<uint32_t>(ids.size()) - count;
      };
      for (size_t at = 0; at < text.size() && status == RANKFEED_OK;) {
        const size_t size = std::min<size_t>(text.size() - at, 1 + random() % 300);
        place();
        status = rankfeed_encode_feed(engine.encoder(), {text.data() + at, size}, &io);
        count += io.count;
        at += io.consumed;
      }
      if (status == RANKFEED_E_LIMIT) continue;  // a window without a place to cut
      ASSERT_EQ(status, RANKFEED_OK);
      place();
      status = rankfeed_encode_end(engine.encoder(), &io);
      if (status == RANKFEED_E_LIMIT) continue;
      ASSERT_EQ(status, RANKFEED_OK);
      ids.resize(count + io.count);
      ASSERT_EQ(ids, want.ids) << Escape(text);
      ++whole;
    }
    EXPECT_GT(whole, static_cast<int>(Sampled(400)) / 4);
  }
}

// Words up to and over the limit, stretches without a place to end, and many of them.
TEST(Words, EqualsThePlainPathOnLongWords) {
  for (const char* name : {kPublished[0], kPublished[3], kPublished[4]}) {
    if (kSanitized && name == kPublished[3]) continue;  // Qwen's takes long to compile, and ModernBERT's merges too.
    SCOPED_TRACE(name);
    const std::string source = Published(name);
    if (source.empty()) GTEST_SKIP() << "no vocabulary in RANKFEED_SHARED_DATA";
    Pair pair(source);
    for (const char* letter :
         {"a", "\u00e9", "\uac01", "\u0130", "\u4e2d", "\u0e01", "\U0001f600", " ", "\n", "7", "!"}) {
      for (const size_t count : {15u, 23u, 24u, 25u, 31u, 32u, 33u, 34u, 49u, 100u, 101u, 4095u, 9000u}) {
        if (kSanitized && count > 1000) continue;
        std::string text;
        for (size_t i = 0; i < count; ++i) text += letter;
        pair.Compare(text);
        pair.Compare("x" + text + "\u0301y, " + text + " the end");
        if (HasFatalFailure()) return;
      }
    }
  }
}

// ModernBERT's "|||IP_ADDRESS|||" and "[unused1]" are looked for in normalized text: code and tables have their first bytes.
TEST(Words, FirstBytesOfAddedTokensLeaveNoRoad) {
  const std::string source = Published("bpe/modernbert/tokenizer.json");
  if (source.empty()) GTEST_SKIP() << "no vocabulary in RANKFEED_SHARED_DATA";
  Pair pair(source);
  const auto left = [&] {
    rankfeed_road_counts counts[RANKFEED_REASON_COUNT];
    EXPECT_EQ(rankfeed_encoder_roads(pair.fast.encoder(), counts, RANKFEED_REASON_COUNT), RANKFEED_OK);
    return counts[RANKFEED_REASON_ADDED_TOKEN].texts;
  };
  for (const char* text : {"if (a || b) {", "| a | b |\n|---|---|\n", "x[ 1 ] = [ ];\n        y |= [unu", "  |  ", "|| \u0301"}) {
    pair.Compare(text);
    pair.Compare(std::string(70, 'a') + text);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(left(), 0u);
  pair.Compare("a |||IP_ADDRESS||| b || c");
  EXPECT_NE(left(), 0u);
}

// Where ids have holes, added tokens take those of pieces: here the names of two have as many characters as their bytes,
// and each alone has not.
TEST(Words, PlacesTokensWhoseNamesAreThoseOfAddedTokens) {
  std::string vocab;
  for (size_t byte = 0; byte < 256; ++byte) {
    char name[4];
    const std::string c(name, utf8::Encode(kByteAlphabet.chars[byte], name));
    vocab += "\"" + (c == "\"" || c == "\\" ? "\\" + c : c) + "\":" + std::to_string(byte) + ",";
  }
  const std::string flags =
      R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false})";
  Pair pair(R"({"version":"1.0","added_tokens":[{"id":258,"content":"<x>)" + flags +
            R"(,{"id":259,"content":"\u4e2d)" + flags +
            R"(],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,)"
            R"("use_regex":true},"post_processor":null,"decoder":null,"model":{"type":"BPE","vocab":{)" +
            vocab + R"("ab":258,"cd":259},"merges":["a b","c d"]}})");
  for (const char* text : {"abcd", "cdab", "xab", "cdx abcd abcd"}) pair.Compare(text);
}

// RobertaProcessing, which MPNet has, trims the place of a token by what the token is called.
TEST(Words, TrimsOffsetsOfPieces) {
  for (const bool trimmed : {false, true}) {
    const std::string file =
        std::string(
            R"({"version":"1.0","added_tokens":[{"id":7,"content":"<m>","single_word":false,"lstrip":true,"rstrip":true,)"
            R"("normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":{"type":"BertPreTokenizer"},)"
            R"("post_processor":{"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",1],"trim_offsets":true,)"
            R"("add_prefix_space":false},"decoder":null,"model":{"type":"WordPiece","unk_token":"[UNK]",)"
            R"("continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"[UNK]":0,"<s>":1,"</s>":2,"a":3,)"
            R"("##a":4,"<m>":7,)") +
        (trimmed ? R"("\u0120b":5,"##\u0120":6}}})" : R"("b":5,"##c":6}}})");
    Pair pair(file);
    std::mt19937_64 random(13);
    for (int round = 0; round < static_cast<int>(Sampled(8000)); ++round) {
      std::string text;
      for (size_t i = random() % 9; i > 0; --i) {
        constexpr const char* kParts[] = {"a", "c", "\u0120", "\u0120b", " ", "<m>", "b", ".", "\u00a0"};
        text += kParts[random() % std::size(kParts)];
      }
      pair.Compare(text);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(pair.fast.encoder()->fast_offsets, !trimmed);
  }
}

TEST(Words, EqualsThePlainPathWithOtherPipelines) {
  const auto file = [](const std::string& normalizer, const std::string& pre_tokenizer,
                       const std::string& unk, const std::string& added) {
    return R"({"version":"1.0","added_tokens":[)" + added + R"(],"normalizer":)" + normalizer +
           R"(,"pre_tokenizer":)" + pre_tokenizer +
           R"(,"post_processor":null,"decoder":null,"model":{"type":"WordPiece","unk_token":")" + unk +
           R"(","continuing_subword_prefix":"##","max_input_chars_per_word":6,"vocab":{"[UNK]":0,"a":1,)"
           R"("b":2,"##a":3,"##b":4,"ab":5,"##ba":6,"\u00e9":7,"e":8,"##e":9,"\u4e2d":10,"##\u4e2d":11,)"
           R"("#":12,",":13,"##,":14,"the":15,"\u0301":16,"##\u0301":17,"=":18,"\u2260":19,"T":20,"i":21,)"
           R"("##i":22,"s":23,"##s":24,"[SEP]":25,"<":26}}})";
  };
  const std::string bert = R"({"type":"BertPreTokenizer"})", split = R"({"type":"WhitespaceSplit"})";
  const std::string sep =
      R"({"id":25,"content":"[SEP]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  const std::string e =
      R"({"id":28,"content":"eb","single_word":false,"lstrip":true,"rstrip":true,"normalized":false,"special":false})";
  const std::string b =
      R"({"id":27,"content":"b<T","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
  size_t turn = 0;
  for (const std::string& normalizer :
       {std::string("null"), std::string(R"({"type":"NFC"})"),
        std::string(R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"},{"type":"StripAccents"}]})"),
        std::string(R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"Lowercase"},{"type":"StripAccents"}]})"),
        std::string(R"({"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":false,"lowercase":true})"),
        std::string(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":true,"lowercase":false})")}) {
    for (const std::string& pre_tokenizer : {bert, split}) {
      for (const char* unk : {"[UNK]", "[NONE]", "[UNK] "}) {
        if (kSanitized && turn++ % 5 != 0) continue;
        SCOPED_TRACE(normalizer + pre_tokenizer + unk);
        const bool with_token = unk[5] == ' ';  // one that is looked for in normalized text
        Pair pair(file(normalizer, pre_tokenizer, with_token ? "[UNK]" : unk,
                       with_token ? sep + "," + b : sep + "," + e),
                  256);
        std::mt19937_64 random(11);
        for (int round = 0; round < static_cast<int>(Sampled(3000)); ++round) {
          const uint32_t flags = round % 3 == 0   ? uint32_t{RANKFEED_SPLIT_SPECIAL_TOKENS}
                                 : round % 7 == 0 ? uint32_t{RANKFEED_ESCAPE_SPECIAL}
                                                  : 0;
          pair.Compare(Text(random, 1 + random() % 9), flags);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rankfeed
