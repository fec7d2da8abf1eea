// SPDX-License-Identifier: MIT
// crossencoder/model/families.cc: see families.h. Keys and defaults are those of transformers
// 5.23.0, configuration_modernbert.py, configuration_gte.py and
// configuration_deberta_v2.py, and of the code beside Alibaba's models.
#include "crossencoder/model/families.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "crossencoder/model/config.h"
#include "crossencoder/model/reader.h"

namespace rankfeed::handoff {
namespace {

namespace dom = simdjson::dom;

constexpr double kMaxTheta = 1e12;

// The inverse frequencies of rotary embeddings, theta^(-2j / dim), in float32 as PyTorch makes them
// (modeling_rope_utils.py).
std::vector<float> InverseFrequencies(double theta, uint32_t dim) {
  std::vector<float> out(dim / 2);
  for (uint32_t j = 0; j < dim / 2; ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(dim);
    out[j] = 1.0f / static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)),
                                                static_cast<double>(exponent)));
  }
  return out;
}

void CheckHalves(const Reader& read, const ModelConfig& config) {
  if (config.head_dim() % 2 == 0) return;
  read.Refuse(
      RANKFEED_E_UNSUPPORTED, config.architecture->keys->heads,
      "gives heads of " + std::to_string(config.head_dim()) + ", which have no halves to rotate");
}

// The theta of one kind of layer: that of rope_parameters, else that of the older key.
double LayerTheta(const Reader& read, const char* kind, const char* old_key, double fallback) {
  const double theta = read.Positive(old_key, kMaxTheta, fallback);
  if (!read.Has("rope_parameters")) return theta;
  const Reader all = read.Object("rope_parameters");
  if (!all.Has(kind)) return theta;
  const Reader one = all.Object(kind);
  one.RefuseUnless("rope_type", "\"default\"");
  one.RefuseUnless("partial_rotary_factor", "1.0");
  return one.Positive("rope_theta", kMaxTheta, theta);
}

// Layers in turn: all tokens with the first rotary table, or a window with the second.
void ReadLayerTypes(const Reader& read, uint32_t window, ModelConfig* config) {
  const uint32_t every = read.Size("global_attn_every_n_layers", 1, 1u << 16, 3);
  for (uint32_t i = 0; i < config->layers; ++i)
    config->attention[i] = i % every == 0 ? LayerAttention{0, 0} : LayerAttention{1, window};
  dom::element element;
  if (!read.Has("layer_types", &element)) return;
  dom::array types;
  if (element.get(types) != simdjson::SUCCESS || types.size() != config->layers) {
    read.Refuse(RANKFEED_E_PARSE, "layer_types",
                "is not a list of " + std::to_string(config->layers) + " names, one a layer");
  }
  uint32_t i = 0;
  for (const dom::element entry : types) {
    std::string_view type;
    const bool named = entry.get(type) == simdjson::SUCCESS;
    if (!named || (type != "full_attention" && type != "sliding_attention")) {
      read.Refuse(RANKFEED_E_UNSUPPORTED, "layer_types",
                  "holds something other than full_attention and sliding_attention");
    }
    config->attention[i++] =
        type == "full_attention" ? LayerAttention{0, 0} : LayerAttention{1, window};
  }
}

// NTK scaling, which is always on where it is named: theta times the factor, and each frequency
// divided, by one power of the factor or by powers that grow from dimension to dimension
// ("mixed_b").
std::vector<float> ScaledFrequencies(const Reader& scaling, double theta, uint32_t dim) {
  constexpr double kMaxFactor = 1e6;
  scaling.RefuseUnless("type", "\"ntk\"");
  const double factor = scaling.Positive("factor", kMaxFactor, 1);
  const bool mixed = scaling.Has("mixed_b");
  std::vector<float> out = InverseFrequencies(mixed ? theta : theta * factor, dim);
  const double b = scaling.Positive("mixed_b", kMaxFactor, 1);
  const double a = std::log(factor) / std::pow(dim / 2.0, b);
  for (size_t j = 0; j < out.size(); ++j) {
    out[j] /= static_cast<float>(mixed ? std::exp(a * std::pow(static_cast<double>(j + 1), b))
                                       : std::pow(factor, 2.0 / dim));
  }
  return out;
}

// The row of a distance in a table of 2 * span rows, as make_log_bucket_position of
// modeling_deberta_v2.py has it: as it is up to half the buckets, then in logarithmic steps up to
// the most; in float32, and in that order.
int32_t BucketOf(int32_t distance, uint32_t buckets, uint32_t most, uint32_t span) {
  const auto mid = static_cast<int32_t>(buckets / 2);
  int32_t bucket = distance;
  if (buckets != 0 && std::abs(distance) > mid) {
    const float share = std::log(static_cast<float>(std::abs(distance)) / static_cast<float>(mid)) /
                        std::log(static_cast<float>(static_cast<double>(most - 1) / mid));
    const float steps = std::ceil(share * static_cast<float>(mid - 1)) + static_cast<float>(mid);
    bucket = static_cast<int32_t>(distance < 0 ? -steps : steps);
  }
  const auto rows = static_cast<int32_t>(2 * span);
  return std::clamp(bucket + static_cast<int32_t>(span), 0, rows - 1);
}

// "c2p|p2c", or a list of the two.
bool HasTerm(const Reader& read, std::string_view term) {
  dom::element element;
  dom::array list;
  if (!read.Has("pos_att_type", &element)) return false;
  if (element.get(list) != simdjson::SUCCESS)
    return ("|" + read.Text("pos_att_type", "") + "|").find("|" + std::string(term) + "|") !=
           std::string::npos;
  return std::any_of(list.begin(), list.end(), [&](dom::element entry) {
    std::string_view name;
    return entry.get(name) == simdjson::SUCCESS && name == term;
  });
}

// -1, or what is missing, is 0.
uint32_t PositiveOrNone(const Reader& read, const char* key, uint64_t most) {
  dom::element element;
  int64_t value = 0;
  if (read.Has(key, &element) && element.get(value) == simdjson::SUCCESS && value < 1) return 0;
  return read.Size(key, 1, most, 0);
}

}  // namespace

void ReadDeberta(const Reader& read, ModelConfig* config) {
  constexpr uint64_t kMaxSpan = 1u << 14;
  for (const auto& [key, value] : {std::pair{"attention_head_size", config->head_dim()},
                                   {"embedding_size", config->hidden},
                                   {"pooler_hidden_size", config->hidden}}) {
    read.RefuseUnless(key, std::to_string(value));
  }
  config->has_positions = read.Flag("position_biased_input", true);
  config->type_vocab = read.Size("type_vocab_size", 0, 1u << 10, 0);
  config->head.front().activation = read.Activation("pooler_hidden_act", "gelu");
  if (!read.Flag("relative_attention", false)) return;
  RelativeAttention& relative = config->relative;
  const uint32_t buckets = PositiveOrNone(read, "position_buckets", kMaxSpan);
  uint32_t most = PositiveOrNone(read, "max_relative_positions", kMaxSpan);
  if (most == 0) most = config->max_positions;
  if (buckets == 1 || (buckets != 0 && most - 1 <= buckets / 2) || most > kMaxSpan)
    read.Refuse(RANKFEED_E_UNSUPPORTED, "position_buckets",
                "and max_relative_positions leave no logarithmic steps");
  relative.span = buckets != 0 ? buckets : most;
  relative.keys = HasTerm(read, "c2p");
  relative.queries = HasTerm(read, "p2c");
  relative.shared = read.Flag("share_att_key", false);
  const std::string norm = read.Text("norm_rel_ebd", "none");
  relative.normed = norm == "layer_norm";
  if (!relative.normed && norm != "none")
    read.Refuse(RANKFEED_E_UNSUPPORTED, "norm_rel_ebd",
                "is \"" + norm + "\"; supported are layer_norm, none");
  const auto reach = static_cast<int32_t>(config->max_positions) - 1;
  for (int32_t d = -reach; d <= reach; ++d)
    relative.buckets.push_back(BucketOf(d, buckets, most, relative.span));
}

void ReadGte(const Reader& read, ModelConfig* config) {
  CheckHalves(read, *config);
  config->up_bias = false;
  const bool native = config->architecture->model_type == "gte";
  double theta = read.Positive("rope_theta", kMaxTheta, native ? 160000 : 10000);
  if (read.Has("rope_parameters")) {
    const Reader rope = read.Object("rope_parameters");
    rope.RefuseUnless("rope_type", "\"default\"");
    theta = rope.Positive("rope_theta", kMaxTheta, theta);
  }
  for (LayerAttention& layer : config->attention) layer.rotary = 0;
  config->rotary.push_back(
      read.Has("rope_scaling")
          ? ScaledFrequencies(read.Object("rope_scaling"), theta, config->head_dim())
          : InverseFrequencies(theta, config->head_dim()));
}

void ReadModernBert(const Reader& read, ModelConfig* config) {
  CheckHalves(read, *config);
  ReadLayerTypes(read, read.Size("local_attention", 2, 1u << 20, 128) / 2, config);
  for (const double theta : {LayerTheta(read, "full_attention", "global_rope_theta", 160000),
                             LayerTheta(read, "sliding_attention", "local_rope_theta", 10000)}) {
    config->rotary.push_back(InverseFrequencies(theta, config->head_dim()));
  }
  config->norm_bias = read.Flag("norm_bias", false);
  config->qkv_bias = config->out_bias = read.Flag("attention_bias", false);
  config->up_bias = config->down_bias = read.Flag("mlp_bias", false);
  const std::string pooling = read.Text("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean")
    read.Refuse(RANKFEED_E_UNSUPPORTED, "classifier_pooling",
                "is \"" + pooling + "\"; supported are cls, mean");
  config->pool = pooling == "mean" ? RANKFEED_GPU_MEAN : RANKFEED_GPU_FIRST;
  HeadStep& dense = config->head.front();
  dense.activation = read.Activation("classifier_activation", "gelu");
  dense.bias = read.Flag("classifier_bias", false);
  config->head.push_back({.kind = HeadStep::Kind::kNorm,
                          .name = "head.norm",
                          .width = config->hidden,
                          .bias = config->norm_bias,
                          .eps = config->norm_eps});
}

}  // namespace rankfeed::handoff
