// SPDX-License-Identifier: MIT
// crossencoder/model/architecture.h: what one kind of model has otherwise than another: the keys of
// its config.json, the names of its tensors, where its positions begin, and its head. Every kind
// has the same layers (forward/forward.cc).
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_ARCHITECTURE_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_ARCHITECTURE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace rankfeed::handoff {

// Keys of config.json.
struct ConfigKeys {
  const char *hidden, *layers, *heads, *intermediate, *activation;
};
// Names of a layer's parts, to which ".weight" and ".bias" are added.
struct LayerNames {
  const char *query, *key, *value, *out, *norm1, *up, *down, *norm2;
};

struct Architecture {
  std::string_view model_type;
  std::string_view class_name;  // what stands before "ForSequenceClassification"
  const ConfigKeys* keys;
  const LayerNames* names;
  std::string_view base;  // begins the names of all tensors but the head's
  const char* layers;     // after it, before a layer's number
  // The head is a dense layer on the first token, an activation (RANKFEED_GPU_*) and the layer of scores.
  const char *dense, *scores;
  uint32_t head_activation;
  uint32_t pad_id;        // when config.json has none
  bool counts_after_pad;  // positions begin after the pad id and leave pads out; else they begin at
                          // 0
  bool has_types;         // has embeddings of token types
  bool projects;          // its embeddings may have another width than its layers (embedding_size)
  bool reads_norm_eps;    // LayerNorm has layer_norm_eps of config.json; else 1e-12
};

// Returns null for a model_type that this forward pass does not compute.
const Architecture* FindArchitecture(std::string_view model_type);
// Returns null for a class that is none of theirs, "XLMRobertaForSequenceClassification" say.
const Architecture* FindArchitectureOfClass(std::string_view class_name);
// Whether config.json may name that class for the architecture: XLM-RoBERTa, RoBERTa and CamemBERT
// are the same under three names, JinaBERT is not BERT though its model_type says so.
bool IsClassOf(const Architecture& architecture, std::string_view class_name);
// All model_types, for messages: "xlm-roberta, roberta, ...".
std::string ModelTypes();

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_ARCHITECTURE_H_
