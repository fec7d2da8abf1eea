// SPDX-License-Identifier: MIT
// Values are those of CrossEncoder of sentence-transformers 6.2.0 for the same files.
#include "folder/model_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "builder/base/model_spec.h"
#include "rankfeed/builder.h"
#include "rankfeed/rerank.h"

namespace rankfeed::folder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";
constexpr const char* kModules =
    R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.base.modules.transformer.Transformer","kwargs":[]}])";

// A folder that is gone with the test.
class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("rankfeed_folder_" + std::to_string(getpid()));
    fs::create_directories(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  void Write(const char* name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  ModelSettings Read() const { return ReadModelSettings(path_.string()); }
  std::string Refused() const {
    try {
      Read();
    } catch (const builder::BuildError& error) {
      return error.what();
    }
    return "";
  }
  fs::path path_;
};

using ModelSettingsTest = Folder;

TEST_F(ModelSettingsTest, SayNothingOfAnEmptyFolder) {
  const ModelSettings read = Read();
  EXPECT_FALSE(read.has_config || read.multi_label || read.lower_case || read.split_special_tokens);
  EXPECT_EQ(read.Activation(), RANKFEED_SCORE_SIGMOID);
  EXPECT_EQ(read.prompt(), "");
  EXPECT_EQ(read.max_length, std::nullopt);
  EXPECT_EQ(read.refusal + read.note, "");
}

// sentence-transformers issue 1004, pull request 4006.
TEST_F(ModelSettingsTest, TakeTheActivationFromTheFirstFileThatNamesOne) {
  Write("modules.json", kModules);
  Write("config.json", R"({"sbert_ce_default_activation_function":"torch.nn.modules.activation.Tanh"})");
  EXPECT_EQ(Read().Activation(), std::nullopt);
  Write("config.json", R"({"sbert_ce_default_activation_function":"torch.nn.modules.activation.Tanh",
      "sentence_transformers":{"activation_fn":"torch.nn.modules.activation.Sigmoid"}})");
  EXPECT_EQ(Read().Activation(), RANKFEED_SCORE_SIGMOID);
  Write("config_sentence_transformers.json", std::string(R"({"model_type":"CrossEncoder","activation_fn":")") + kIdentity + "\"}");
  const ModelSettings read = Read();
  EXPECT_EQ(read.Activation(), RANKFEED_SCORE_RAW);
  EXPECT_EQ(read.activation, kIdentity);
  EXPECT_NE(read.activation_file.find("config_sentence_transformers.json"), std::string::npos);
  // A function of nobody's is set aside for the next file, with a word.
  Write("config_sentence_transformers.json", R"({"model_type":"CrossEncoder","activation_fn":"mine.Own"})");
  EXPECT_EQ(Read().Activation(), RANKFEED_SCORE_SIGMOID);
  EXPECT_NE(Read().note.find("mine.Own"), std::string::npos);
}

TEST_F(ModelSettingsTest, PutTheDefaultPromptBeforeQueries) {
  Write("modules.json", kModules);
  Write("config_sentence_transformers.json",
        R"({"model_type":"CrossEncoder","prompts":{"a":"one: ","query":"query: ","none":null},"default_prompt_name":null})");
  EXPECT_EQ(Read().prompt(), "");
  EXPECT_EQ(Read().FindPrompt("none")->text, "");
  EXPECT_EQ(Read().FindPrompt("b"), nullptr);
  Write("config_sentence_transformers.json",
        R"({"model_type":"CrossEncoder","prompts":{"a":"one: ","query":"query: "},"default_prompt_name":"query"})");
  EXPECT_EQ(Read().prompt(), "query: ");
  Write("config_sentence_transformers.json", R"({"model_type":"CrossEncoder","prompts":{"a":"one: "},"default_prompt_name":"query"})");
  EXPECT_NE(Refused().find("default_prompt_name is \"query\", and prompts has none of that name"), std::string::npos) << Refused();
}

TEST_F(ModelSettingsTest, FollowTheFileOfACrossEncoderOnly) {
  const std::string own = R"("prompts":{"q":"query: "},"default_prompt_name":"q","activation_fn":"torch.nn.modules.linear.Identity"})";
  Write("config_sentence_transformers.json", R"({"model_type":"SentenceTransformer",)" + own);
  Write("sentence_bert_config.json", R"({"max_seq_length":12})");
  ModelSettings read = Read();
  EXPECT_EQ(read.prompt(), "");
  EXPECT_EQ(read.Activation(), RANKFEED_SCORE_SIGMOID);
  EXPECT_EQ(read.max_length, std::nullopt);
  EXPECT_NE(read.note.find("is a SentenceTransformer's and not followed"), std::string::npos) << read.note;
  // A folder without model_type is one too where it has a modules.json; else the file is followed, with a note.
  Write("config_sentence_transformers.json", "{" + own);
  EXPECT_EQ(Read().prompt(), "query: ");
  EXPECT_NE(Read().note.find("there is no modules.json"), std::string::npos);
  Write("modules.json", kModules);
  EXPECT_EQ(Read().prompt(), "");
}

// vLLM pull requests 11184, 11815.
TEST_F(ModelSettingsTest, CutRowsAtTheLengthOfSentenceTransformersFirst) {
  Write("tokenizer_config.json", R"({"model_max_length":1000000000000000019884624838656})");
  EXPECT_EQ(Read().max_length, std::nullopt);
  Write("tokenizer_config.json", R"({"max_len":100})");
  EXPECT_EQ(Read().max_length, 100u);
  Write("tokenizer_config.json", R"({"max_len":100,"model_max_length":64})");
  EXPECT_EQ(Read().max_length, 64u);
  Write("sentence_xlnet_config.json", R"({"max_seq_length":13})");
  EXPECT_EQ(Read().max_length, 13u);
  Write("sentence_bert_config.json", R"({"max_seq_length":12,"do_lower_case":true})");
  EXPECT_EQ(Read().max_length, 12u);
  EXPECT_TRUE(Read().lower_case);
  Write("sentence_bert_config.json", R"({"max_seq_length":null,"do_lower_case":false})");
  EXPECT_EQ(Read().max_length, 64u);
  EXPECT_FALSE(Read().lower_case);
  Write("sentence_bert_config.json", R"({"max_seq_length":0})");
  EXPECT_NE(Refused().find("max_seq_length is 0; it must be a number of tokens"), std::string::npos) << Refused();
}

TEST_F(ModelSettingsTest, TakeATransformerAndNothingElse) {
  Write("config_sentence_transformers.json", R"({"model_type":"CrossEncoder"})");
  Write("modules.json", kModules);
  EXPECT_EQ(Read().refusal, "");
  Write("modules.json", R"([{"path":"","type":"sentence_transformers.models.Transformer"},
      {"path":"1_Dense","type":"sentence_transformers.base.modules.dense.Dense"}])");
  EXPECT_NE(Read().refusal.find("modules.json: type is sentence_transformers.base.modules.dense.Dense"), std::string::npos);
  // The head of a class that has none is in modules, which the forward pass reads.
  Write("config.json", R"({"architectures":["ModernBertModel"]})");
  Write("sentence_bert_config.json", R"({"transformer_task":"feature-extraction","module_output_name":"token_embeddings"})");
  EXPECT_EQ(Read().refusal, "");
  Write("config.json", R"({"architectures":["ModernBertForSequenceClassification"]})");
  Write("modules.json", kModules);
  EXPECT_NE(Read().refusal.find("transformer_task is \"feature-extraction\""), std::string::npos) << Read().refusal;
  Write("sentence_bert_config.json", "{}");
  Write("modules.json", R"([{"path":"0_Transformer","type":"sentence_transformers.models.Transformer"}])");
  EXPECT_NE(Read().refusal.find("path is \"0_Transformer\""), std::string::npos) << Read().refusal;
  Write("modules.json", kModules);
  Write("sentence_bert_config.json", R"({"modality_config":{"message":{"method":"forward"}}})");
  EXPECT_NE(Read().refusal.find("rows are chats"), std::string::npos);
}

TEST_F(ModelSettingsTest, GiveTheSameThroughC) {
  Write("modules.json", kModules);
  Write("config.json", R"({"id2label":{"0":"no","2":"yes"},"problem_type":"multi_label_classification"})");
  Write("tokenizer_config.json", R"({"split_special_tokens":true,"model_max_length":99})");
  Write("config_sentence_transformers.json",
        R"({"model_type":"CrossEncoder","prompts":{"a":"","q":"query: "},"default_prompt_name":"q"})");
  rankfeed_builder_error error{};
  error.struct_size = sizeof error;
  rankfeed_folder* folder = nullptr;
  ASSERT_EQ(rankfeed_folder_open(path_.string().c_str(), &folder, &error), RANKFEED_OK) << error.message;
  rankfeed_folder_info info{};
  EXPECT_EQ(rankfeed_folder_get_info(folder, &info), RANKFEED_E_STRUCT_SIZE);
  info.struct_size = sizeof info;
  ASSERT_EQ(rankfeed_folder_get_info(folder, &info), RANKFEED_OK);
  EXPECT_TRUE(info.has_config && info.multi_label && info.split_special_tokens && !info.lower_case);
  EXPECT_EQ(info.max_length, 99u);
  EXPECT_EQ(info.activation, uint32_t{RANKFEED_SCORE_SIGMOID});
  EXPECT_EQ(info.activation_fn.size, 0u);
  EXPECT_EQ(info.label_count, 2u);
  rankfeed_text name, text;
  EXPECT_EQ(rankfeed_folder_label(folder, 1, &name), RANKFEED_OK);
  EXPECT_EQ(std::string(name.data, name.size), "LABEL_1");
  EXPECT_EQ(rankfeed_folder_label(folder, 2, &name), RANKFEED_E_NOT_FOUND);
  ASSERT_EQ(info.default_prompt, 1);
  EXPECT_EQ(rankfeed_folder_prompt(folder, 1, &name, &text), RANKFEED_OK);
  EXPECT_EQ(std::string(name.data, name.size) + "=" + std::string(text.data, text.size), "q=query: ");
  EXPECT_EQ(rankfeed_folder_prompt(folder, 2, &name, &text), RANKFEED_E_NOT_FOUND);
  rankfeed_folder_free(folder);
  Write("config.json", "[");
  EXPECT_EQ(rankfeed_folder_open(path_.string().c_str(), &folder, &error), RANKFEED_E_PARSE);
  EXPECT_EQ(folder, nullptr);
}

}  // namespace
}  // namespace rankfeed::folder
