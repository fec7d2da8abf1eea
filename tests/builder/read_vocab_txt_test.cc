// SPDX-License-Identifier: MIT
// A vocab.txt alone with a preset, and with the files beside it. What transformers makes of such
// folders is compared in tests/oracle/bert_folders.py.
#include "builder/read_vocab_txt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "builder/model_spec.h"
#include "general/hf_tiny.h"
#include "rankfeed/builder.h"

namespace rankfeed::builder {
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
  } catch (const BuildError& error) {
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
  beside.tokenizer_config = R"({"tokenizer_class":"DistilBertTokenizerFast","tokenize_chinese_chars":false})";
  EXPECT_EQ(Encode(Json(kLines, "", beside), "e中"), "2:0-0 1:0-2 3:0-0");
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
  EXPECT_NE(Refusal(lines, beside).find("folder/tokenizer_config.json: not valid JSON"),
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

}  // namespace
}  // namespace rankfeed::builder
