// SPDX-License-Identifier: MIT
// crossencoder/model/architecture.h: the table of kinds of models: the keys of their config.json,
// the names of their tensors, and which known parts they are made of. What a single model's
// config.json decides is in config.h; forward/forward.cc knows neither kinds nor names.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_ARCHITECTURE_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_ARCHITECTURE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rankfeed::handoff {

class Reader;
struct ModelConfig;

// Keys of config.json.
struct ConfigKeys {
  const char *hidden, *layers, *heads, *intermediate, *activation, *norm_eps;
};
// Names of a layer's parts, to which ".weight" and ".bias" are added. Of qkv the three, or one
// tensor with the rows of all; of up the one, or with a gate the activated half and the other, or
// one tensor with both.
struct LayerNames {
  const char *qkv[3], *out, *norm1, *up[2], *down, *norm2;
};
// A setting that changes results and that has one value here.
struct OnlyValue {
  const char *key, *value;  // the value as in JSON
};

struct Architecture {
  std::string_view model_type;
  std::string_view class_name;  // what stands before "ForSequenceClassification"
  const ConfigKeys* keys;
  const LayerNames* names;
  std::string_view base;  // begins the names of all tensors but the head's
  // After the base: of embeddings, of the norm over them, before a layer's number, and of the norm
  // after the last layer, if any.
  const char *words = "embeddings.word_embeddings", *embedding_norm = "embeddings.LayerNorm",
             *layers, *final_norm = nullptr;
  // The head is a dense layer on the first token, an activation (RANKFEED_GPU_*) and the layer of
  // scores, unless read makes another. A star at the begin of a name stands for the base.
  const char *dense, *scores;
  uint32_t head_activation;
  uint32_t pad_id;        // when config.json has none
  bool counts_after_pad;  // positions begin after the pad id and leave pads out; else they begin at
                          // 0
  bool has_positions = true;  // has a table of positions
  uint32_t types;             // type_vocab_size when config.json has none; 0: there are no types
  bool projects;    // its embeddings may have another width than its layers (embedding_size)
  double norm_eps;  // when config.json has none
  bool norms_before = false;  // a layer's norms stand before attention and MLP, and the sums go on
  bool first_norm = true;     // with norms_before: the first layer has its own before attention
  bool gated = false;         // the MLP's product is an activated half times another
  bool gate_last = false;     // in a tensor with both halves the activated one is the second
  // The same kind with other names of layers and another base; a file may have one's and the
  // other's.
  const Architecture* other_names = nullptr;
  std::span<const OnlyValue> only = {};
  // Reads what the kind has of its own; null: nothing.
  void (*read)(const Reader& read, ModelConfig* config) = nullptr;
};

// Returns null for a model_type that this forward pass does not compute.
const Architecture* FindArchitecture(std::string_view model_type);
// Ends of the names of classes: a model with its scores, and one without a head.
inline constexpr std::string_view kScoringTask = "ForSequenceClassification", kBareTask = "Model";
// Returns null for a class that is none of theirs, "XLMRobertaForSequenceClassification" say.
const Architecture* FindArchitectureOfClass(std::string_view class_name,
                                            std::string_view task = kScoringTask);
// Returns true for a class that config.json may name for the architecture: XLM-RoBERTa, RoBERTa and
// CamemBERT are the same under three names, JinaBERT is not BERT though its model_type says so.
bool IsClassOf(const Architecture& architecture, std::string_view class_name,
               std::string_view task = kScoringTask);
// All model_types, for messages: "xlm-roberta, roberta, ...".
std::string ModelTypes();

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_ARCHITECTURE_H_
