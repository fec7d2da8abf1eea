// SPDX-License-Identifier: MIT
#include "builder/files/read_hf_json.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "builder/builder_test_util.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/hf_file.h"
#include "rankfeed/rerank.h"

namespace rankfeed::builder {
namespace {

using builder_test::Added;
using builder_test::Compiled;
using builder_test::FailsWith;
using builder_test::HfFile;
using builder_test::Show;

std::map<std::string, double> Scores(const Compiled& compiled) {
  std::map<std::string, double> scores;
  const Model& m = compiled.view();
  for (const uint32_t id : builder::PieceIds(m)) scores[compiled.piece(id)] = m.scores[id];
  return scores;
}

TEST(ReadHfJson, VocabularyGoesIntoTheTrieWhole) {
  const Compiled compiled(HfFile().Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const std::map<std::string, double> want = {{"<s>", 0},
                                              {"<pad>", 0},
                                              {"</s>", 0},
                                              {"<unk>", 0},
                                              {"\xe2\x96\x81", -3.5},
                                              {"a", -2.25},
                                              {"\xe2\x96\x81\x61", -1.5}};
  EXPECT_EQ(Scores(compiled), want);
  EXPECT_EQ(compiled.view().config->unk_score, -13.5);
  EXPECT_EQ(compiled.view().config->unk_id, 3u);
  EXPECT_EQ(compiled.view().config->parity, uint32_t{RANKFEED_PARITY_HUGGINGFACE});
}

// unigram/model.rs: of equal pieces the last id and its score count; the minimum is over all.
TEST(ReadHfJson, DuplicateAndEmptyPieces) {
  HfFile file;
  file.vocab = R"([["<unk>",0],["x",-1],["a",-50],["","-1"],["a",-7]])";
  EXPECT_TRUE(
      FailsWith(Compiled(file.Text()), RANKFEED_E_PARSE, "must have a number as its score"));
  file.vocab = R"([["<unk>",0],["x",-1],["a",-50],["",-1],["a",-7]])";
  file.model = R"({"type":"Unigram","unk_id":0,"vocab":)" + file.vocab + "}";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  EXPECT_EQ(compiled.info().id_count, 5u);
  EXPECT_EQ(compiled.info().piece_count, 3u);
  EXPECT_EQ(rankfeed_model_piece_to_id(compiled.model, "a", 1), 4);
  EXPECT_EQ(rankfeed_model_piece_to_id(compiled.model, "", 0), 3);
  EXPECT_EQ(compiled.piece(2), "a");
  EXPECT_EQ(Scores(compiled).at("a"), -7);
  EXPECT_EQ(compiled.view().config->unk_score, -60);
}

TEST(ReadHfJson, ScoresAreReadAsTheReferenceDoes) {
  HfFile file;
  file.vocab = R"([["<s>",0],["b",-1.0527757406234741],["c",-15.880105018615723],["<unk>",-1e1]])";
  const auto scores = Scores(Compiled(file.Text()));
  EXPECT_EQ(scores.at("b"), -1.052775740623474);
  EXPECT_EQ(scores.at("c"), -15.880105018615724);
  EXPECT_EQ(scores.at("<unk>"), -10);
}

TEST(ReadHfJson, Strings) {
  HfFile file;
  file.vocab = R"([["<s>",0],["\u0000",-1],["\ud83d\ude00\"\\\/",-2],["<unk>",0]])";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  EXPECT_EQ(compiled.piece(1), std::string(1, '\0'));
  EXPECT_EQ(compiled.piece(2), "\xf0\x9f\x98\x80\"\\/");
  file.vocab = R"([["\ud83d",0],["b",-1],["c",-1],["<unk>",0]])";
  EXPECT_EQ(Compiled(file.Text()).status, RANKFEED_E_PARSE);
}

TEST(ReadHfJson, ModelsRefused) {
  const auto refused = [](const std::string& model, rankfeed_status status, const char* message) {
    HfFile file;
    file.model = model;
    return FailsWith(Compiled(file.Text()), status, message);
  };
  for (const char* type : {"Other", "WordLevel"}) {
    EXPECT_TRUE(refused(
        std::string(R"({"type":")") + type + R"(","vocab":{}})", RANKFEED_E_UNSUPPORTED,
        (std::string("model.type \"") + type + "\" is not supported; Unigram, WordPiece and BPE are").c_str()));
  }
  EXPECT_TRUE(
      refused(R"({"vocab":{"a":1}})", RANKFEED_E_UNSUPPORTED, "looks like WordLevel"));
  EXPECT_TRUE(refused(R"({"type":"Unigram"})", RANKFEED_E_PARSE, "model has no \"vocab\""));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":{}})", RANKFEED_E_PARSE,
                      "model.vocab must be an array"));
  EXPECT_TRUE(
      refused(R"({"type":"Unigram","vocab":[]})", RANKFEED_E_PARSE, "model.vocab is empty"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","unk_id":1,"vocab":[["a",0]]})", RANKFEED_E_PARSE,
                      "model.unk_id is not the index of a piece"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","unk_id":-1,"vocab":[["a",0]]})", RANKFEED_E_PARSE,
                      "model.unk_id must be a whole number"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":[["a"]]})", RANKFEED_E_PARSE,
                      "model.vocab[0] must be [piece, score]"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":[["a",1],["b",1,2]]})", RANKFEED_E_PARSE,
                      "model.vocab[1] must be [piece, score]"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":[[1,1]]})", RANKFEED_E_PARSE,
                      "model.vocab[0] must begin with a string"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":["a"]})", RANKFEED_E_PARSE,
                      "model.vocab[0] must be an array"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":[["a",null]]})", RANKFEED_E_PARSE,
                      "model.vocab[0] must have a number as its score"));
  EXPECT_TRUE(refused(R"({"type":"Unigram","vocab":[["",0]]})", RANKFEED_E_UNSUPPORTED,
                      "no piece that a text can match"));
  EXPECT_TRUE(refused("null", RANKFEED_E_PARSE, "model must be an object"));
}

TEST(ReadHfJson, ModelsWithDefaults) {
  HfFile file;
  file.model = R"({"unk_id":0,"vocab":[["<unk>",0],["a",-1]]})";  // no type, no byte_fallback
  EXPECT_EQ(Compiled(file.Text()).status, RANKFEED_OK);
  file.model = R"({"type":"Unigram","vocab":[["<unk>",0],["a",-1]],"extra":[1]})";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK);
  EXPECT_EQ(compiled.info().unk_id, -1);
}

TEST(ReadHfJson, ByteFallback) {
  HfFile file;
  file.model =
      R"({"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0],["<0x41>",-1],["<0x4a>",-1],["<0x41>",-2]]})";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  EXPECT_TRUE(compiled.view().has(image::kByteFallback));
  ASSERT_EQ(compiled.view().byte_ids.size(), 256u);
  EXPECT_EQ(compiled.view().byte_ids[0x41], 3u);
  EXPECT_EQ(compiled.view().byte_ids[0x4a], image::kNoId);  // lower-case hex is an ordinary piece
}

TEST(ReadHfJson, Documents) {
  EXPECT_TRUE(FailsWith(Compiled("{}"), RANKFEED_E_PARSE, "the document has no \"model\""));
  HfFile file;
  file.version = R"("2.0")";
  EXPECT_TRUE(
      FailsWith(Compiled(file.Text()), RANKFEED_E_UNSUPPORTED, "version \"2.0\" is not \"1.0\""));
  file.version = "null";
  EXPECT_EQ(Compiled(file.Text()).status, RANKFEED_OK);
  EXPECT_EQ(Compiled("\n\t " + HfFile().Text() + "\n").status, RANKFEED_OK);
  EXPECT_TRUE(FailsWith(Compiled(HfFile().Text() + "x"), RANKFEED_E_PARSE, "not valid JSON"));
  EXPECT_TRUE(FailsWith(Compiled("{\"a\" 1}"), RANKFEED_E_PARSE, "not valid JSON"));
  EXPECT_TRUE(FailsWith(Compiled("{\"a\": \xff}"), RANKFEED_E_PARSE, "byte 6: not valid JSON"));
}

TEST(ReadHfJson, EveryPrefixIsRefused) {
  HfFile file;
  file.added_tokens = "[" + Added(0, "<s>") + "]";
  file.post_processor = builder_test::kRobertaTemplate;
  const std::string text = file.Text();
  ASSERT_EQ(Compiled(text).status, RANKFEED_OK) << Compiled(text).message();
  for (size_t size = 0; size < text.size(); ++size) {
    const Compiled compiled(std::string_view(text).substr(0, size));
    EXPECT_EQ(compiled.status, RANKFEED_E_PARSE) << size << ": " << compiled.message();
    EXPECT_LE(compiled.error.byte_offset, size);
  }
}

TEST(ReadHfJson, RandomDamageIsRefusedOrCompiled) {
  HfFile file;
  file.added_tokens = "[" + Added(0, "<s>") + "]";
  file.post_processor = builder_test::kRobertaTemplate;
  const std::string good = file.Text();
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    text[random() % text.size()] = static_cast<char>(random());
    const Compiled compiled(text);
    refused += compiled.status != RANKFEED_OK;
    if (compiled.status != RANKFEED_OK) {
      EXPECT_NE(compiled.message(), "");
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(ReadHfJson, DeepNestingIsRefused) {
  EXPECT_EQ(Compiled("{\"model\":" + std::string(100000, '[')).status, RANKFEED_E_PARSE);
  HfFile file;
  file.normalizer = "null";
  std::string deep = R"({"type":"NFC"})";
  for (int i = 0; i < 3000; ++i) deep = R"({"type":"Sequence","normalizers":[)" + deep + "]}";
  file.normalizer = deep;
  EXPECT_EQ(Compiled(file.Text()).status, RANKFEED_E_PARSE);
}

// added_vocabulary.rs add_tokens; the ids of this case were printed by the 0.23.2 wheel.
TEST(ReadHfJson, AddedTokenIds) {
  HfFile file;
  file.model =
      R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1],["b",-2],["\u2581a",-1.5],["\u2581",-3]]})";
  file.added_tokens = "[" + Added(9, "P") + "," + Added(7, "Q") + "," + Added(100, "a") + "," +
                      Added(1, "R") + "," + Added(3, "") + "," + Added(9, "P") + "]";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const auto id = [&](const char* s) {
    return rankfeed_model_piece_to_id(compiled.model, s, std::strlen(s));
  };
  EXPECT_EQ(id("P"), 5);
  EXPECT_EQ(id("Q"), 6);
  EXPECT_EQ(id("a"), 1);
  EXPECT_EQ(id("R"), 7);
  EXPECT_EQ(compiled.info().id_count, 8u);
  EXPECT_EQ(compiled.view().added_tokens.size(), 4u);
  EXPECT_EQ(compiled.piece(7), "R");
  EXPECT_EQ(compiled.view().id_flags[1], 1 | image::kIdAdded | image::kIdSpecial);
  EXPECT_EQ(compiled.view().id_flags[2], 1);
}

TEST(ReadHfJson, AddedTokenFlags) {
  HfFile file;
  file.added_tokens = "[" + Added(7, "A", "10000") + "," + Added(8, "B", "01000") + "," +
                      Added(9, "C", "00100") + "," + Added(10, "D", "00010") + "," +
                      Added(11, "E") + "]";
  const Compiled compiled(file.Text());
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const auto tokens = compiled.view().added_tokens;
  ASSERT_EQ(tokens.size(), 5u);
  EXPECT_EQ(tokens[0].flags, uint32_t{image::kSingleWord});
  EXPECT_EQ(tokens[1].flags, uint32_t{image::kLstrip});
  EXPECT_EQ(tokens[2].flags, uint32_t{image::kRstrip});
  EXPECT_EQ(tokens[3].flags, uint32_t{image::kNormalized});
  EXPECT_EQ(tokens[4].flags, uint32_t{image::kSpecial});
  EXPECT_EQ(compiled.view().max_added_bytes, 1u);
  // Raw and normalized tokens are in tries of their own.
  const auto find = [&](trie::View view, char c) {
    trie::Unit unit = view.root();
    return view.Step(unit, static_cast<unsigned char>(c) + 1u) ? trie::Value(unit) : trie::kNoValue;
  };
  EXPECT_EQ(find(compiled.view().added_raw, 'C'), 2u);
  EXPECT_EQ(find(compiled.view().added_raw, 'D'), trie::kNoValue);
  EXPECT_EQ(find(compiled.view().added_normalized, 'D'), 3u);
  EXPECT_EQ(find(compiled.view().added_normalized, 'C'), trie::kNoValue);
}

TEST(ReadHfJson, AddedTokensRefused) {
  const auto refused = [](const std::string& tokens, rankfeed_status status, const char* message) {
    HfFile file;
    file.added_tokens = tokens;
    return FailsWith(Compiled(file.Text()), status, message);
  };
  EXPECT_TRUE(refused("{}", RANKFEED_E_PARSE, "added_tokens must be an array"));
  EXPECT_TRUE(refused(R"([{"id":5,"content":"Z"}])", RANKFEED_E_PARSE,
                      "added_tokens[0] has no \"single_word\""));
  EXPECT_TRUE(refused(R"([{"content":"Z"}])", RANKFEED_E_PARSE, "added_tokens[0] has no \"id\""));
  EXPECT_TRUE(refused("[" + Added(5, "Z") + "," + Added(5, "Z", "01001") + "]",
                      RANKFEED_E_UNSUPPORTED, "added_tokens[1] repeats \"Z\" with other flags"));
}

TEST(ReadHfJson, Templates) {
  const auto templates = [](const std::string& processor) {
    HfFile file;
    file.post_processor = processor;
    const Compiled compiled(file.Text());
    if (compiled.status != RANKFEED_OK) return compiled.message();
    const Model& m = compiled.view();
    EXPECT_EQ(m.has(image::kTemplateFromFile), processor.find("Processing") != std::string::npos);
    return Show(m, m.template_single) + " | " + Show(m, m.template_pair) +
           (m.has(image::kHasTokenTypeIds) ? " types" : "") +
           (m.has(image::kTrimOffsets) ? " trim" : "");
  };
  const std::string roberta =
      R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0],"trim_offsets":true,"add_prefix_space":true})";
  EXPECT_EQ(templates("null"), "A | A B:1 types");
  EXPECT_EQ(templates(builder_test::kRobertaTemplate), "0 A 2 | 0 A 2 2 B 2");
  EXPECT_EQ(templates(roberta), "0 A 2 | 0 A 2 2 B 2 trim");
  EXPECT_EQ(templates(R"({"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]})"),
            "0 A 2 | 0 A 2 B:1 2:1 types");
  EXPECT_EQ(templates(R"({"type":"Sequence","processors":[]})"), "A | A B:1 types");
  EXPECT_EQ(templates(R"({"type":"Sequence","processors":[{"type":"Sequence","processors":[]},)" +
                      roberta + "]}"),
            "0 A 2 | 0 A 2 2 B 2 trim");
  // One special token may stand for several ids.
  EXPECT_EQ(
      templates(
          R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"X","type_id":2}},)"
          R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"B","type_id":0}},)"
          R"({"Sequence":{"id":"A","type_id":1}}],"special_tokens":{"X":{"id":"X","ids":[4,5],)"
          R"("tokens":["p","q"]}}})"),
      "4:2 5:2 A | B A:1 types");
}

TEST(ReadHfJson, TemplatesRefused) {
  const auto refused = [](const std::string& processor, rankfeed_status status,
                          const char* message) {
    HfFile file;
    file.post_processor = processor;
    return FailsWith(Compiled(file.Text()), status, message);
  };
  const auto sequence = [](const char* id) {
    return std::string(R"({"Sequence":{"id":")") + id + R"(","type_id":0}})";
  };
  const auto with = [&](const std::string& single, const std::string& pair,
                        const std::string& specials = "{}") {
    return R"({"type":"TemplateProcessing","single":[)" + single + R"(],"pair":[)" + pair +
           R"(],"special_tokens":)" + specials + "}";
  };
  const std::string a = sequence("A"), b = sequence("B");
  EXPECT_TRUE(refused(R"({"type":"Sequence","processors":[)" + with(a, a + "," + b) +
                          R"(,{"type":"ByteLevel"}]})",
                      RANKFEED_E_UNSUPPORTED, "is supported before a template"));
  EXPECT_TRUE(refused(with("", a + "," + b), RANKFEED_E_UNSUPPORTED, "single must use A once"));
  EXPECT_TRUE(
      refused(with(a + "," + a, a + "," + b), RANKFEED_E_UNSUPPORTED, "single must use A once"));
  EXPECT_TRUE(refused(with(b, a + "," + b), RANKFEED_E_UNSUPPORTED, "single must use A once"));
  EXPECT_TRUE(refused(with(a, a), RANKFEED_E_UNSUPPORTED, "pair must use A once and B once"));
  EXPECT_TRUE(refused(with(sequence("C"), a + "," + b), RANKFEED_E_PARSE, "must be A or B"));
  EXPECT_TRUE(
      refused(with("\"$A\"", a + "," + b), RANKFEED_E_PARSE, "single[0] must be an object"));
  EXPECT_TRUE(
      refused(with("{}", a + "," + b), RANKFEED_E_PARSE, "must be a Sequence or a SpecialToken"));
  EXPECT_TRUE(refused(with(R"({"SpecialToken":{"id":"X","type_id":0}},)" + a, a + "," + b),
                      RANKFEED_E_PARSE, "\"X\" is not in special_tokens"));
  EXPECT_TRUE(refused(with(a, a + "," + b, R"({"X":{"id":"X","ids":[7],"tokens":["X"]}})"),
                      RANKFEED_E_UNSUPPORTED,
                      "special_tokens.X.ids[0] 7 is not an id of this file (7 ids)"));
  EXPECT_TRUE(refused(R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0]})",
                      RANKFEED_E_UNSUPPORTED, "lacks trim_offsets or add_prefix_space"));
  EXPECT_TRUE(refused(
      R"({"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0],"trim_offsets":true,"add_prefix_space":true})",
      RANKFEED_E_UNSUPPORTED, "would run it as RobertaProcessing"));
  const std::string bert = R"({"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]})";
  EXPECT_TRUE(refused(R"({"type":"Sequence","processors":[)" + bert + "," + bert + "]}",
                      RANKFEED_E_UNSUPPORTED, "processors[1] is a second template"));
}

TEST(ReadHfJson, DefaultsOfTheFile) {
  HfFile file;
  file.truncation = R"({"direction":"Left","max_length":512,"strategy":"OnlySecond","stride":16})";
  file.padding =
      R"({"strategy":{"Fixed":64},"direction":"Left","pad_to_multiple_of":8,"pad_id":1,"pad_type_id":3,"pad_token":"<pad>"})";
  {
    const Compiled compiled(file.Text());
    ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
    const image::Config& c = *compiled.view().config;
    EXPECT_EQ(c.default_max_length, 512u);
    EXPECT_EQ(c.default_truncation, uint32_t{RANKFEED_TRUNCATE_ONLY_SECOND});
    EXPECT_EQ(c.default_stride, 16u);
    EXPECT_EQ(c.default_padding, 64u);
    EXPECT_EQ(c.default_pad_multiple, 8u);
    EXPECT_EQ(c.pad_id, 1u);
    EXPECT_EQ(c.pad_type_id, 3u);
    EXPECT_EQ(c.flags & (image::kPadLeft | image::kTruncateLeft),
              uint32_t{image::kPadLeft | image::kTruncateLeft});
  }
  file.truncation = R"({"max_length":10,"strategy":"LongestFirst","stride":0})";
  file.padding =
      R"({"strategy":"BatchLongest","direction":"Right","pad_to_multiple_of":null,"pad_id":1,"pad_type_id":0,"pad_token":"<pad>"})";
  const Compiled compiled(file.Text());
  const image::Config& c = *compiled.view().config;
  EXPECT_EQ(c.default_truncation, uint32_t{RANKFEED_TRUNCATE_LONGEST_FIRST});
  EXPECT_EQ(c.default_padding, image::kPadLongest);
  EXPECT_EQ(c.flags & (image::kPadLeft | image::kTruncateLeft), 0u);
}

TEST(ReadHfJson, DefaultsRefused) {
  HfFile file;
  file.truncation = R"({"max_length":10,"strategy":"Middle","stride":0})";
  EXPECT_TRUE(FailsWith(Compiled(file.Text()), RANKFEED_E_UNSUPPORTED,
                        "truncation.strategy \"Middle\" is not a known strategy"));
  file.truncation = R"({"direction":"Up","max_length":10,"strategy":"OnlyFirst","stride":0})";
  EXPECT_TRUE(FailsWith(Compiled(file.Text()), RANKFEED_E_PARSE, "must be \"Left\" or \"Right\""));
  file.truncation = R"({"max_length":99999999999,"strategy":"OnlyFirst","stride":0})";
  EXPECT_TRUE(
      FailsWith(Compiled(file.Text()), RANKFEED_E_LIMIT, "truncation.max_length is larger than"));
  file.truncation = "null";
  file.padding =
      R"({"strategy":"BatchLongest","direction":"Right","pad_id":7,"pad_type_id":0,"pad_token":"<pad>"})";
  EXPECT_TRUE(
      FailsWith(Compiled(file.Text()), RANKFEED_E_UNSUPPORTED, "padding.pad_id 7 is not an id"));
}

// Each limit is found where the file passes it, with its name, its value and the place.
TEST(ReadHfJson, LimitsAreToldWhereTheyArePassed) {
  const auto list = [](size_t count, const std::string& unit) {
    std::string text = unit;
    for (size_t i = 1; i < count; ++i) text += "," + unit;
    return text;
  };
  const auto refused = [](const HfFile& file, const char* path, const char* why) {
    const Compiled compiled(file.Text());
    EXPECT_NE(compiled.message().find(": byte "), std::string::npos) << compiled.message();
    EXPECT_TRUE(FailsWith(compiled, RANKFEED_E_LIMIT, path));
    EXPECT_TRUE(FailsWith(compiled, RANKFEED_E_LIMIT, why));
  };
  HfFile file;
  for (const size_t count : {64, 65}) {
    file.normalizer =
        R"({"type":"Sequence","normalizers":[)" + list(count, R"({"type":"Nmt"})") + "]}";
    if (count == 64) {
      EXPECT_EQ(Compiled(file.Text()).status, RANKFEED_OK);
    }
  }
  refused(file, "normalizer.normalizers[64] is one step too many", "is 64 steps");
  file = {};
  file.normalizer =  // sequences count, and steps inside of them
      R"({"type":"Sequence","normalizers":[)" +
      list(33, R"({"type":"Sequence","normalizers":[{"type":"Nmt"}]})") + "]}";
  refused(file, "normalizer.normalizers[32] is one step too many", "is 64 steps");
  file = {};
  file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[)" +
                       list(65, R"({"type":"WhitespaceSplit"})") + "]}";
  refused(file, "pre_tokenizer.pretokenizers[64] is one step too many", "is 64 steps");
  file = {};
  file.decoder = R"({"type":"Sequence","decoders":[)" + list(65, R"({"type":"Fuse"})") + "]}";
  refused(file, "decoder.decoders[64] is one step too many", "is 64 steps");
  const std::string longest(8192, 'x'), longer(8193, 'x');
  file = {};
  file.vocab = R"([["<s>",0],["<pad>",0],["</s>",0],["<unk>",0],["a",-1],[")" + longest + "\",-2]]";
  EXPECT_EQ(Compiled(file.Text()).status, RANKFEED_OK);
  file.vocab = R"([["<s>",0],["<pad>",0],["</s>",0],["<unk>",0],["a",-1],[")" + longer + "\",-2]]";
  refused(file, "model.vocab[5] has 8193 bytes", "the limit of a piece is 8192");
  file = {};
  file.added_tokens = "[" + Added(7, longer) + "]";
  refused(file, "added_tokens[0].content has 8193 bytes", "the limit of an added token is 8192");
  file = {};
  file.normalizer =
      R"({"type":"Replace","pattern":{"Regex":")" + longer + R"("},"content":""})";
  refused(file, "normalizer.pattern.Regex has 8193 bytes", "the limit of a pattern is 8192");
  file = {};
  file.normalizer = R"({"type":"Replace","pattern":{"String":"a"},"content":")" + longer + R"("})";
  refused(file, "normalizer.content has 8193 bytes", "the limit of a replacement is 8192");
  file = {};
  file.post_processor =
      R"({"type":"TemplateProcessing","single":[],"pair":[],"special_tokens":{"s":{"ids":[)" +
      list(4097, "1") + R"(],"tokens":[]}}})";
  refused(file, "post_processor.special_tokens.s.ids", "is 4096");
  file = {};
  file.post_processor = R"({"type":"TemplateProcessing","single":[)" +
                        list(4097, R"({"SpecialToken":{"id":"s","type_id":0}})") +
                        R"(],"pair":[],"special_tokens":{"s":{"ids":[1],"tokens":[]}}})";
  refused(file, "post_processor.single[4096]", "is 4096");
}

// A token that grows at some step costs what the steps read and write, not what its file has.
TEST(ReadHfJson, NormalizingAddedTokensHasALimit) {
  HfFile file;
  file.normalizer = R"({"type":"Replace","pattern":{"String":"q"},"content":")" +
                    std::string(1000, 'r') + R"("})";
  file.added_tokens = "[" + Added(7, std::string(9, 'q'), "00010") + "]";
  EXPECT_TRUE(FailsWith(Compiled(file.Text()), RANKFEED_E_LIMIT,
                        "added token of id 7 is longer than 8192 bytes when it is normalized"));
  std::string many = Added(7, "qqqqqqqq0", "00010");
  for (int i = 1; i < 3000; ++i) {
    many += "," + Added(7, "qqqqqqqq" + std::to_string(i), "00010");
  }
  file.added_tokens = "[" + many + "]";
  EXPECT_TRUE(FailsWith(Compiled(file.Text()), RANKFEED_E_LIMIT, "makes it more than 16777216"));
}

// tokenizers finds such a token between all characters of a text, and panics on some.
TEST(ReadHfJson, RefuseAnAddedTokenThatNormalizesToNothing) {
  HfFile file;
  const auto with = [&](const std::string& normalizer, const std::string& content, const std::string& flags) {
    file.normalizer = normalizer;
    file.added_tokens = "[" + Added(7, "<x>", "00010") + "," + Added(8, content, flags) + "]";
    return Compiled(file.Text());
  };
  const auto refused = [&](const std::string& normalizer, const std::string& content, const std::string& names) {
    EXPECT_TRUE(FailsWith(with(normalizer, content, "00010"), RANKFEED_E_UNSUPPORTED,
                          "the added token of id 8 (" + names +
                              ") is looked for in normalized text, and normalizes to nothing"));
    EXPECT_EQ(with(normalizer, content, "00000").info().id_count, 9u);  // looked for as it is written
    EXPECT_EQ(with(normalizer, "b" + content, "00010").info().id_count, 9u);
  };
  const std::string bert = R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
                           R"("strip_accents":null,"lowercase":true})";
  refused(bert, R"(\u200d)", "U+200D");
  refused(bert, R"(\u0301)", "U+0301");
  refused(bert, R"(\ufeff\u0301)", "U+FEFF U+0301");
  refused(R"({"type":"Strip","strip_left":true,"strip_right":false})", R"(\n)", "U+000A");
  refused(R"({"type":"Replace","pattern":{"String":"a"},"content":""})", "aa", "U+0061 U+0061");
}

TEST(ReadHfJson, SpecialIdsAndPositions) {
  HfFile file;
  file.post_processor = builder_test::kRobertaTemplate;
  file.added_tokens = "[" + Added(0, "<s>") + "," + Added(9, "<mask>", "01001") + "]";
  {
    const rankfeed_model_info info = Compiled(file.Text()).info();
    EXPECT_EQ(info.bos_id, 0);
    EXPECT_EQ(info.pad_id, 1);
    EXPECT_EQ(info.eos_id, 2);
    EXPECT_EQ(info.unk_id, 3);
    EXPECT_EQ(info.mask_id, 7);
    EXPECT_EQ(info.cls_id, 0);
    EXPECT_EQ(info.sep_id, 2);
    EXPECT_EQ(info.position_offset, 2u);
    EXPECT_EQ(info.position_pad, 1u);
    EXPECT_EQ(info.specials_single, 2u);
    EXPECT_EQ(info.specials_pair, 4u);
    EXPECT_EQ(info.has_token_type_ids, 0u);
  }
  file.post_processor = R"({"type":"BertProcessing","sep":["</s>",2],"cls":["<s>",0]})";
  const rankfeed_model_info info = Compiled(file.Text()).info();
  EXPECT_EQ(info.position_offset, 0u);
  EXPECT_EQ(info.position_pad, 0u);
  EXPECT_EQ(info.has_token_type_ids, 1u);
}

TEST(ReadHfJson, SharedXlmRoberta) {
  RANKFEED_SHARED_FILE(json, "xlmr.tokenizer.json");
  const Compiled compiled(json);
  ASSERT_EQ(compiled.status, RANKFEED_OK) << compiled.message();
  const rankfeed_model_info info = compiled.info();
  EXPECT_EQ(info.id_count, 250002u);
  EXPECT_EQ(info.mask_id, 250001);
  EXPECT_EQ(info.position_offset, 2u);
  const Model& m = compiled.view();
  EXPECT_EQ(Show(m, m.template_pair), "0 A 2 2 B 2");
  for (uint32_t id = 0; id < info.id_count; id += 101) {
    const std::string piece = compiled.piece(id);
    ASSERT_EQ(rankfeed_model_piece_to_id(compiled.model, piece.data(), piece.size()),
              static_cast<int32_t>(id));
  }
}

}  // namespace
}  // namespace rankfeed::builder
