// SPDX-License-Identifier: MIT
// crossencoder/model/config.cc: see config.h. Defaults are those of transformers' classes of
// settings (configuration_xlm_roberta.py and its neighbours, 5.23.0) for what a file leaves out.
#include "crossencoder/model/config.h"

#include <simdjson.h>

#include <set>

#include "crossencoder/model/model_error.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kElectraEmbedding = 128;  // ElectraConfig's embedding_size

// Bounds that keep every product of two sizes in 64 bits; the largest published model of the family
// (xlm-roberta-large) has 250,002 / 1,024 / 24 / 4,096 / 514, and long-context variants 8,194
// positions.
constexpr uint64_t kMaxVocab = 1u << 24, kMaxHidden = 1u << 14, kMaxLayers = 1u << 10,
                   kMaxIntermediate = 1u << 16, kMaxPositions = 1u << 20, kMaxTypes = 1u << 10,
                   kMaxLabels = 1u << 12;

class Reader {
 public:
  Reader(dom::object object, const std::string& name) : object_(object), name_(name) {}

  [[noreturn]] void Refuse(rankfeed_status status, std::string_view key,
                           const std::string& why) const {
    throw ModelError(status, name_ + ": \"" + std::string(key) + "\" " + why);
  }

  bool Has(std::string_view key, dom::element* out) const {
    return object_[key].get(*out) == simdjson::SUCCESS && !out->is_null();
  }

  uint32_t Size(std::string_view key, uint64_t low, uint64_t high, int64_t fallback = -1) const {
    dom::element element;
    if (!Has(key, &element)) {
      if (fallback >= 0) return static_cast<uint32_t>(fallback);
      Refuse(RANKFEED_E_PARSE, key, "is missing");
    }
    uint64_t value = 0;
    if (element.get(value) != simdjson::SUCCESS) {
      Refuse(RANKFEED_E_PARSE, key, "is not a whole number of 0 or more");
    }
    if (value < low || value > high) {
      Refuse(RANKFEED_E_UNSUPPORTED, key,
             "is " + std::to_string(value) + ", supported are " + std::to_string(low) + " to " +
                 std::to_string(high));
    }
    return static_cast<uint32_t>(value);
  }

  std::string Text(std::string_view key, const std::string& fallback) const {
    dom::element element;
    if (!Has(key, &element)) return fallback;
    std::string_view value;
    if (element.get(value) != simdjson::SUCCESS) Refuse(RANKFEED_E_PARSE, key, "is not a string");
    return std::string(value);
  }

  void RefuseTrue(std::string_view key) const {
    dom::element element;
    bool value = false;
    if (!Has(key, &element)) return;
    if (element.get(value) != simdjson::SUCCESS)
      Refuse(RANKFEED_E_PARSE, key, "is not true or false");
    if (value) Refuse(RANKFEED_E_UNSUPPORTED, key, "is true, only false is supported");
  }

 private:
  dom::object object_;
  const std::string& name_;
};

// Names of transformers' ACT2FN (activations.py) by what they compute in float32: gelu_fast and its
// neighbours write the constants and powers of one formula in different ways.
constexpr std::pair<std::string_view, uint32_t> kActivations[] = {
    {"gelu", RANKFEED_GPU_GELU},
    {"gelu_python", RANKFEED_GPU_GELU},
    {"gelu_new", RANKFEED_GPU_GELU_TANH},
    {"gelu_fast", RANKFEED_GPU_GELU_TANH},
    {"gelu_pytorch_tanh", RANKFEED_GPU_GELU_TANH},
    {"gelu_python_tanh", RANKFEED_GPU_GELU_TANH},
    {"gelu_accurate", RANKFEED_GPU_GELU_TANH},
    {"relu", RANKFEED_GPU_RELU},
    {"silu", RANKFEED_GPU_SILU},
    {"swish", RANKFEED_GPU_SILU},
    {"tanh", RANKFEED_GPU_TANH}};

uint32_t ReadActivation(const Reader& read, std::string_view key) {
  const std::string name = read.Text(key, "gelu");
  std::string known;
  for (const auto& [told, activation] : kActivations) {
    if (name == told) return activation;
    known.append(known.empty() ? "" : ", ").append(told);
  }
  read.Refuse(RANKFEED_E_UNSUPPORTED, key, "is \"" + name + "\"; supported are " + known);
}

// Finds the architecture by model_type, or without it by the one class in architectures.
const Architecture* ReadArchitecture(const Reader& read) {
  const std::string type = read.Text("model_type", "");
  const Architecture* found = FindArchitecture(type);
  dom::element element;
  dom::array classes;
  std::string_view name;
  if (type.empty() && read.Has("architectures", &element) &&
      element.get(classes) == simdjson::SUCCESS && classes.size() == 1 &&
      classes.at(0).get(name) == simdjson::SUCCESS) {
    found = FindArchitectureOfClass(name);
  }
  if (found == nullptr) {
    read.Refuse(RANKFEED_E_UNSUPPORTED, "model_type",
                "is \"" + type + "\"; supported are " + ModelTypes());
  }
  return found;
}

void CheckClass(const Reader& read, const Architecture& architecture) {
  dom::element element;
  if (!read.Has("architectures", &element)) return;
  dom::array names;
  if (element.get(names) != simdjson::SUCCESS) {
    read.Refuse(RANKFEED_E_PARSE, "architectures", "is not a list");
  }
  for (const dom::element entry : names) {
    std::string_view text;
    if (entry.get(text) != simdjson::SUCCESS) {
      read.Refuse(RANKFEED_E_PARSE, "architectures", "holds something other than names");
    }
    if (!IsClassOf(architecture, text)) {
      read.Refuse(RANKFEED_E_UNSUPPORTED, "architectures",
                  "holds " + std::string(text) + "; a cross-encoder of this model_type is a " +
                      std::string(architecture.class_name) + "ForSequenceClassification");
    }
  }
}

void CheckSizes(const Reader& read, const ModelConfig& config) {
  const ConfigKeys& named = *config.architecture->keys;
  if (config.hidden % config.heads != 0) {
    read.Refuse(RANKFEED_E_UNSUPPORTED, named.heads,
                "is " + std::to_string(config.heads) + ", which does not divide " + named.hidden +
                    " " + std::to_string(config.hidden));
  }
  if (config.head_dim() > RANKFEED_GPU_MAX_HEAD) {
    read.Refuse(RANKFEED_E_UNSUPPORTED, named.heads,
                "gives heads of " + std::to_string(config.head_dim()) + ", supported are up to " +
                    std::to_string(int{RANKFEED_GPU_MAX_HEAD}));
  }
  if (int64_t{config.max_positions} < int64_t{config.position_pad} + 2) {
    read.Refuse(RANKFEED_E_UNSUPPORTED, "max_position_embeddings",
                "is " + std::to_string(config.max_positions) +
                    ": no room for a token after pad_token_id " + std::to_string(config.pad_id));
  }
}

// transformers takes num_labels before the size of id2label (configuration_utils.py: a map of
// another size is replaced); 2 when a file has neither, so that only the weights can tell: 0.
uint32_t ReadLabels(const Reader& read) {
  dom::element element;
  if (read.Has("num_labels", &element)) return read.Size("num_labels", 1, kMaxLabels);
  if (!read.Has("id2label", &element)) return 0;
  dom::object labels;
  if (element.get(labels) != simdjson::SUCCESS)
    read.Refuse(RANKFEED_E_PARSE, "id2label", "is not an object");
  if (labels.size() == 0 || labels.size() > kMaxLabels) {
    read.Refuse(RANKFEED_E_UNSUPPORTED, "id2label",
                "has " + std::to_string(labels.size()) + " entries");
  }
  return static_cast<uint32_t>(labels.size());
}

}  // namespace

ModelConfig ReadConfig(std::string_view json, const std::string& name) {
  dom::parser parser;
  dom::element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root)) {
    throw ModelError(RANKFEED_E_PARSE, name + ": not JSON: " + simdjson::error_message(error));
  }
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    throw ModelError(RANKFEED_E_PARSE, name + ": not a JSON object");
  }
  // A key that occurs twice would be read differently by Python's json, which keeps the last.
  std::set<std::string_view> keys;
  for (const dom::key_value_pair field : object) {
    if (!keys.insert(field.key).second) {
      throw ModelError(RANKFEED_E_PARSE,
                       name + ": \"" + std::string(field.key) + "\" stands twice");
    }
  }
  const Reader read(object, name);

  const Architecture* const architecture = ReadArchitecture(read);
  const ConfigKeys& named = *architecture->keys;
  CheckClass(read, *architecture);
  if (const std::string kind = read.Text("position_embedding_type", "absolute");
      kind != "absolute") {
    read.Refuse(RANKFEED_E_UNSUPPORTED, "position_embedding_type",
                "is \"" + kind + "\"; supported is absolute");
  }
  read.RefuseTrue("is_decoder");
  read.RefuseTrue("add_cross_attention");

  ModelConfig config;
  config.architecture = architecture;
  config.vocab_size = read.Size("vocab_size", 1, kMaxVocab);
  config.hidden = read.Size(named.hidden, 1, kMaxHidden);
  config.layers = read.Size(named.layers, 1, kMaxLayers);
  config.heads = read.Size(named.heads, 1, kMaxHidden);
  config.intermediate = read.Size(named.intermediate, 1, kMaxIntermediate);
  config.activation = ReadActivation(read, named.activation);
  config.head_activation = architecture->head_activation;
  if (architecture->projects) {
    config.embedding = read.Size("embedding_size", 1, kMaxHidden, kElectraEmbedding);
    if (config.embedding == config.hidden) config.embedding = 0;
  }
  config.max_positions = read.Size("max_position_embeddings", 1, kMaxPositions);
  config.type_vocab =
      architecture->has_types ? read.Size("type_vocab_size", 1, kMaxTypes, 2) : uint32_t{1};
  config.pad_id =
      static_cast<int32_t>(read.Size("pad_token_id", 0, kMaxPositions, architecture->pad_id));
  config.position_pad = architecture->counts_after_pad ? config.pad_id : -1;
  CheckSizes(read, config);
  dom::element element;
  if (architecture->reads_norm_eps && read.Has("layer_norm_eps", &element)) {
    double eps = 0;
    if (element.get(eps) != simdjson::SUCCESS || !(eps > 0) || !(eps <= 1)) {
      read.Refuse(RANKFEED_E_UNSUPPORTED, "layer_norm_eps", "is not a number above 0, at most 1");
    }
    config.norm_eps = static_cast<float>(eps);
  }
  config.labels = ReadLabels(read);
  return config;
}

}  // namespace rankfeed::handoff
