// SPDX-License-Identifier: MIT
// crossencoder/model/config.cc: see config.h. Defaults are those of transformers' classes of
// settings (configuration_xlm_roberta.py and its neighbours, 5.23.0) for what a file leaves out.
#include "crossencoder/model/config.h"

#include <algorithm>

#include "crossencoder/model/model_error.h"
#include "crossencoder/model/reader.h"

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

// Returns true where a class in architectures has a head for scores.
bool HasHead(const Reader& read) {
  dom::element element;
  dom::array names;
  if (!read.Has("architectures", &element) || element.get(names) != simdjson::SUCCESS) return false;
  return std::any_of(names.begin(), names.end(), [](dom::element entry) {
    std::string_view name;
    return entry.get(name) == simdjson::SUCCESS && name.ends_with(kScoringTask);
  });
}

// task: the end of the class's name.
void CheckClass(const Reader& read, const Architecture& architecture, std::string_view task) {
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
    if (!IsClassOf(architecture, text, task)) {
      read.Refuse(RANKFEED_E_UNSUPPORTED, "architectures",
                  "holds " + std::string(text) + "; a cross-encoder of this model_type is a " +
                      std::string(architecture.class_name) + std::string(task));
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
  if (read.Has("num_labels")) return read.Size("num_labels", 1, kMaxLabels);
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

ModelConfig Describe(const Reader& read, const Architecture& architecture) {
  const ConfigKeys& named = *architecture.keys;
  ModelConfig config;
  config.architecture = &architecture;
  config.norms_before = architecture.norms_before;
  config.gated = architecture.gated;
  config.vocab_size = read.Size("vocab_size", 1, kMaxVocab);
  config.hidden = read.Size(named.hidden, 1, kMaxHidden);
  config.layers = read.Size(named.layers, 1, kMaxLayers);
  config.heads = read.Size(named.heads, 1, kMaxHidden);
  config.intermediate = read.Size(named.intermediate, 1, kMaxIntermediate);
  config.activation = read.Activation(named.activation, "gelu");
  if (architecture.projects) {
    config.embedding = read.Size("embedding_size", 1, kMaxHidden, kElectraEmbedding);
    if (config.embedding == config.hidden) config.embedding = 0;
  }
  config.max_positions = read.Size("max_position_embeddings", 1, kMaxPositions);
  config.has_positions = architecture.has_positions;
  if (architecture.types != 0) {
    // Only kinds without positions may have no types either.
    const uint64_t least = architecture.has_positions ? 1 : 0;
    config.type_vocab = read.Size("type_vocab_size", least, kMaxTypes, architecture.types);
  }
  config.pad_id =
      static_cast<int32_t>(read.Size("pad_token_id", 0, kMaxVocab, architecture.pad_id));
  config.position_pad = architecture.counts_after_pad ? config.pad_id : -1;
  CheckSizes(read, config);
  config.norm_eps = static_cast<float>(named.norm_eps != nullptr
                                           ? read.Positive(named.norm_eps, 1, architecture.norm_eps)
                                           : architecture.norm_eps);
  config.attention.resize(config.layers);
  config.head.push_back({.kind = HeadStep::Kind::kDense,
                         .name = architecture.dense,
                         .width = config.hidden,
                         .activation = architecture.head_activation});
  config.scores = architecture.scores;
  if (architecture.read != nullptr) architecture.read(read, &config);
  config.has_types = config.type_vocab != 0;
  config.type_vocab = std::max(config.type_vocab, 1u);
  return config;
}

}  // namespace

ModelConfig ReadConfig(std::string_view json, const std::string& name, bool* bare) {
  dom::parser parser;
  dom::object object;
  if (Parsed(&parser, json, name).get(object) != simdjson::SUCCESS) {
    throw ModelError(RANKFEED_E_PARSE, name + ": not a JSON object");
  }
  const Reader read(object, name);
  const Architecture& architecture = *ReadArchitecture(read);
  if (bare != nullptr && *bare) *bare = !HasHead(read);
  CheckClass(read, architecture, bare != nullptr && *bare ? kBareTask : kScoringTask);
  for (const char* const decoder : {"is_decoder", "add_cross_attention"})
    read.RefuseUnless(decoder, "false");
  for (const OnlyValue& only : architecture.only) read.RefuseUnless(only.key, only.value);
  ModelConfig config = Describe(read, architecture);
  config.labels = ReadLabels(read);
  return config;
}

}  // namespace rankfeed::handoff
