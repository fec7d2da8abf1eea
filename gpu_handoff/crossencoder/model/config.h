// SPDX-License-Identifier: MIT
// crossencoder/model/config.h: the part of HuggingFace's config.json that decides what a
// cross-encoder computes.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace rankfeed::handoff {

struct ModelConfig {
  uint32_t vocab_size = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0;
  uint32_t max_positions = 0, type_vocab = 0;
  uint32_t labels = 0;  // 0: the file does not say, the weights decide
  int32_t pad_id = 1;
  float norm_eps = 1e-12f;

  uint32_t head_dim() const { return hidden / heads; }
  // Positions run from pad_id + 1 (transformers, create_position_ids_from_input_ids).
  uint32_t max_row_tokens() const { return max_positions - static_cast<uint32_t>(pad_id) - 1; }
};

// name is for messages. Throws ModelError: PARSE for what is not a config, UNSUPPORTED for settings
// that this forward does not compute, each by name.
ModelConfig ReadConfig(std::string_view json, const std::string& name);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_
