// SPDX-License-Identifier: MIT
// crossencoder/model/modules.cc: see modules.h. Keys and defaults are those of
// sentence-transformers 6.2.0: base/modules/dense.py, sentence_transformer/modules/pooling.py and
// layer_norm.py.
#include "crossencoder/model/modules.h"

#include <utility>

#include "crossencoder/model/model_error.h"
#include "crossencoder/model/reader.h"

namespace rankfeed::handoff {
namespace {

namespace dom = simdjson::dom;

constexpr uint64_t kMaxWidth = 1u << 14, kMaxLabels = 1u << 12, kMaxModules = 64;
constexpr float kLayerNormEps = 1e-5f;  // torch.nn.LayerNorm's own
constexpr std::string_view kEmbedding = "sentence_embedding";

// Classes of torch.nn by their dotted names, which begin differently from version to version.
uint32_t ActivationOf(const Reader& read) {
  constexpr std::string_view kKey = "activation_function";
  constexpr std::pair<std::string_view, uint32_t> kClasses[] = {
      {"Identity", RANKFEED_GPU_NO_ACTIVATION},
      {"GELU", RANKFEED_GPU_GELU},
      {"Tanh", RANKFEED_GPU_TANH},
      {"ReLU", RANKFEED_GPU_RELU},
      {"SiLU", RANKFEED_GPU_SILU}};
  const std::string name = read.Text(kKey, "torch.nn.modules.activation.Tanh");
  for (const auto& [one, activation] : kClasses) {
    if (name.starts_with("torch.nn.") && name.ends_with("." + std::string(one))) return activation;
  }
  read.Refuse(RANKFEED_E_UNSUPPORTED, kKey,
              "is \"" + name + "\"; supported are torch.nn's Identity, GELU, Tanh, ReLU and SiLU");
}

uint32_t PoolOf(const Reader& read) {
  read.RefuseUnless("include_prompt", "true");
  std::string mode = read.Text("pooling_mode", "");
  if (mode.empty()) {  // versions before 6 have a flag for each mode
    for (const char* const other : {"pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
                                    "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"}) {
      read.RefuseUnless(other, "false");
    }
    const bool first = read.Flag("pooling_mode_cls_token", false);
    mode = first ? "cls" : "mean";
    read.RefuseUnless("pooling_mode_mean_tokens", first ? "false" : "true");
  }
  if (mode != "cls" && mode != "mean")
    read.Refuse(RANKFEED_E_UNSUPPORTED, "pooling_mode",
                "is \"" + mode + "\"; supported are cls, mean");
  return mode == "mean" ? RANKFEED_GPU_MEAN : RANKFEED_GPU_FIRST;
}

// A Dense that goes on with the embedding, or the last, which makes the scores.
HeadStep DenseOf(const Reader& read, uint32_t width, bool last) {
  HeadStep step{.kind = HeadStep::Kind::kDense, .name = "linear", .width = 0};
  (void)read.Size("in_features", width, width);
  step.width = read.Size("out_features", 1, last ? kMaxLabels : kMaxWidth);
  step.bias = read.Flag("bias", true);
  step.activation = ActivationOf(read);
  read.RefuseUnless("use_residual", "false");
  read.RefuseUnless("module_input_name", "\"sentence_embedding\"");
  const std::string output = read.Text("module_output_name", std::string(kEmbedding));
  if (output != (last ? "scores" : kEmbedding)) {
    read.Refuse(RANKFEED_E_UNSUPPORTED, "module_output_name",
                "is \"" + output + "\"; the last module makes \"scores\", the others \"" +
                    std::string(kEmbedding) + "\"");
  }
  if (last && step.activation != RANKFEED_GPU_NO_ACTIVATION)
    read.Refuse(RANKFEED_E_UNSUPPORTED, "activation_function",
                "of the last module is not Identity");
  return step;
}

}  // namespace

std::vector<Module> ReadModules(std::string_view json, const std::string& name) {
  const auto refuse = [&](rankfeed_status status, const std::string& why) {
    throw ModelError(status, name + ": " + why);
  };
  dom::parser parser;
  dom::array list;
  if (Parsed(&parser, json, name).get(list) != simdjson::SUCCESS || list.size() == 0 ||
      list.size() > kMaxModules) {
    refuse(RANKFEED_E_PARSE, "no list of modules");
  }
  std::vector<Module> out;
  for (const dom::element entry : list) {
    std::string_view type, path;
    if (entry["type"].get(type) != simdjson::SUCCESS ||
        entry["path"].get(path) != simdjson::SUCCESS)
      refuse(RANKFEED_E_PARSE, "a module has no type and path");
    if (path.find_first_of(std::string_view("/\\\0", 3)) != path.npos || path == ".." ||
        path == ".")
      refuse(RANKFEED_E_PARSE,
             "the path \"" + std::string(path) + "\" is no folder of the model's");
    out.push_back({std::string(type.substr(type.rfind('.') + 1)), std::string(path), {}, {}});
  }
  if (out.size() == 1) return {};
  if (out[0].type != "Transformer" || !out[0].path.empty())
    refuse(RANKFEED_E_UNSUPPORTED, "the first module is no Transformer in the model's own folder");
  out.erase(out.begin());
  return out;
}

void ApplyModules(std::span<const Module> modules, const std::string& name, ModelConfig* config) {
  const auto refuse = [&](const Module& module, const std::string& why) {
    throw ModelError(RANKFEED_E_UNSUPPORTED, name + ": " + module.type + " " + why);
  };
  config->head.clear();
  uint32_t width = config->hidden;
  for (const Module& module : modules) {
    const bool last = &module == &modules.back();
    if (last && module.type != "Dense")
      refuse(module,
             "is the last module; a cross-encoder's last is a Dense, which makes the scores");
    if ((&module == &modules.front()) != (module.type == "Pooling"))
      refuse(
          module,
          "is not where it is supported: a Pooling comes after the Transformer, and nowhere else");
    dom::parser parser;
    dom::object object;
    if (Parsed(&parser, module.config, module.config_name).get(object) != simdjson::SUCCESS)
      throw ModelError(RANKFEED_E_PARSE, module.config_name + ": not a JSON object");
    const Reader read(object, module.config_name);
    if (module.type == "Pooling") {
      config->pool = PoolOf(read);
    } else if (module.type == "Dense") {
      config->head.push_back(DenseOf(read, width, last));
    } else if (module.type == "LayerNorm") {
      (void)read.Size("dimension", width, width);
      config->head.push_back(
          {.kind = HeadStep::Kind::kNorm, .name = "norm", .width = width, .eps = kLayerNormEps});
    } else {
      refuse(module, "is not supported; supported are Pooling, Dense and LayerNorm");
    }
    if (module.type == "Pooling") continue;
    HeadStep& step = config->head.back();
    step.name = module.path + "/" + step.name;
    width = step.width;
  }
  const HeadStep scores = config->head.back();
  config->head.pop_back();
  config->scores = scores.name;
  config->scores_bias = scores.bias;
  config->labels = scores.width;
}

}  // namespace rankfeed::handoff
