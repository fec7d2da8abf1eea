// SPDX-License-Identifier: MIT
// crossencoder/model/config.h: the part of HuggingFace's config.json that decides what a
// cross-encoder computes.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "crossencoder/model/architecture.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {

struct ModelConfig {
  const Architecture* architecture = nullptr;
  uint32_t vocab_size = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0;
  uint32_t embedding =
      0;  // width of the embeddings when a projection makes it hidden; 0: no projection
  uint32_t max_positions = 0, type_vocab = 0;
  uint32_t labels = 0;  // 0: the file does not say, the weights decide
  uint32_t activation = RANKFEED_GPU_GELU, head_activation = RANKFEED_GPU_TANH;
  int32_t pad_id = 1;
  // As op_positions takes it: pad_id, or -1 where positions begin at 0 and count every token.
  int32_t position_pad = 1;
  float norm_eps = 1e-12f;

  uint32_t head_dim() const { return hidden / heads; }
  uint32_t embedding_width() const { return embedding != 0 ? embedding : hidden; }
  // Positions run from position_pad + 1.
  uint32_t max_row_tokens() const {
    return max_positions - static_cast<uint32_t>(position_pad + 1);
  }
};

// name is for messages. Throws ModelError: PARSE for what is not a config, UNSUPPORTED for settings
// that this forward does not compute, each by name.
ModelConfig ReadConfig(std::string_view json, const std::string& name);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_
