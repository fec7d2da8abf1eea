// SPDX-License-Identifier: MIT
// WordPiece models on the general path: real vocabularies and tiny ones, with the ids, offsets and
// texts that the tokenizers 0.23.3 wheel gives for the same files.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "reference/hf_tiny.h"
#include "support/wordpiece_data.h"

namespace rankfeed::hf_test {
namespace {

using test::ReadAll;
using test::WordPieceData;

// Ids, offsets in code points and decoded text of every row.
TEST(WordPiece, GoldenRows) {
  std::ifstream rows(WordPieceData() + "golden.jsonl");
  if (!rows) GTEST_SKIP() << "no wordpiece/golden.jsonl in RANKFEED_SHARED_DATA";
  std::map<std::string, std::unique_ptr<Engine>> engines;
  int compared = 0;
  for (std::string line; std::getline(rows, line); ++compared) {
    const nlohmann::json row = nlohmann::json::parse(line);
    const std::string vocab = row["vocab"], text = row["text"];
    auto& engine = engines[vocab];
    if (engine == nullptr) {
      engine = std::make_unique<Engine>(ReadAll(WordPieceData() + vocab + "/tokenizer.json"));
    }
    const std::vector<int32_t> ids = row["ids"];
    std::string want;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto& place = row["offsets"][i];
      want += (i != 0 ? " " : "") + std::to_string(ids[i]) + ":" + place[0].dump() + "-" +
              place[1].dump();
      EXPECT_EQ(engine->Piece(ids[i]), row["tokens"][i].get<std::string>());
    }
    EXPECT_EQ(engine->Encode(text, RANKFEED_ADD_SPECIAL_TOKENS), want)
        << vocab << ": " << row["case"] << ": " << text;
    EXPECT_EQ(engine->Decode(ids, true), row["decoded"].get<std::string>())
        << vocab << ": " << row["case"];
  }
  EXPECT_EQ(compared, 315);
}

struct TinyModel {
  std::string vocab = R"({"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"ab":5,"##b":6,"##bc":7,"##c":8,)"
                      R"("##":9,"##a":10,"####a":11,"a b":12,"#":13,"é":14,"e":15,"中":16,"##中":17,)"
                      R"("[":18,"i̇":19,"i":20,"##̇":21,"ά":22,"x":23,"abc abc":24})";
  std::string unk = "[UNK]", prefix = "##", max_chars = "100", members;
  std::string normalizer = kNone, pre_tokenizer = kNone, decoder = kNone, post_processor = kNone;
  std::string added;

  std::string Json() const {
    return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added +
           R"(],"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer +
           R"(,"post_processor":)" + post_processor + R"(,"decoder":)" + decoder +
           R"(,"model":{"type":"WordPiece","unk_token":")" + unk +
           R"(","continuing_subword_prefix":")" + prefix + R"(","max_input_chars_per_word":)" +
           max_chars + R"(,"vocab":)" + vocab + members + "}}";
  }
};

std::string Bert(bool clean, bool cjk, const char* strip, bool lower) {
  const auto flag = [](bool on) { return on ? "true" : "false"; };
  return std::string(R"({"type":"BertNormalizer","clean_text":)") + flag(clean) +
         R"(,"handle_chinese_chars":)" + flag(cjk) + R"(,"strip_accents":)" + strip +
         R"(,"lowercase":)" + flag(lower) + "}";
}

constexpr char kBertWords[] = R"({"type":"BertPreTokenizer"})";
constexpr char kSpaces[] = R"({"type":"WhitespaceSplit"})";
constexpr char kDecoder[] = R"({"type":"WordPiece","prefix":"##","cleanup":true})";

TEST(WordPiece, TakesTheLongestPieceAndNeverBacksUp) {
  TinyModel file;
  file.pre_tokenizer = kSpaces;
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("abc ab"), "5:0-2 8:2-3 5:4-6");
  EXPECT_EQ(engine.Encode("abd"), "0:0-3");           // the whole word, not what is left of it
  EXPECT_EQ(engine.Encode("abbcb abbcx"), "5:0-2 7:2-4 6:4-5 0:6-11");
  EXPECT_EQ(engine.Encode("##a ## x##a a##"), "10:0-3 9:4-6 23:7-8 11:8-11 0:12-15");
  EXPECT_EQ(engine.Encode("a####a"), "0:0-6");        // continuing pieces are looked for with ##
  EXPECT_EQ(engine.Encode("####a"), "11:0-5");
  EXPECT_EQ(engine.Encode("  "), "");
}

TEST(WordPiece, OtherPrefixes) {
  TinyModel file;
  file.vocab = R"({"ab":1,"a":2,"b":3,"[UNK]":0})";
  file.prefix = "";
  EXPECT_EQ(Engine(file.Json()).Encode("abba"), "1:0-2 3:2-3 2:3-4");
  file.vocab = R"({"[UNK]":0,"a":1,"@@b":2,"@b":3})";
  file.prefix = "@@";
  EXPECT_EQ(Engine(file.Json()).Encode("abb"), "1:0-1 2:1-2 2:2-3");
  EXPECT_EQ(Engine(file.Json()).Encode("@@bb"), "2:0-3 2:3-4");
  file.prefix = "none begins so";
  EXPECT_EQ(Engine(file.Json()).Encode("ab"), "0:0-2");
  EXPECT_EQ(Engine(file.Json()).Encode("a"), "1:0-1");
}

TEST(WordPiece, LongWordsAreUnknown) {
  TinyModel file;
  file.max_chars = "3";
  file.normalizer = Bert(true, true, "null", true);
  file.pre_tokenizer = kBertWords;
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("abb"), "5:0-2 6:2-3");
  EXPECT_EQ(engine.Encode("abbb"), "0:0-4");
  EXPECT_EQ(engine.Encode("a\u0301b\u0301b\u0301"), "5:0-3 6:4-5");  // marks that are dropped do not count
  file.max_chars = "0";
  EXPECT_EQ(Engine(file.Json()).Encode("a"), "0:0-1");
  file.max_chars = "18446744073709551615";
  file.vocab = R"({"[UNK]":0,"a":1,"##a":2})";
  Engine unlimited(file.Json());
  const std::string word(200000, 'a');
  EXPECT_EQ(unlimited.Ids(word).size(), word.size());
}

TEST(WordPiece, WithoutPreTokenizerAStretchIsOneWord) {
  TinyModel file;
  EXPECT_EQ(Engine(file.Json()).Encode("a ba"), "12:0-3 10:3-4");
  EXPECT_EQ(Engine(file.Json()).Encode("abc abcb"), "24:0-7 6:7-8");
}

TEST(WordPiece, UnknownTokenThatIsMissingFailsWhereAWordNeedsIt) {
  TinyModel file;
  file.unk = "[NONE]";
  file.pre_tokenizer = kSpaces;
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("ab a"), "5:0-2 3:3-4");
  EXPECT_EQ(engine.Encode("ab z a"), "RANKFEED_E_UNK_ID");
}

TEST(WordPiece, BertNormalizerStepByStep) {
  TinyModel file;
  file.pre_tokenizer = kSpaces;
  const auto encode = [&](const std::string& normalizer, std::string_view text) {
    file.normalizer = normalizer;
    return Engine(file.Json()).Encode(text);
  };
  using namespace std::literals;
  // Removed characters join what is around them; other white space is a space.
  EXPECT_EQ(encode(Bert(true, false, "false", false), "a\0b \v\u200ba\u2028b\u00ad"sv), "5:0-3 3:6-7 4:8-9");
  EXPECT_EQ(encode(Bert(false, false, "false", false), "a\0b"sv), "0:0-3");
  EXPECT_EQ(encode(Bert(true, false, "false", false), "a\u0378b"), "0:0-3");
  EXPECT_EQ(encode(Bert(true, false, "false", false), "a\xf3\xbf\xbf\xbd" "b"), "5:0-3");  // U+FFFFD
  EXPECT_EQ(encode(Bert(true, false, "false", false), "a\xf3\xbf\xbf\xbe" "b"), "0:0-3");  // U+FFFFE
  EXPECT_EQ(encode(Bert(true, false, "false", false), "a\xff" "b"), "5:0-3");  // U+FFFD after all
  EXPECT_EQ(encode(Bert(false, false, "false", false), "a\xff" "b"), "0:0-3");
  EXPECT_EQ(encode(Bert(false, true, "false", false), "a中b"), "3:0-1 16:1-2 4:2-3");
  EXPECT_EQ(encode(Bert(false, false, "false", false), "中中"), "16:0-1 17:1-2");
  EXPECT_EQ(encode(Bert(false, true, "false", false), "a\U0002b820"), "0:0-2");
  EXPECT_EQ(encode(Bert(false, true, "false", false), "a\U0002b920"), "3:0-1 0:1-2");
  EXPECT_EQ(encode(Bert(false, false, "null", false), "é"), "14:0-1");
  EXPECT_EQ(encode(Bert(false, false, "null", true), "É"), "15:0-1");
  EXPECT_EQ(encode(Bert(false, false, "false", true), "É İ"), "14:0-1 19:2-3");
  EXPECT_EQ(encode(Bert(false, false, "true", false), "é"), "15:0-1");
  EXPECT_EQ(encode(Bert(false, false, "true", true), "İ"), "20:0-1");
}

TEST(WordPiece, TextsBetweenSpecialTokensAreWordsOfTheirOwn) {
  TinyModel file;
  file.normalizer = Bert(true, true, "null", true);
  file.pre_tokenizer = kBertWords;
  file.added =
      R"({"id":2,"content":"[SEP]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},)"
      R"({"id":7,"content":"Naïve","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
  file.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})";
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("ab[SEP]b", RANKFEED_ADD_SPECIAL_TOKENS), "1:0-0 5:0-2 2:2-7 4:7-8 2:0-0");
  EXPECT_EQ(engine.Encode("[sep]"), "18:0-1 0:1-4 0:4-5");
  EXPECT_EQ(engine.Encode("NAIVEb"), "25:0-5 4:5-6");  // not the id of the file
  EXPECT_EQ(engine.Encode("[SEP]", RANKFEED_SPLIT_SPECIAL_TOKENS), "18:0-1 0:1-4 0:4-5");
}

// A token of the raw text is not found in what a text is normalized to, and is no piece.
TEST(WordPiece, AddedTokensAreNoPieces) {
  TinyModel file;
  file.normalizer = Bert(true, true, "null", true);
  file.pre_tokenizer = kBertWords;
  file.added =
      R"({"id":25,"content":"zz","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false})";
  EXPECT_EQ(Engine(file.Json()).Encode("ZZ zz Zz"), "0:0-2 25:3-5 0:6-8");
}

// The wheel finds any of them, by chance, anew for each tokenizer that it loads (docs/parity.md).
TEST(WordPiece, FindTheLastOfAddedTokensThatNormalizeAlikeSpecialOnesFirst) {
  const auto token = [](const char* id, const char* text, bool special) {
    return std::string(R"({"id":)") + id + R"(,"content":")" + text +
           R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":)" +
           (special ? "true}" : "false}");
  };
  TinyModel file;
  file.normalizer = Bert(true, true, "null", true);
  file.pre_tokenizer = kBertWords;
  file.added = token("25", "ZZ", true) + "," + token("26", "zZ", true);
  EXPECT_EQ(Engine(file.Json()).Encode("zz ZZ"), "26:0-2 26:3-5");
  file.added = token("25", "ZZ", false) + "," + token("26", "zZ", false);
  EXPECT_EQ(Engine(file.Json()).Encode("zz ZZ"), "26:0-2 26:3-5");
  file.added = token("25", "ZZ", false) + "," + token("26", "zZ", true);
  EXPECT_EQ(Engine(file.Json()).Encode("zz ZZ"), "25:0-2 25:3-5");
}

TEST(WordPiece, SpecialTokensThatAreWords) {
  TinyModel file;
  file.pre_tokenizer = kSpaces;
  file.added =
      R"({"id":5,"content":"ab","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("abb", RANKFEED_SPLIT_SPECIAL_TOKENS), "5:0-2 6:2-3");
  EXPECT_EQ(engine.Encode("abb", RANKFEED_ESCAPE_SPECIAL), "3:0-1 6:1-2 6:2-3");
  EXPECT_EQ(engine.Encode("a abb", RANKFEED_ERROR_ON_SPECIAL), "RANKFEED_E_SPECIAL_IN_TEXT");
}

// RobertaProcessing trims by what the token is called.
TEST(WordPiece, TrimmedOffsets) {
  TinyModel file;
  file.vocab = R"({"[UNK]":0,"[CLS]":1,"[SEP]":2," a ":3,"## b":4})";
  file.post_processor =
      R"({"type":"RobertaProcessing","sep":["[SEP]",2],"cls":["[CLS]",1],"trim_offsets":true,)"
      R"("add_prefix_space":false})";
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode(" a  b"), "3:1-2 4:3-5");
  EXPECT_EQ(engine.Encode(" z "), "0:0-3");
}

TEST(WordPiece, Decoder) {
  TinyModel file;
  file.vocab =
      R"({"[UNK]":0,"a":1,"##b":2,".":3," do not":4,"'":5,"n't":6,"##":7,"":8,"'s":9,"x .":10,"#":11,"hole":99})";
  file.decoder = kDecoder;
  Engine engine(file.Json());
  EXPECT_EQ(engine.Decode({1, 2, 3, 1, 6}, false), "ab. an't");
  EXPECT_EQ(engine.Decode({2, 1}, false), "##b a");
  EXPECT_EQ(engine.Decode({1, 5, 9}, false), "a ''s");
  EXPECT_EQ(engine.Decode({1, 4}, false), "a  don't");
  EXPECT_EQ(engine.Decode({10, 10}, false), "x. x.");
  EXPECT_EQ(engine.Decode({1, 8, 7, 11, 1}, false), "a  # a");
  EXPECT_EQ(engine.Decode({1, 50, 98, 99, 1000}, false), "a hole");  // ids that no token has are dropped
  file.decoder = R"({"type":"WordPiece","prefix":"","cleanup":false})";
  EXPECT_EQ(Engine(file.Json()).Decode({1, 2, 3}, false), "a##b.");
}

TEST(WordPiece, IdsOfTheFile) {
  TinyModel file;
  file.vocab = R"({"[UNK]":7,"a":2,"b":2,"##c":40,"a":3})";  // the later entry of a text counts
  file.pre_tokenizer = kSpaces;
  file.added =
      R"({"id":9,"content":"<x>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},)"
      R"({"id":9,"content":"##c","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},)"
      R"({"id":9,"content":"<y>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  Engine engine(file.Json());
  // Four texts, so the next ids are 4 and 5, whatever ids there are.
  EXPECT_EQ(engine.Encode("a ac b <x><y> z"), "3:0-1 3:2-3 40:3-4 2:5-6 4:7-10 5:10-13 7:14-15");
  EXPECT_EQ(engine.id_count(), 41u);
  EXPECT_EQ(engine.Piece(2), "b");
  EXPECT_EQ(engine.Piece(6), "");
  // An added token that takes the id of another one replaces it.
  file.vocab = R"({"[UNK]":0,"a":1,"b":4,"c":5,"x":6,"##x":7})";
  file.added =
      R"({"id":4,"content":"x","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},)"
      R"({"id":9,"content":"<x>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";
  EXPECT_EQ(Engine(file.Json()).Encode("ax<x> x"), "1:0-1 7:1-2 6:2-5 6:6-7");
}

std::string Refusal(const std::string& json) { return test::Compiled(json).message(); }

// An empty text may be an entry, and the unknown token's name.
TEST(WordPiece, UnknownTokenMayBeEmpty) {
  TinyModel file;
  file.unk = "";
  file.vocab = R"({"":7,"a":3})";
  file.pre_tokenizer = kSpaces;
  Engine engine(file.Json());
  EXPECT_EQ(engine.Encode("a x"), "3:0-1 7:2-3");
}

TEST(WordPiece, RefusalsNameTheirPlace) {
  TinyModel file;
  file.normalizer = R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true})";
  EXPECT_NE(Refusal(file.Json()).find(R"(normalizer has no "lowercase")"), std::string::npos);
  file = {};
  file.max_chars = "-1";
  EXPECT_NE(Refusal(file.Json()).find("model.max_input_chars_per_word must be a whole number"),
            std::string::npos);
  file = {};
  file.vocab = "{}";
  EXPECT_NE(Refusal(file.Json()).find("model.vocab is empty"), std::string::npos);
  file.vocab = R"({"a":-1})";
  EXPECT_NE(Refusal(file.Json()).find("model.vocab.a must be a whole number"), std::string::npos);
  file.vocab = R"({"a":70000})";
  EXPECT_NE(Refusal(file.Json()).find("model.vocab gives the id 70000; the limit of 1 pieces is"),
            std::string::npos);
  file = {};
  file.decoder = R"({"type":"WordPiece","prefix":"##"})";
  EXPECT_NE(Refusal(file.Json()).find(R"(decoder has no "cleanup")"), std::string::npos);
  const std::string other = R"({"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}})";
  EXPECT_NE(Refusal(other).find("Unigram, WordPiece and BPE are"), std::string::npos);
  const std::string untyped = R"({"model":{"vocab":{"a":0},"unk_token":"a"}})";
  EXPECT_NE(Refusal(untyped).find("looks like WordLevel"), std::string::npos);
}

TEST(WordPiece, TypeMayBeAbsent) {
  TinyModel file;
  std::string json = file.Json();
  const std::string type = R"("type":"WordPiece",)";
  json.erase(json.find(type), type.size());
  EXPECT_EQ(Engine(json).Encode("abc"), "5:0-2 8:2-3");
}

}  // namespace
}  // namespace rankfeed::hf_test
