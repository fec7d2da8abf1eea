// SPDX-License-Identifier: MIT
// crossencoder/model/config.h: the description of a cross-encoder: everything by which one model
// computes otherwise than another, as data. config.json and the table of architectures make it,
// weights.h finds its tensors, forward/forward.cc follows it.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crossencoder/model/architecture.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {

// Attention of one layer.
struct LayerAttention {
  static constexpr uint32_t kNoRotary = UINT32_MAX;
  uint32_t rotary = kNoRotary;  // index in ModelConfig::rotary
  uint32_t window = 0;          // keys are at most so many tokens away from the query; 0: all
};

// A step of the head, after pooling and before the scores.
struct HeadStep {
  enum class Kind { kDense, kNorm };
  Kind kind;
  std::string name;  // of its tensors, before ".weight" and ".bias"
  uint32_t width;    // of what it makes
  uint32_t activation = RANKFEED_GPU_NO_ACTIVATION;
  bool bias = true;
  float eps = 0;  // of a norm
};

// Attention with relative positions (DeBERTa): queries meet keys of distances, keys queries of
// them.
struct RelativeAttention {
  uint32_t span = 0;  // the table has 2 * span rows; 0: there are no relative positions
  bool keys = false, queries = false;  // which products are added: "c2p", "p2c"
  bool shared = false;                 // made by the layer's own products of keys and queries
  bool normed = false;                 // of the table after a norm
  std::vector<int32_t> buckets;        // row of distance query - key, from -(max_positions - 1) on

  uint32_t terms() const { return 1u + keys + queries; }
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  uint32_t vocab_size = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0;
  uint32_t embedding =
      0;  // width of the embeddings when a projection makes it hidden; 0: no projection
  uint32_t max_positions = 0;
  uint32_t type_vocab =
      0;                // rows of the table of types; 1, and types are all 0, where there is none
  uint32_t labels = 0;  // 0: the file does not say, the weights decide
  uint32_t activation = RANKFEED_GPU_GELU;
  int32_t pad_id = 1;
  // As op_positions takes it: pad_id, or -1 where positions begin at 0 and count every token.
  int32_t position_pad = 1;
  float norm_eps = 1e-12f;
  // Biases of products and norms.
  bool has_positions = true, has_types = true, qkv_bias = true, out_bias = true, up_bias = true,
       down_bias = true, norm_bias = true;
  std::vector<LayerAttention> attention;     // a layer's
  std::vector<std::vector<float>> rotary;    // inverse frequencies of half a head's dimensions
  bool norms_before = false, gated = false;  // as in Architecture
  RelativeAttention relative;
  uint32_t pool = RANKFEED_GPU_FIRST;  // RANKFEED_GPU_FIRST, MEAN
  std::vector<HeadStep> head;
  std::string scores;  // the last product's tensors
  bool scores_bias = true;

  uint32_t head_dim() const { return hidden / heads; }
  uint32_t embedding_width() const { return embedding != 0 ? embedding : hidden; }
  // The first product of the MLP makes so many columns.
  uint32_t up_width() const { return gated ? 2 * intermediate : intermediate; }
  // Returns the width of what the scores are computed of.
  uint32_t scores_width() const { return head.empty() ? hidden : head.back().width; }
  // Positions run from position_pad + 1.
  uint32_t max_row_tokens() const {
    return max_positions - static_cast<uint32_t>(position_pad + 1);
  }
};

// name is for messages. bare: other files have the head (modules.h), and the class may be the model
// without one; set to false where the class has a head. Throws ModelError: PARSE for what is not a
// config, UNSUPPORTED for settings that this forward does not compute, each by name.
ModelConfig ReadConfig(std::string_view json, const std::string& name, bool* bare = nullptr);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_CONFIG_H_
