// SPDX-License-Identifier: MIT
// crossencoder/model/weights.h: the tensors of a cross-encoder as one block of device memory, in
// the layout the kernels read.
//
// Matrices and embeddings keep HuggingFace's orientation [out, in] and have the model's element
// type; biases and LayerNorm are float32. Query, key and value of a layer become one [3 * hidden,
// hidden] matrix, so that one product makes all three.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_WEIGHTS_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "crossencoder/model/config.h"
#include "crossencoder/model/safetensors.h"

namespace rankfeed::handoff {

// Byte offsets in the block, each a multiple of 256.
struct LayerOffsets {
  uint64_t qkv_w, qkv_b, out_w, out_b, norm1_g, norm1_b, up_w, up_b, down_w, down_b, norm2_g,
      norm2_b;
};
struct WeightOffsets {
  uint64_t word, position, type, norm_g, norm_b;
  uint64_t project_w = 0, project_b = 0;  // where embeddings are projected
  std::vector<LayerOffsets> layers;
  uint64_t dense_w, dense_b, head_w, head_b;
  // The matrices [n, k] that products multiply by.
  struct Matrix {
    uint64_t at;
    uint32_t n, k;
  };
  std::vector<Matrix> products;
  uint64_t bytes = 0;  // of the block
};

class Weights {
 public:
  // Finds every tensor of config's architecture in file and checks its shape; sets config->labels
  // when the config left it open. dtype: RANKFEED_DTYPE_*, AUTO takes the type of the word
  // embeddings. Throws ModelError (UNSUPPORTED: missing or unknown tensors, shapes, types). Both
  // arguments are borrowed until Write.
  Weights(const Safetensors& file, ModelConfig* config, uint32_t dtype);

  uint32_t dtype() const { return dtype_; }
  const WeightOffsets& offsets() const { return offsets_; }
  uint64_t parameters() const { return parameters_; }
  // A prefix that names were read without, the first tensor that holds something other than finite
  // numbers, and tensors that were set aside.
  // Empty where there are none.
  const std::string& note() const { return note_; }

  // Fills block[offsets().bytes].
  void Write(void* block) const;

 private:
  // One stored tensor at its place: rows of a fused matrix follow one another.
  struct Piece {
    const StoredTensor* tensor;
    uint64_t offset;
    bool as_float;  // float32 whatever dtype is
  };
  uint64_t Place(const Safetensors& file, std::initializer_list<std::string> names,
                 const std::vector<uint64_t>& shape, bool as_float);
  uint64_t PlaceMatrix(const Safetensors& file, const std::string& name, uint64_t rows,
                       uint64_t columns);
  // Notes the matrix that lies at w for offsets().products.
  void PlaceProduct(uint64_t w, uint64_t n, uint64_t k);
  // A product's matrix and its bias.
  void PlaceLinear(const Safetensors& file, const std::string& name, uint64_t rows,
                   uint64_t columns, uint64_t* w, uint64_t* b);
  void PlaceNorm(const Safetensors& file, const std::string& name, uint64_t size, uint64_t* g,
                 uint64_t* b);
  void PlaceEmbeddings(const Safetensors& file, const ModelConfig& config, const std::string& base);
  void SetAside(const Safetensors& file, const std::string& base);
  void PlaceLayer(const Safetensors& file, const ModelConfig& config, const std::string& layer);

  std::string note_;
  Safetensors file_;
  uint32_t dtype_;
  WeightOffsets offsets_;
  std::vector<Piece> pieces_;
  uint64_t parameters_ = 0;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_WEIGHTS_H_
