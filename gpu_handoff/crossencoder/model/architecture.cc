// SPDX-License-Identifier: MIT
// crossencoder/model/architecture.cc: see architecture.h. Everything here is as in transformers
// 5.23.0: configuration_*.py and modeling_*.py of roberta, xlm_roberta, camembert, bert,
// distilbert, electra, modernbert, gte and deberta_v2.
#include "crossencoder/model/architecture.h"

#include "crossencoder/model/families.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

constexpr ConfigKeys kKeys = {"hidden_size",       "num_hidden_layers", "num_attention_heads",
                              "intermediate_size", "hidden_act",        "layer_norm_eps"};
constexpr ConfigKeys kDistilBertKeys = {"dim",        "n_layers",   "n_heads",
                                        "hidden_dim", "activation", nullptr};
constexpr ConfigKeys kModernBertKeys = {"hidden_size",         "num_hidden_layers",
                                        "num_attention_heads", "intermediate_size",
                                        "hidden_activation",   "norm_eps"};

constexpr LayerNames kNames = {
    {"attention.self.query", "attention.self.key", "attention.self.value"},
    "attention.output.dense",
    "attention.output.LayerNorm",
    {"intermediate.dense"},
    "output.dense",
    "output.LayerNorm"};
constexpr LayerNames kDistilBertNames = {{"attention.q_lin", "attention.k_lin", "attention.v_lin"},
                                         "attention.out_lin",
                                         "sa_layer_norm",
                                         {"ffn.lin1"},
                                         "ffn.lin2",
                                         "output_layer_norm"};
constexpr LayerNames kNewNames = {{"attention.qkv_proj"}, "attention.o_proj", "attn_ln",
                                  {"mlp.up_gate_proj"},   "mlp.down_proj",    "mlp_ln"};
constexpr LayerNames kGteNames = {{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                                  "self_attn.o_proj",
                                  "post_attention_layernorm",
                                  {"mlp.gate_proj", "mlp.up_proj"},
                                  "mlp.down_proj",
                                  "post_mlp_layernorm"};
constexpr LayerNames kDebertaNames = {
    {"attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"},
    "attention.output.dense",
    "attention.output.LayerNorm",
    {"intermediate.dense"},
    "output.dense",
    "output.LayerNorm"};
constexpr LayerNames kModernBertNames = {{"attn.Wqkv"}, "attn.Wo", "attn_norm",
                                         {"mlp.Wi"},    "mlp.Wo",  "mlp_norm"};

// Kinds of these parts that are not computed have another model_type, or say so by these.
constexpr OnlyValue kAbsolute[] = {{"position_embedding_type", "\"absolute\""}};
constexpr OnlyValue kGteOnly[] = {{"position_embedding_type", "\"rope\""},
                                  {"layer_norm_type", "\"layer_norm\""},
                                  {"logn_attention_scale", "false"},
                                  {"num_experts", "null"}};
constexpr OnlyValue kDebertaOnly[] = {{"conv_kernel_size", "0"}};
constexpr OnlyValue kNoScaling[] = {{"rope_scaling", "null"}};

constexpr Architecture Bert() {
  return {.model_type = "bert",
          .class_name = "Bert",
          .keys = &kKeys,
          .names = &kNames,
          .base = "bert.",
          .layers = "encoder.layer.",
          .dense = "*pooler.dense",
          .scores = "classifier",
          .head_activation = RANKFEED_GPU_TANH,
          .pad_id = 0,
          .counts_after_pad = false,
          .types = 2,
          .projects = false,
          .norm_eps = 1e-12,
          .only = kAbsolute};
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
  made.types = 0;
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

constexpr Architecture ModernBert() {
  Architecture made = Bert();
  made.model_type = "modernbert";
  made.class_name = "ModernBert";
  made.keys = &kModernBertKeys;
  made.names = &kModernBertNames;
  made.base = "model.";
  made.words = "embeddings.tok_embeddings";
  made.embedding_norm = "embeddings.norm";
  made.layers = "layers.";
  made.final_norm = "final_norm";
  made.dense = "head.dense";
  made.pad_id = 50283;
  made.has_positions = false;
  made.types = 0;
  made.norm_eps = 1e-5;
  made.norms_before = true;
  made.first_norm = false;
  made.gated = true;
  made.only = kNoScaling;
  made.read = ReadModernBert;
  return made;
}

constexpr Architecture Deberta() {
  Architecture made = Bert();
  made.model_type = "deberta-v2";
  made.class_name = "DebertaV2";
  made.base = "deberta.";
  made.names = &kDebertaNames;
  made.dense = "pooler.dense";
  made.head_activation = RANKFEED_GPU_GELU;
  made.types = 0;
  made.norm_eps = 1e-7;
  made.only = kDebertaOnly;
  made.read = ReadDeberta;
  return made;
}

// Alibaba's own code calls it "new", transformers "gte". Files of either have either's names.
constexpr Architecture New() {
  Architecture made = Bert();
  made.model_type = "new";
  made.class_name = "New";
  made.names = &kNewNames;
  made.base = "new.";
  made.has_positions = false;
  made.types = 1;
  made.gated = true;
  made.gate_last = true;
  made.only = kGteOnly;
  made.read = ReadGte;
  return made;
}

constexpr Architecture Gte() {
  Architecture made = New();
  made.model_type = "gte";
  made.class_name = "Gte";
  made.names = &kGteNames;
  made.base = "gte.";
  made.layers = "layers.";
  made.pad_id = 1;
  return made;
}

constexpr Architecture kNewLayout = New(), kGteLayout = Gte();

constexpr Architecture WithOther(Architecture made, const Architecture* other) {
  made.other_names = other;
  return made;
}

constexpr Architecture kArchitectures[] = {Roberta("xlm-roberta", "XLMRoberta"),
                                           Roberta("roberta", "Roberta"),
                                           Roberta("camembert", "Camembert"),
                                           Bert(),
                                           DistilBert(),
                                           Electra(),
                                           ModernBert(),
                                           Deberta(),
                                           WithOther(New(), &kGteLayout),
                                           WithOther(Gte(), &kNewLayout)};

}  // namespace

const Architecture* FindArchitecture(std::string_view model_type) {
  for (const Architecture& one : kArchitectures) {
    if (one.model_type == model_type) return &one;
  }
  return nullptr;
}

const Architecture* FindArchitectureOfClass(std::string_view class_name, std::string_view task) {
  if (!class_name.ends_with(task)) return nullptr;
  class_name.remove_suffix(task.size());
  for (const Architecture& one : kArchitectures) {
    if (one.class_name == class_name) return &one;
  }
  return nullptr;
}

bool IsClassOf(const Architecture& architecture, std::string_view class_name,
               std::string_view task) {
  const Architecture* const found = FindArchitectureOfClass(class_name, task);
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
