// SPDX-License-Identifier: MIT
// A vocab.txt alone with a preset, and with the files beside it; a vocab.json with its merges.txt and
// those files. What transformers makes of such folders is compared in tests/oracle/bert_folders.py and
// bpe_folders.py.
#include "capi/folders/tokenizer_json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/byte_alphabet.h"
#include "builder/base/model_spec.h"
#include "rankfeed/builder.h"
#include "reference/hf_tiny.h"

namespace rankfeed::folders {
namespace {

namespace fs = std::filesystem;

constexpr char kLines[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nHello\n##s\né\ne\n中\n";

std::string Json(const std::string& lines, std::string_view preset = "bert",
                 const FilesBeside& beside = {}) {
  return TokenizerJsonOf(lines, "folder/vocab.txt", beside, preset);
}

std::string Encode(const std::string& json, std::string_view text) {
  return hf_test::Engine(json).Encode(text, RANKFEED_ADD_SPECIAL_TOKENS);
}

std::string Refusal(const std::string& lines, const FilesBeside& beside = {}) {
  try {
    Json(lines, beside.config.empty() && beside.tokenizer_config.empty() ? "bert" : "", beside);
  } catch (const builder::BuildError& error) {
    return error.what();
  }
  return "";
}

TEST(ReadVocabTxt, Presets) {
  EXPECT_EQ(Encode(Json(kLines), "Hellos É中[MASK]"),
            "2:0-0 5:0-5 7:5-6 9:7-8 10:8-9 4:9-15 3:0-0");
  EXPECT_EQ(Encode(Json(kLines, "bert-cased"), "Hellos é"), "2:0-0 6:0-5 7:5-6 8:7-8 3:0-0");
  EXPECT_EQ(Encode(Json("<s>\n<pad>\n</s>\n[UNK]\n<mask>\na\n", "mpnet"), "a  <mask>"),
            "0:0-0 5:0-1 4:3-9 2:0-0");
}

TEST(ReadVocabTxt, LinesLoseTheWhiteSpaceAtTheirEnds) {
  std::string lines = kLines;
  for (size_t at = 0; (at = lines.find('\n', at)) != lines.npos; at += 2) lines.replace(at, 1, "\r\n");
  EXPECT_EQ(Json(lines), Json(kLines));
  EXPECT_EQ(Json(std::string(kLines) + "##\u2028\nx\u3000 \t"), Json(std::string(kLines) + "##\nx\n"));
  // An empty line is the piece of no bytes, and of equal lines the last one counts.
  EXPECT_EQ(Encode(Json(std::string(kLines) + "\nhello\n"), "hello"), "2:0-0 12:0-5 3:0-0");
  EXPECT_NE(Json(std::string(kLines) + "\"\\\x01\n").find(R"("\"\\\u0001":11)"), std::string::npos);
}

TEST(ReadVocabTxt, FilesBesideIt) {
  FilesBeside beside;
  beside.tokenizer_config = R"({"do_lower_case":false,"strip_accents":true,"mask_token":
      {"__type":"AddedToken","content":"[MASK]","lstrip":true,"normalized":false}})";
  EXPECT_EQ(Encode(Json(kLines, "", beside), "Hello é [MASK]"), "2:0-0 6:0-5 9:6-7 4:7-14 3:0-0");
  beside.added_tokens = R"({"<new>":11})";
  EXPECT_EQ(Encode(Json(kLines, "", beside), "hello<new>"), "2:0-0 5:0-5 11:5-10 3:0-0");
  // Tokens of special_tokens_map.json are special where no file has extra_special_tokens, and those of added_tokens.json are
  // not special for it; an object in tokenizer_config.json names no token of added_tokens.json either.
  beside.special_tokens_map = R"({"additional_special_tokens":["<x>","<new>"]})";
  const std::string added = R"({"id":11,"content":"<new>","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false})";
  EXPECT_NE(Json(kLines, "", beside).find(added), std::string::npos) << Json(kLines, "", beside);
  EXPECT_EQ(Encode(Json(kLines, "", beside), "hello<x>"), "2:0-0 5:0-5 12:5-8 3:0-0");
  beside.tokenizer_config = R"({"do_lower_case":false,"extra_special_tokens":["<y>"]})";
  EXPECT_NE(Encode(Json(kLines, "", beside), "hello<x>"), "2:0-0 5:0-5 12:5-8 3:0-0");
  beside.tokenizer_config = R"({"do_lower_case":false,"additional_special_tokens":[]})";  // which is a list too
  EXPECT_NE(Encode(Json(kLines, "", beside), "hello<x>"), "2:0-0 5:0-5 12:5-8 3:0-0");
  beside = {};
  beside.tokenizer_config = R"({"tokenizer_class":"DistilBertTokenizerFast","tokenize_chinese_chars":false})";
  EXPECT_EQ(Encode(Json(kLines, "", beside), "e中"), "2:0-0 1:0-2 3:0-0");
  beside = {};
  beside.config = R"({"model_type":"luke","tokenizer_class":"MPNetTokenizer"})";  // its class counts before its type
  EXPECT_EQ(Encode(Json("<s>\n</s>\n[UNK]\na\n", "", beside), "a"), "0:0-0 3:0-1 1:0-0");
}

TEST(ReadVocabTxt, Refusals) {
  const std::string lines = kLines;
  EXPECT_NE(Refusal("\xef\xbb\xbf" + lines).find("byte order mark"), std::string::npos);
  EXPECT_NE(Refusal("hello\n##s\n").find("folder/vocab.txt: has no line [UNK]"), std::string::npos);
  EXPECT_NE(Refusal("[UNK]\n[CLS]\n").find("has no line [SEP], which is the sep_token"),
            std::string::npos);
  EXPECT_NE(Refusal(lines + "\xff\n").find("line 12 is not UTF-8"), std::string::npos);
  EXPECT_NE(Refusal(std::string(100'000'000, 'x')).find("the limit of a vocab.txt is 67108864"),
            std::string::npos);
  FilesBeside beside;
  beside.config = R"({"model_type":"xlm-roberta"})";
  EXPECT_NE(Refusal(lines, beside).find("folder/config.json: byte 14: model_type \"xlm-roberta\""),
            std::string::npos);
  beside.tokenizer_config = R"({"tokenizer_class":"BertJapaneseTokenizer"})";
  EXPECT_NE(Refusal(lines, beside).find("\"BertJapaneseTokenizer\" does not read"), std::string::npos);
  beside.config.clear();
  beside.tokenizer_config = R"({"do_lower_case":"no"})";
  EXPECT_NE(Refusal(lines, beside).find("must be true or false"), std::string::npos);
  beside.tokenizer_config = "[";
  EXPECT_NE(Refusal(lines, beside).find("folder/tokenizer_config.json: byte 1: not valid JSON"),
            std::string::npos);
}

// The same through the calls of the C API, which take a path.
TEST(ReadVocabTxt, Paths) {
  const fs::path folder = fs::temp_directory_path() / ("rankfeed_vocab_txt_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "vocab.txt") << kLines;
  std::ofstream(folder / "other.txt") << kLines;
  std::ofstream(folder / "tokenizer_config.json") << R"({"do_lower_case":false})";
  rankfeed_builder_error error{};
  error.struct_size = sizeof error;
  const auto id_of = [&](const char* name, const char* preset) {
    const rankfeed_compile_options options{sizeof options, RANKFEED_PARITY_AUTO, preset};
    rankfeed_loaded* loaded = nullptr;
    error.message[0] = '\0';
    const std::string path = (folder / name).string(), image = path + ".image";
    if (rankfeed_load(path.c_str(), &options, &loaded, &error)) return -1;
    EXPECT_EQ(rankfeed_compile_file(path.c_str(), image.c_str(), &options, &error), RANKFEED_OK);
    size_t size = 0;
    const void* const bytes = rankfeed_loaded_image(loaded, &size);
    std::ifstream file(image, std::ios::binary);
    const std::string compiled{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(compiled, std::string(static_cast<const char*>(bytes), size));
    EXPECT_STREQ(rankfeed_model_kind(rankfeed_loaded_model(loaded)), "wordpiece");
    const bool lowers = compiled.find("Hello") != compiled.npos &&
                        rankfeed_model_piece_to_id(rankfeed_loaded_model(loaded), "Hello", 5) == 6;
    rankfeed_loaded_free(loaded);
    return lowers ? 6 : 0;
  };
  EXPECT_EQ(id_of("vocab.txt", nullptr), 6);
  EXPECT_EQ(id_of("vocab.txt", "bert"), 6);
  EXPECT_EQ(id_of("other.txt", "bert-cased"), 6);
  EXPECT_EQ(id_of("other.txt", nullptr), -1);
  EXPECT_NE(std::string(error.message).find("--preset bert"), std::string::npos) << error.message;
  fs::remove_all(folder);
}

// --- vocab.json and merges.txt --------------------------------------------------------------------

// The pieces of all bytes, <s>, </s> and <|end|> before them, then the products of kMerges.
constexpr char kMerges[] = "#version: 0.2\nh e\nl l\nhe ll\nhell o\n\u0120 w\n";
constexpr int kFirst = 3;

std::string VocabJson() {
  std::string json = R"({"<s>":0,"</s>":1,"<|end|>":2)";
  int id = kFirst;
  const auto add = [&](const std::string& piece) {
    json += ",\"" + std::string(piece == "\"" || piece == "\\" ? "\\" : "") + piece + "\":" + std::to_string(id++);
  };
  for (int byte = 0; byte < 256; ++byte) {
    const uint32_t c = kByteAlphabet.chars[byte];
    add(c < 0x80 ? std::string(1, static_cast<char>(c))
                 : std::string{static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))});
  }
  for (const char* product : {"he", "ll", "hell", "hello", "\u0120w"}) add(product);
  return json + "}";
}

std::string FromMerges(const std::string& config, const std::string& merges = kMerges,
                       const std::string& vocab = VocabJson(), const std::string& model = "") {
  FilesBeside beside;
  beside.tokenizer_config = config;
  beside.config = model;
  try {
    return TokenizerJsonOfMerges(vocab, merges, "folder/vocab.json", beside);
  } catch (const builder::BuildError& error) {
    return error.what();
  }
}

// The tokens of the bytes of a text, which stands at a place.
std::string Bytes(std::string_view text, size_t at) {
  std::string out;
  for (const char c : text) {
    out += out.empty() ? "" : " ";
    out += std::to_string(kFirst + c) + ":" + std::to_string(at) + "-" + std::to_string(at + 1);
    ++at;
  }
  return out;
}

TEST(VocabJson, TheClassSaysPatternAndTemplate) {
  const std::string a = std::to_string(kFirst + 'A'), hello = std::to_string(kFirst + 259),
                    w = std::to_string(kFirst + 260);
  EXPECT_EQ(Encode(FromMerges(R"({"tokenizer_class":"RobertaTokenizerFast"})"), "hello wA"),
            "0:0-0 " + hello + ":0-5 " + w + ":6-7 " + a + ":7-8 1:0-0");
  EXPECT_EQ(Encode(FromMerges(R"({"tokenizer_class":"RobertaTokenizer","trim_offsets":false})"), "hello wA"),
            "0:0-0 " + hello + ":0-5 " + w + ":5-7 " + a + ":7-8 1:0-0");
  EXPECT_EQ(Encode(FromMerges(R"({"tokenizer_class":"RobertaTokenizer","add_prefix_space":true})"), "wA"),
            "0:0-0 " + w + ":0-1 " + a + ":1-2 1:0-0");
  EXPECT_EQ(Encode(FromMerges(R"({"tokenizer_class":"GPT2Tokenizer","bos_token":"<|end|>","add_bos_token":true})"),
                   "hello</s>"),
            "2:0-0 " + hello + ":0-5 " + Bytes("</s>", 5));
  // Qwen's digits stand alone, its normalizer composes, and its end of a text is a new token.
  const std::string qwen = FromMerges(R"({"tokenizer_class":"GPT2Tokenizer","add_eos_token":true})", kMerges,
                                      VocabJson(), R"({"model_type":"qwen2"})");
  EXPECT_EQ(Encode(qwen, "e\u0301"), Encode(qwen, "\u00e9"));
  EXPECT_TRUE(Encode(qwen, "a").ends_with(" 264:0-0")) << Encode(qwen, "a");
}

// The class of a type is in one table, whichever file it is read for.
TEST(VocabJson, TheTypeSaysTheClassWhereNoFileDoes) {
  const std::string qwen = FromMerges(R"({"tokenizer_class":"Qwen2Tokenizer"})");
  for (const char* const type : {"qwen2_audio", "qwen3_vl_moe", "internvl"}) {
    EXPECT_EQ(FromMerges("", kMerges, VocabJson(), R"({"model_type":")" + std::string(type) + "\"}"), qwen) << type;
  }
}

TEST(VocabJson, Refusals) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), text.npos) << text;
  };
  const std::string gpt2 = R"({"tokenizer_class":"GPT2Tokenizer"})";
  has(FromMerges(""), "folder/vocab.json: nothing beside it says which class");
  has(FromMerges(R"({"tokenizer_class":"CLIPTokenizer"})"), "\"CLIPTokenizer\" does not read vocab.json");
  has(FromMerges("", kMerges, VocabJson(), R"({"model_type":"clip"})"), "folder/config.json: byte 14: model_type \"clip\"");
  has(FromMerges(R"({"tokenizer_class":"RobertaTokenizer","sep_token":"<sep>"})"), "has no piece <sep>, which is the sep_token");
  has(FromMerges(gpt2, kMerges, R"({"a":0}, "b":1})"), "folder/vocab.json: byte 7: not valid JSON");
  has(FromMerges(gpt2, kMerges, R"({"a":"0"})"), "folder/vocab.json: byte");
  has(FromMerges(gpt2, kMerges, "\xef\xbb\xbf{}"), "byte order mark");
  has(FromMerges(gpt2, std::string(100'000'000, 'x')), "folder/merges.txt: has 100000000 bytes");
  // By file and line.
  const std::string good = kMerges, merges = "folder/merges.txt: line 7 ";
  has(FromMerges(gpt2, good + "\r\n"), (merges + "must be two pieces with one space between them").c_str());
  has(FromMerges(gpt2, good + "hell o o\n"), (merges + "must be two pieces").c_str());
  has(FromMerges(gpt2, good + "he"), (merges + "must be two pieces").c_str());
  has(FromMerges(gpt2, good + "hello hello"), (merges + "names \"hellohello\", which is no piece of vocab.json").c_str());
  has(FromMerges(gpt2, good + "\xc4 w"), (merges + "is not UTF-8").c_str());
  has(FromMerges(gpt2, good + "h e\r"), (merges + "names \"e\r\", which is no piece of vocab.json").c_str());
  has(FromMerges(gpt2, "h e\r\nl l\r\n"), R"("merges":["h e","l l"])");
}

// tokenizers refuses a line that was cut inside, and has no means to see that lines are missing: pieces that no
// merge makes are allowed.
TEST(VocabJson, MergesThatWereCutOff) {
  const std::string gpt2 = R"({"tokenizer_class":"GPT2Tokenizer"})", whole = kMerges;
  EXPECT_EQ(Encode(FromMerges(gpt2, whole.substr(0, whole.size() - 1)), "hello"), std::to_string(kFirst + 259) + ":0-5");
  EXPECT_EQ(Encode(FromMerges(gpt2, whole.substr(0, whole.find("h e"))), "he"), Bytes("he", 0));
  EXPECT_EQ(Encode(FromMerges(gpt2, ""), "he"), Bytes("he", 0));
  for (size_t size = whole.find("h e"); size < whole.size(); ++size) {
    const size_t begin = whole.rfind('\n', size - 1) + 1;
    const std::string line = whole.substr(begin, size - begin);
    const bool complete = line.empty() || whole[size] == '\n';
    EXPECT_EQ(FromMerges(gpt2, whole.substr(0, size)).starts_with("{"), complete) << size << line;
  }
}

TEST(VocabJson, PlacesInWhatWasMadeOfFilesAreNotSaid) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("rankfeed_vocab_json_" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "tokenizer_config.json") << R"({"tokenizer_class":"GPT2Tokenizer"})";
  std::ofstream(folder / "merges.txt") << kMerges;
  std::string twice = VocabJson();
  twice.insert(twice.size() - 1, ",\"one more\":5");
  std::ofstream(folder / "vocab.json") << twice;
  rankfeed_builder_error error{};
  error.struct_size = sizeof error;
  rankfeed_loaded* loaded = nullptr;
  const std::string path = (folder / "vocab.json").string();
  EXPECT_EQ(rankfeed_load(path.c_str(), nullptr, &loaded, &error), RANKFEED_E_UNSUPPORTED);
  EXPECT_TRUE(std::string(error.message).starts_with(path + ": model.vocab gives")) << error.message;
  EXPECT_EQ(error.byte_offset, 0u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace rankfeed::folders
