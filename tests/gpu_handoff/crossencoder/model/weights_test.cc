// SPDX-License-Identifier: MIT
// Configs and weights that do not fit each other, or ask for something that is not computed, are
// refused with the name of what is wrong.
#include "crossencoder/model/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "crossencoder/model/float16.h"
#include "crossencoder/model/model_error.h"
#include "gpu_handoff/crossencoder/forward/golden_models.h"
#include "rankfeed/crossencoder.h"

namespace rankfeed::handoff {
namespace {

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// The reason why a config, or the golden weights with it, are refused.
std::string Refusal(const std::string& config_text, const std::string& weights) {
  try {
    ModelConfig config = ReadConfig(config_text, "config.json");
    const Safetensors file(std::as_bytes(std::span(weights)), "w");
    const Weights read(file, &config, RANKFEED_DTYPE_AUTO);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

class WeightsTest : public testing::Test {
 protected:
  const std::string config_ = Slurp(GoldenFolder() + "xlmr/config.json");
  const std::string weights_ = Slurp(GoldenFolder() + "xlmr/model.safetensors");
};

TEST_F(WeightsTest, ConfigsThatAreRefused) {
  ASSERT_EQ(Refusal(config_, weights_), "");
  const struct {
    const char *from, *to, *words;
  } cases[] = {
      {"\"xlm-roberta\"", "\"mpnet\"", "\"model_type\" is \"mpnet\"; supported are xlm-roberta, "},
      {"\"xlm-roberta\"", "\"bert\"", "XLMRobertaForSequenceClassification"},
      {"ForSequenceClassification", "ForMaskedLM", "ForMaskedLM"},
      {"\"gelu\"", "\"mish\"", "\"hidden_act\" is \"mish\""},
      {"\"absolute\"", "\"relative_key\"", "relative_key"},
      {"\"hidden_size\": 32", "\"hidden_size\": 0", "\"hidden_size\" is 0"},
      {"\"hidden_size\": 32", "\"hidden_size\": -1", "whole number"},
      {"\"hidden_size\": 32", "\"hidden_size\": 99999999999", "\"hidden_size\""},
      {"\"hidden_size\": 32", "\"hidden_sise\": 32", "\"hidden_size\" is missing"},
      {"\"hidden_size\": 32", "\"hidden_size\": 64", "[64, 32]"},
      {"\"num_attention_heads\": 4", "\"num_attention_heads\": 5", "does not divide"},
      {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "layer.2."},
      {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "layer.1."},
      {"\"vocab_size\": 64", "\"vocab_size\": 65", "word_embeddings"},
      {"\"max_position_embeddings\": 40", "\"max_position_embeddings\": 2", "no room"},
      {"\"max_position_embeddings\": 40", "\"max_position_embeddings\": 41", "position_embeddings"},
      {"\"type_vocab_size\": 1", "\"type_vocab_size\": 2", "token_type_embeddings"},
      {"\"intermediate_size\": 48", "\"intermediate_size\": 47", "intermediate.dense.weight"},
      {"\"0\": \"LABEL_0\"", "\"0\": \"a\", \"1\": \"b\"", "out_proj.weight"},
      {"\"layer_norm_eps\": 1e-05", "\"layer_norm_eps\": 0", "layer_norm_eps"},
      {"\"use_cache\": true", "\"is_decoder\": true", "is_decoder"},
      {"\"use_cache\": true", "\"hidden_size\": 32", "stands twice"},
      {"{", "[", "not JSON"},
  };
  for (const auto& c : cases) {
    const std::string why = Refusal(Replaced(config_, c.from, c.to), weights_);
    EXPECT_NE(why.find(c.words), std::string::npos) << c.to << ": '" << why << "'";
  }
  // Heads larger than the kernels' limit.
  const std::string wide =
      Replaced(Replaced(config_, "\"hidden_size\": 32", "\"hidden_size\": 1024"),
               "\"num_attention_heads\": 4", "\"num_attention_heads\": 4");
  EXPECT_NE(Refusal(wide, weights_).find("heads of 256"), std::string::npos);
}

TEST_F(WeightsTest, TensorsThatAreRefused) {
  const auto renamed = [&](const char* from, const char* to) {
    return Refusal(config_, Replaced(weights_, from, to));
  };
  EXPECT_NE(renamed("roberta.encoder.layer.1.output.dense.bias",
                    "roberta.encoder.layer.1.output.dense.biaz")
                .find("\"roberta.encoder.layer.1.output.dense.bias\" is missing"),
            std::string::npos);
  EXPECT_NE(renamed("classifier.out_proj.bias\":{\"dtype\":\"F32\"",
                    "classifier.out_proj.bias\":{\"dtype\":\"I32\"")
                .find("is I32"),
            std::string::npos);
}

// Each kind's own keys and names, in the models of numpy_models.py.
TEST(WeightsOfKinds, SayWhatIsWrong) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  const struct {
    const char *model, *from, *to, *words;
  } cases[] = {
      {"bert", "BertForSequence", "JinaBertForSequence", "holds JinaBertForSequenceClassification"},
      {"bert", "BertForSequenceClassification", "BertModel", "holds BertModel"},
      {"bert", "\"bert\"", "\"nomic_bert\"", "\"model_type\" is \"nomic_bert\""},
      {"bert", "\"vocab_size\"", "\"position_embedding_type\": \"alibi\", \"vocab_size\"", "alibi"},
      {"bert", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "bert.encoder.layer.1."},
      {"bert", "\"type_vocab_size\": 2", "\"type_vocab_size\": 1", "token_type_embeddings"},
      {"bert", "\"LABEL_0\"", "\"a\", \"1\": \"b\"", "\"classifier.weight\" has shape [1, 32]"},
      {"bert", "\"max_position_embeddings\": 40", "\"max_position_embeddings\": 39", "[40, 32]"},
      // Saved without "bert.", layers that config.json does not have are no left-over head.
      {"bert_relu", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2", "\"encoder.layer.2."},
      {"bert_relu", "\"hidden_act\": \"relu\"", "\"hidden_act\": \"quick_gelu\"", "quick_gelu"},
      {"distilbert", "\"dim\"", "\"hidden_size\"", "\"dim\" is missing"},
      {"distilbert", "\"n_heads\": 4", "\"n_heads\": 5",
       "\"n_heads\" is 5, which does not divide dim"},
      {"distilbert", "\"activation\": \"gelu\"", "\"activation\": \"gelu_10\"",
       "\"activation\" is"},
      {"distilbert", "\"n_layers\": 2", "\"n_layers\": 3", "distilbert.transformer.layer.2."},
      {"electra", "\"embedding_size\": 16", "\"embedding_size\": 32", "word_embeddings"},
      {"electra", "\"embedding_size\": 16", "\"embedding_size\": 0", "\"embedding_size\" is 0"},
      {"electra_same", "\"embedding_size\": 24", "\"x\": 24",
       "word_embeddings"},  // 128, its default
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.model);
    const std::string folder = MadeFolder() + c.model;
    const std::string config = Slurp(folder + "/config.json"),
                      weights = Slurp(folder + "/model.safetensors");
    EXPECT_EQ(Refusal(config, weights), "");
    const std::string why = Refusal(Replaced(config, c.from, c.to), weights);
    EXPECT_NE(why.find(c.words), std::string::npos) << c.to << ": '" << why << "'";
  }
}

// A model that is nearly one of these is refused by the key or tensor in which it differs.
TEST(WeightsOfFamilies, SayWhatIsWrong) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  const struct {
    const char *model, *from, *to, *words;
  } cases[] = {
      {"modernbert", "\"hidden_activation\": \"gelu\"", "\"hidden_activation\": \"mish\"",
       "\"hidden_activation\" is \"mish\""},
      {"modernbert", "\"classifier_pooling\": \"cls\"", "\"classifier_pooling\": \"max\"",
       "classifier_pooling"},
      {"modernbert", "\"vocab_size\"", "\"rope_scaling\": {\"type\": \"yarn\"}, \"vocab_size\"",
       "rope_scaling"},
      {"modernbert", "\"vocab_size\"", "\"layer_types\": [\"full_attention\"], \"vocab_size\"",
       "layer_types"},
      {"modernbert", "\"vocab_size\"", "\"norm_bias\": true, \"vocab_size\"", "norm.bias"},
      {"modernbert", "\"num_attention_heads\": 4", "\"num_attention_heads\": 32", "no halves"},
      {"modernbert", "ForSequenceClassification", "ForMaskedLM", "ForMaskedLM"},
      {"modernbert_mean", "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"",
       "rope_parameters.full_attention.rope_type"},
      {"gte_new", "\"layer_norm_type\": \"layer_norm\"", "\"layer_norm_type\": \"rms_norm\"",
       "layer_norm_type"},
      {"gte_new", "\"logn_attention_scale\": false", "\"logn_attention_scale\": true",
       "logn_attention_scale"},
      {"gte_new", "\"position_embedding_type\": \"rope\"",
       "\"position_embedding_type\": \"absolute\"", "position_embedding_type"},
      {"gte_new", "\"type\": \"ntk\"", "\"type\": \"linear\"", "rope_scaling.type"},
      {"gte_new", "\"vocab_size\"", "\"num_experts\": 8, \"vocab_size\"", "num_experts"},
      {"deberta", "\"vocab_size\"", "\"conv_kernel_size\": 3, \"vocab_size\"", "conv_kernel_size"},
      {"deberta", "\"vocab_size\"", "\"embedding_size\": 16, \"vocab_size\"", "embedding_size"},
      {"deberta", "\"vocab_size\"", "\"attention_head_size\": 16, \"vocab_size\"",
       "attention_head_size"},
      {"deberta", "\"norm_rel_ebd\": \"layer_norm\"", "\"norm_rel_ebd\": \"rms\"", "norm_rel_ebd"},
      {"deberta", "\"share_att_key\": true", "\"share_att_key\": false",
       "pos_key_proj.weight\" is missing"},
      {"deberta", "\"position_buckets\": 8", "\"position_buckets\": 16", "rel_embeddings"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.model);
    const std::string folder = MadeFolder() + c.model;
    const std::string config = Slurp(folder + "/config.json"),
                      weights = Slurp(folder + "/model.safetensors");
    EXPECT_EQ(Refusal(config, weights), "");
    const std::string why = Refusal(Replaced(config, c.from, c.to), weights);
    EXPECT_NE(why.find(c.words), std::string::npos) << c.to << ": '" << why << "'";
  }
}

// The first distance of each bucket from 129 to 256, as transformers' make_log_bucket_position(d, 256, 512)
// gives them in PyTorch's float32; nearer ones are their own.
TEST(ConfigOfFamilies, BucketsOfAllDistances) {
  constexpr int kFirst[] = {
      129, 130, 131, 133, 134, 136, 137, 139, 140, 142, 143, 145, 146, 148, 150, 151, 153, 155,
      156, 158, 160, 161, 163, 165, 167, 169, 170, 172, 174, 176, 178, 180, 182, 184, 186, 188,
      190, 192, 194, 196, 198, 201, 203, 205, 207, 210, 212, 214, 216, 219, 221, 224, 226, 229,
      231, 234, 236, 239, 241, 244, 247, 249, 252, 255, 258, 260, 263, 266, 269, 272, 275, 278,
      281, 284, 287, 290, 294, 297, 300, 303, 307, 310, 313, 317, 320, 324, 327, 331, 335, 338,
      342, 346, 349, 353, 357, 361, 365, 369, 373, 377, 381, 385, 390, 394, 398, 403, 407, 411,
      416, 420, 425, 430, 434, 439, 444, 449, 454, 459, 464, 469, 474, 479, 484, 490, 495, 500,
      506, 512};
  const ModelConfig config = ReadConfig(
      R"({"model_type": "deberta-v2", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1,
          "num_attention_heads": 1, "intermediate_size": 8, "max_position_embeddings": 1024,
          "relative_attention": true, "position_buckets": 256, "max_relative_positions": 512})",
      "c");
  ASSERT_EQ(config.relative.buckets.size(), 2047u);
  for (int d = -1023; d <= 1023; ++d) {
    const int far = std::abs(d);
    const int most = 128 + static_cast<int>(std::upper_bound(std::begin(kFirst), std::end(kFirst), far) - kFirst);
    const int bucket = (d < 0 ? -1 : 1) * std::min(far, most);
    EXPECT_EQ(config.relative.buckets[static_cast<size_t>(d + 1023)], std::clamp(bucket + 256, 0, 511)) << d;
  }
}

// What the model does not have is set aside only where it is another task's head.
TEST(WeightsOfKinds, LeftOverTensors) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  const std::string config = Slurp(MadeFolder() + "bert_new/config.json"),
                    weights = Slurp(MadeFolder() + "bert_new/model.safetensors");
  const auto renamed = [&](const char* to) {
    return Refusal(config, Replaced(weights, "cls.predictions.bias", to));
  };
  EXPECT_EQ(renamed("qa_outputs.weights__"), "");
  EXPECT_NE(renamed("classifier.bias.new_").find("not part of"), std::string::npos);
  EXPECT_NE(renamed("bert.pooler.bias____").find("not part of"), std::string::npos);
  EXPECT_NE(renamed("bert.encoder.norm.w_").find("not part of"), std::string::npos);
}

// AutoConfig's rule for num_labels beside an id2label of another size.
TEST_F(WeightsTest, NumLabelsComesBeforeTheSizeOfId2label) {
  const std::string two = Replaced(config_, "\"0\": \"LABEL_0\"", "\"0\": \"a\", \"1\": \"b\"");
  EXPECT_EQ(ReadConfig(Replaced(two, "{", "{\"num_labels\": 1,"), "c").labels, 1u);
  EXPECT_EQ(Refusal(Replaced(two, "{", "{\"num_labels\": 1,"), weights_), "");
  EXPECT_EQ(ReadConfig(Replaced(config_, "{", "{\"num_labels\": 3,"), "c").labels, 3u);
}

TEST_F(WeightsTest, OneClassNamesTheKindWhereModelTypeIsAbsent) {
  const std::string silent = Replaced(config_, "\"model_type\"", "\"type_of_model\"");
  EXPECT_EQ(Refusal(silent, weights_), "");
  const std::string name = "\"XLMRobertaForSequenceClassification\"";
  for (const std::string& other :
       {name + ", " + name, std::string("\"XLMRobertaModel\""), std::string()}) {
    EXPECT_NE(Refusal(Replaced(silent, name, other), weights_).find("\"model_type\" is \"\""),
              std::string::npos)
        << other;
  }
}

// A prefix that the kind's own names do not have is one only where every tensor has it.
TEST(WeightsOfKinds, PrefixesOfWrappersAreCutAndNoted) {
  if (MadeFolder().empty()) GTEST_SKIP() << kNoModels;
  for (const auto& [model, prefix] : {std::pair{"bert_wrapped", "_orig_mod."},
                                      {"roberta_fast", "module."},
                                      {"distilbert_wrapped", "model."}}) {
    EXPECT_EQ(std::string(OpenModel(MadeFolder() + model).info().note),
              "names of tensors without their \"" + std::string(prefix) + "\"");
  }
  const std::string config = Slurp(MadeFolder() + "roberta_fast/config.json"),
                    weights = Slurp(MadeFolder() + "roberta_fast/model.safetensors");
  EXPECT_NE(Refusal(config, Replaced(weights, "module.classifier.dense.bias",
                                     "modul_.classifier.dense.bias"))
                .find("is missing"),
            std::string::npos);
}

TEST_F(WeightsTest, LabelsComeFromTheWeightsWhenTheConfigIsSilent) {
  const size_t begin = config_.find("\"id2label\""), end = config_.find("},", begin) + 2;
  ModelConfig config = ReadConfig(config_.substr(0, begin) + config_.substr(end), "c");
  EXPECT_EQ(config.labels, 0u);
  const Safetensors file(std::as_bytes(std::span(weights_)), "w");
  const Weights weights(file, &config, RANKFEED_DTYPE_AUTO);
  EXPECT_EQ(config.labels, 1u);
}

TEST_F(WeightsTest, BlockHoldsTheTensorsInEveryType) {
  ModelConfig config = ReadConfig(config_, "c");
  const Safetensors file(std::as_bytes(std::span(weights_)), "w");
  const auto source = [&](const char* name) {
    const StoredTensor& tensor = file.tensors().find(name)->second;
    std::vector<float> values(tensor.elements);
    CopyToFloat(tensor, values.data());
    return values;
  };
  const auto key = source("roberta.encoder.layer.1.attention.self.key.weight");
  const auto gamma = source("roberta.encoder.layer.1.output.LayerNorm.weight");
  for (const uint32_t dtype : {RANKFEED_DTYPE_F32, RANKFEED_DTYPE_F16, RANKFEED_DTYPE_BF16}) {
    const Weights weights(file, &config, dtype);
    std::vector<char> block(weights.offsets().bytes);
    weights.Write(block.data());
    const LayerOffsets& layer = weights.offsets().layers[1];
    EXPECT_EQ(layer.qkv.w % 256, 0u);
    const size_t size = dtype == RANKFEED_DTYPE_F32 ? 4 : 2;
    for (size_t i = 0; i < key.size(); ++i) {  // keys follow the 32 * 32 queries
      const char* at = block.data() + layer.qkv.w + (1024 + i) * size;
      float value;
      uint16_t bits;
      std::memcpy(&value, at, dtype == RANKFEED_DTYPE_F32 ? 4 : 0);
      std::memcpy(&bits, at, sizeof bits);
      if (dtype == RANKFEED_DTYPE_F16) value = FloatOfF16(bits);
      if (dtype == RANKFEED_DTYPE_BF16) value = FloatOfBf16(bits);
      const float step = dtype == RANKFEED_DTYPE_F32   ? 0
                         : dtype == RANKFEED_DTYPE_F16 ? 1.0f / 2048
                                                       : 1.0f / 256;
      ASSERT_NEAR(value, key[i], std::abs(key[i]) * step + 1e-7f * (size == 2)) << i;
    }
    EXPECT_EQ(0, std::memcmp(block.data() + layer.norm2.w, gamma.data(), gamma.size() * 4))
        << "float32 always";
  }
}

}  // namespace
}  // namespace rankfeed::handoff
