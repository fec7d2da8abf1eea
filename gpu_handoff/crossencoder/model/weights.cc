// SPDX-License-Identifier: MIT
// crossencoder/model/weights.cc: see weights.h. Names are those of transformers'
// RobertaForSequenceClassification (modeling_roberta.py, modeling_xlm_roberta.py, 4.57.1).
#include "crossencoder/model/weights.h"

#include <cstring>
#include <initializer_list>
#include <set>

#include "crossencoder/model/float16.h"
#include "crossencoder/model/model_error.h"
#include "rankfeed/crossencoder.h"

namespace rankfeed::handoff {
namespace {

constexpr uint64_t kAlign = 256;

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

const StoredTensor& Find(const Safetensors& file, const std::string& name) {
  const auto found = file.tensors().find(name);
  if (found == file.tensors().end()) {
    throw ModelError(RANKFEED_E_UNSUPPORTED, file.name() + ": tensor \"" + name + "\" is missing");
  }
  return found->second;
}

uint64_t ElementBytes(uint32_t dtype) {
  return dtype == RANKFEED_DTYPE_F32 ? 4 : 2;
}

// Tensors a checkpoint may hold besides the model's: buffers of older versions and the pooler,
// which sequence classification does not use.
bool IsIgnored(const std::string& name) {
  return name == "roberta.embeddings.position_ids" || name.starts_with("roberta.pooler.");
}

}  // namespace

uint64_t Weights::Place(const Safetensors& file, std::initializer_list<std::string> names,
                        const std::vector<uint64_t>& shape, bool as_float) {
  const uint64_t begin = (offsets_.bytes + kAlign - 1) / kAlign * kAlign;
  uint64_t at = begin;
  for (const std::string& name : names) {
    const StoredTensor& tensor = Find(file, name);
    if (tensor.shape != shape) {
      throw ModelError(RANKFEED_E_UNSUPPORTED, file.name() + ": tensor \"" + name +
                                                   "\" has shape " + ShapeText(tensor.shape) +
                                                   ", config.json asks for " + ShapeText(shape));
    }
    if (tensor.type == TensorType::kOther) {
      throw ModelError(RANKFEED_E_UNSUPPORTED, file.name() + ": tensor \"" + name + "\" is " +
                                                   tensor.type_name +
                                                   "; supported are F32, F16, BF16");
    }
    pieces_.push_back({&tensor, at, as_float});
    parameters_ += tensor.elements;
    at += tensor.elements * (as_float ? 4 : ElementBytes(dtype_));
  }
  offsets_.bytes = at;
  return begin;
}

Weights::Weights(const Safetensors& file, ModelConfig* config, uint32_t dtype) : dtype_(dtype) {
  const std::string base = "roberta.";
  const StoredTensor& word = Find(file, base + "embeddings.word_embeddings.weight");
  if (dtype_ == RANKFEED_DTYPE_AUTO) {
    dtype_ = word.type == TensorType::kF16    ? RANKFEED_DTYPE_F16
             : word.type == TensorType::kBf16 ? RANKFEED_DTYPE_BF16
                                              : RANKFEED_DTYPE_F32;
  }
  const StoredTensor& head = Find(file, "classifier.out_proj.weight");
  if (config->labels == 0 && head.shape.size() == 2 && head.shape[0] >= 1 &&
      head.shape[0] <= 4096) {
    config->labels = static_cast<uint32_t>(head.shape[0]);
  }

  const uint64_t h = config->hidden, inner = config->intermediate;
  WeightOffsets& o = offsets_;
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    return Place(file, {name}, {rows, columns}, false);
  };
  const auto vector = [&](const std::string& name, uint64_t size) {
    return Place(file, {name}, {size}, true);
  };
  o.word = matrix(base + "embeddings.word_embeddings.weight", config->vocab_size, h);
  o.position = matrix(base + "embeddings.position_embeddings.weight", config->max_positions, h);
  o.type = matrix(base + "embeddings.token_type_embeddings.weight", config->type_vocab, h);
  o.norm_g = vector(base + "embeddings.LayerNorm.weight", h);
  o.norm_b = vector(base + "embeddings.LayerNorm.bias", h);
  for (uint32_t i = 0; i < config->layers; ++i) {
    const std::string layer = base + "encoder.layer." + std::to_string(i) + ".";
    const std::string self = layer + "attention.self.";
    LayerOffsets l{};
    l.qkv_w = Place(file, {self + "query.weight", self + "key.weight", self + "value.weight"},
                    {h, h}, false);
    l.qkv_b = Place(file, {self + "query.bias", self + "key.bias", self + "value.bias"}, {h}, true);
    l.out_w = matrix(layer + "attention.output.dense.weight", h, h);
    l.out_b = vector(layer + "attention.output.dense.bias", h);
    l.norm1_g = vector(layer + "attention.output.LayerNorm.weight", h);
    l.norm1_b = vector(layer + "attention.output.LayerNorm.bias", h);
    l.up_w = matrix(layer + "intermediate.dense.weight", inner, h);
    l.up_b = vector(layer + "intermediate.dense.bias", inner);
    l.down_w = matrix(layer + "output.dense.weight", h, inner);
    l.down_b = vector(layer + "output.dense.bias", h);
    l.norm2_g = vector(layer + "output.LayerNorm.weight", h);
    l.norm2_b = vector(layer + "output.LayerNorm.bias", h);
    o.layers.push_back(l);
  }
  o.dense_w = matrix("classifier.dense.weight", h, h);
  o.dense_b = vector("classifier.dense.bias", h);
  if (config->labels == 0) config->labels = 2;  // transformers' default; the shape check decides
  o.head_w = matrix("classifier.out_proj.weight", config->labels, h);
  o.head_b = vector("classifier.out_proj.bias", config->labels);
  o.bytes = (o.bytes + kAlign - 1) / kAlign * kAlign;

  std::set<const StoredTensor*> used;
  for (const Piece& piece : pieces_) used.insert(piece.tensor);
  for (const auto& [name, tensor] : file.tensors()) {
    if (!used.contains(&tensor) && !IsIgnored(name)) {
      throw ModelError(RANKFEED_E_UNSUPPORTED,
                       file.name() + ": tensor \"" + name.substr(0, 120) +
                           "\" is not part of the architecture that config.json describes");
    }
  }
}

void Weights::Write(void* block) const {
  std::memset(block, 0, offsets_.bytes);
  std::vector<float> values;
  for (const Piece& piece : pieces_) {
    const StoredTensor& tensor = *piece.tensor;
    auto* out = static_cast<char*>(block) + piece.offset;
    if (piece.as_float || dtype_ == RANKFEED_DTYPE_F32) {
      CopyToFloat(tensor, reinterpret_cast<float*>(out));
      continue;
    }
    const bool half = dtype_ == RANKFEED_DTYPE_F16;
    if (tensor.type == (half ? TensorType::kF16 : TensorType::kBf16)) {
      std::memcpy(out, tensor.data.data(), tensor.data.size());
      continue;
    }
    values.resize(tensor.elements);
    CopyToFloat(tensor, values.data());
    auto* bits = reinterpret_cast<uint16_t*>(out);
    for (uint64_t i = 0; i < tensor.elements; ++i)
      bits[i] = half ? F16OfFloat(values[i]) : Bf16OfFloat(values[i]);
  }
}

}  // namespace rankfeed::handoff
