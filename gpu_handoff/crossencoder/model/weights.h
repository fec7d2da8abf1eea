// SPDX-License-Identifier: MIT
// crossencoder/model/weights.h: the tensors of a cross-encoder as one block of device memory, in
// the layout the kernels read.
//
// Matrices and embeddings keep HuggingFace's orientation [out, in] and have the model's element
// type; biases and LayerNorm are float32. Query, key and value of a layer become one [3 * hidden,
// hidden] matrix, so that one product makes all three; so do the halves of a gated MLP, the
// activated one first.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_WEIGHTS_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crossencoder/model/config.h"
#include "crossencoder/model/safetensors.h"

namespace rankfeed::handoff {

// Byte offsets in the block, each a multiple of 256, or kNone for what the model does not have.
inline constexpr uint64_t kNone = UINT64_MAX;
// Weight and bias of a product, or gamma and beta of a norm.
struct PairOffsets {
  uint64_t w = kNone, b = kNone;
};
// norm1 is the norm between attention and MLP, norm2 the one after the MLP: where norms stand
// before (Architecture::norms_before) those are the layer's second, and the first of the layer
// after or the one after all layers.
struct LayerOffsets {
  PairOffsets qkv, out, norm1, up, down, norm2;
  PairOffsets relative_key, relative_query;  // products that make keys and queries of distances
  uint64_t keys = kNone, queries = kNone;    // what they make, Prepare's (forward/forward.h)
};
// Relative positions: the table, its norm, the table normed, which Prepare makes, and buckets.
struct RelativeOffsets {
  uint64_t table = kNone, normed = kNone, buckets = kNone;
  PairOffsets norm;
};
struct WeightOffsets {
  uint64_t word = kNone, position = kNone, type = kNone;
  PairOffsets norm, project;  // of the embeddings
  PairOffsets enter;          // the norm before the first layer
  RelativeOffsets relative;
  std::vector<uint64_t> rotary;  // float32 tables, op_rotary's
  std::vector<LayerOffsets> layers;
  std::vector<PairOffsets> head;  // a step's
  PairOffsets scores;
  // The matrices [n, k] that products multiply by.
  struct Matrix {
    uint64_t at;
    uint32_t n, k;
  };
  std::vector<Matrix> products;
  uint64_t bytes = 0;  // of the block
};

// Returns the rows of whole steps of a product (ops.h).
inline uint64_t GemmRows(uint64_t rows) {
  constexpr uint64_t kStep = RANKFEED_GPU_GEMM_ROWS;
  return (rows + kStep - 1) / kStep * kStep;
}

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
    bool swapped;   // its second half comes first
  };
  using Names = std::span<const char* const>;

  uint64_t Reserve(uint64_t bytes);
  // The tensors of the names, which have equal parts of the shape's rows, one after the other.
  uint64_t Place(const std::vector<std::string>& names, std::vector<uint64_t> shape, bool as_float,
                 bool swapped = false);
  // A product's matrix, noted for offsets().products, and its bias. Names follow `before`; those
  // that are null are none. No bias: kNone.
  PairOffsets PlaceLinear(const std::string& before, Names names, uint64_t rows, uint64_t columns,
                          bool bias, bool swapped = false);
  PairOffsets PlaceNorm(const std::string& name, uint64_t size, bool bias);
  void PlaceEmbeddings(const ModelConfig& config, const std::string& base);
  void PlaceLayer(const ModelConfig& config, const std::string& layers, uint32_t number);
  void PlaceRelative(const ModelConfig& config, const std::string& base);
  void PlaceRelativeProducts(const ModelConfig& config, const std::string& layer, LayerOffsets* l);
  void PlaceHead(const ModelConfig& config, const std::string& base);
  void SetAside(const std::string& base);

  std::string note_;
  Safetensors file_;
  std::vector<std::vector<float>> rotary_;  // inverse frequencies
  std::vector<int32_t> buckets_;            // of relative positions
  uint32_t positions_;
  uint32_t dtype_;
  WeightOffsets offsets_;
  std::vector<Piece> pieces_;
  uint64_t parameters_ = 0;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_MODEL_WEIGHTS_H_
