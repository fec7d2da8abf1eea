// SPDX-License-Identifier: MIT
// crossencoder/model/modules.h: modular CrossEncoder folders of sentence-transformers (5.5 and
// later): modules.json lists a Transformer without a head, a Pooling, and the head as Dense and
// LayerNorm, each in a folder of its own.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODULES_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODULES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crossencoder/model/config.h"

namespace rankfeed::handoff {

// A module after the Transformer.
struct Module {
  std::string type;  // the class alone: "Dense"
  std::string path;  // its folder in the model's
  std::string config_name;
  std::string_view config;  // of its config.json
};

// Returns type and path of the modules after the first; none where the first is alone. name is for
// messages. Throws ModelError: PARSE for what is no such list, UNSUPPORTED where the first is no
// Transformer in the model's own folder.
std::vector<Module> ReadModules(std::string_view json, const std::string& name);

// Puts pooling, steps of the head and scores of the modules in place of those of config. The
// tensors of a module are called as its file calls them, after its path and a slash. name is that
// of modules.json. Throws ModelError (UNSUPPORTED) for a module or setting that is not computed, by
// name.
void ApplyModules(std::span<const Module> modules, const std::string& name, ModelConfig* config);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_MODULES_H_
