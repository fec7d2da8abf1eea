// SPDX-License-Identifier: MIT
// crossencoder/model/architecture.cc: see architecture.h. Everything here is as in transformers
// 5.23.0: configuration_*.py and modeling_*.py of roberta, xlm_roberta, camembert, bert, distilbert
// and electra.
#include "crossencoder/model/architecture.h"

#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

constexpr ConfigKeys kKeys = {"hidden_size", "num_hidden_layers", "num_attention_heads",
                              "intermediate_size", "hidden_act"};
constexpr ConfigKeys kDistilBertKeys = {"dim", "n_layers", "n_heads", "hidden_dim", "activation"};

constexpr LayerNames kNames = {"attention.self.query",
                               "attention.self.key",
                               "attention.self.value",
                               "attention.output.dense",
                               "attention.output.LayerNorm",
                               "intermediate.dense",
                               "output.dense",
                               "output.LayerNorm"};
constexpr LayerNames kDistilBertNames = {"attention.q_lin",   "attention.k_lin",  "attention.v_lin",
                                         "attention.out_lin", "sa_layer_norm",    "ffn.lin1",
                                         "ffn.lin2",          "output_layer_norm"};

constexpr Architecture Bert() {
  return {.model_type = "bert",
          .class_name = "Bert",
          .keys = &kKeys,
          .names = &kNames,
          .base = "bert.",
          .layers = "encoder.layer.",
          .dense = "bert.pooler.dense",
          .scores = "classifier",
          .head_activation = RANKFEED_GPU_TANH,
          .pad_id = 0,
          .counts_after_pad = false,
          .has_types = true,
          .projects = false,
          .reads_norm_eps = true};
}

constexpr Architecture Roberta(std::string_view model_type, std::string_view class_name) {
  Architecture made = Bert();
  made.model_type = model_type;
  made.class_name = class_name;
  made.base = "roberta.";
  made.dense = "classifier.dense";
  made.scores = "classifier.out_proj";
  made.pad_id = 1;
  made.counts_after_pad = true;
  return made;
}

constexpr Architecture DistilBert() {
  Architecture made = Bert();
  made.model_type = "distilbert";
  made.class_name = "DistilBert";
  made.keys = &kDistilBertKeys;
  made.names = &kDistilBertNames;
  made.base = "distilbert.";
  made.layers = "transformer.layer.";
  made.dense = "pre_classifier";
  made.head_activation = RANKFEED_GPU_RELU;
  made.has_types = false;
  made.reads_norm_eps = false;
  return made;
}

constexpr Architecture Electra() {
  Architecture made = Bert();
  made.model_type = "electra";
  made.class_name = "Electra";
  made.base = "electra.";
  made.dense = "classifier.dense";
  made.scores = "classifier.out_proj";
  made.head_activation = RANKFEED_GPU_GELU;  // whatever hidden_act says
  made.projects = true;
  return made;
}

constexpr Architecture kArchitectures[] = {Roberta("xlm-roberta", "XLMRoberta"),
                                           Roberta("roberta", "Roberta"),
                                           Roberta("camembert", "Camembert"),
                                           Bert(),
                                           DistilBert(),
                                           Electra()};

}  // namespace

const Architecture* FindArchitecture(std::string_view model_type) {
  for (const Architecture& one : kArchitectures) {
    if (one.model_type == model_type) return &one;
  }
  return nullptr;
}

const Architecture* FindArchitectureOfClass(std::string_view class_name) {
  constexpr std::string_view kTask = "ForSequenceClassification";
  if (!class_name.ends_with(kTask)) return nullptr;
  class_name.remove_suffix(kTask.size());
  for (const Architecture& one : kArchitectures) {
    if (one.class_name == class_name) return &one;
  }
  return nullptr;
}

bool IsClassOf(const Architecture& architecture, std::string_view class_name) {
  const Architecture* const found = FindArchitectureOfClass(class_name);
  return found != nullptr && found->base == architecture.base;
}

std::string ModelTypes() {
  std::string all;
  for (const Architecture& one : kArchitectures) {
    if (!all.empty()) all += ", ";
    all += one.model_type;
  }
  return all;
}

}  // namespace rankfeed::handoff
