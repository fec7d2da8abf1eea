// SPDX-License-Identifier: MIT
// crossencoder/model/weights.cc: see weights.h. The names of tensors are in architecture.cc.
#include "crossencoder/model/weights.h"

#include <algorithm>
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

// Null when the file has it neither under its name nor under an old one: LayerNorm's weight and
// bias were gamma and beta (transformers renames them when it loads a file).
const StoredTensor* Look(const Safetensors& file, const std::string& name) {
  const auto of = [&](const std::string& key) {
    const auto found = file.tensors().find(key);
    return found != file.tensors().end() ? &found->second : nullptr;
  };
  constexpr std::string_view kNorm = "LayerNorm.";
  if (const StoredTensor* const tensor = of(name)) return tensor;
  const size_t at = name.rfind(kNorm);
  if (at == std::string::npos) return nullptr;
  const std::string before = name.substr(0, at + kNorm.size());
  return of(before + (name.ends_with("weight") ? "gamma" : "beta"));
}

const StoredTensor& Find(const Safetensors& file, const std::string& name) {
  const StoredTensor* const tensor = Look(file, name);
  if (tensor == nullptr) {
    throw ModelError(RANKFEED_E_UNSUPPORTED, file.name() + ": tensor \"" + name + "\" is missing");
  }
  return *tensor;
}

constexpr std::string_view kWords = "embeddings.word_embeddings.weight";

// Loops of training and torch.compile put one prefix before all names. Returns the file without it
// where what is left fits the architecture and the names as they are do not, and says so in *note.
Safetensors Unwrapped(const Safetensors& file, const Architecture& of, std::string* note) {
  const auto fits = [&](std::string_view prefix) {
    const std::string begin(prefix), words(kWords);
    return Look(file, begin + std::string(of.base) + words) != nullptr ||
           Look(file, begin + words) != nullptr;
  };
  if (fits("")) return file;
  for (const std::string_view prefix : {"model.", "module.", "_orig_mod."}) {
    const auto begins = [&](const auto& entry) { return entry.first.starts_with(prefix); };
    if (!fits(prefix) || !std::all_of(file.tensors().begin(), file.tensors().end(), begins)) continue;
    *note = "names of tensors without their \"" + std::string(prefix) + "\"";
    return file.Without(prefix);
  }
  return file;
}

uint64_t ElementBytes(uint32_t dtype) {
  return dtype == RANKFEED_DTYPE_F32 ? 4 : 2;
}

// Tensors a checkpoint may hold besides those that are used: heads of other tasks, a buffer of
// older versions, the pooler where the head is another. base: what the model's own names begin with
// in this file, nothing where it was saved without.
bool IsIgnored(std::string_view name, std::string_view base) {
  constexpr std::string_view kModel[] = {"embeddings", "encoder.", "transformer.", "pooler."};
  constexpr std::string_view kUnused[] = {"embeddings.position_ids", "embeddings.token_type_ids",
                                          "pooler.dense.weight", "pooler.dense.bias"};
  const auto begins = [&](std::string_view with) { return name.starts_with(with); };
  if (!base.empty() ? !begins(base) : std::none_of(std::begin(kModel), std::end(kModel), begins))
    return !begins("classifier.");
  name.remove_prefix(base.size());
  return std::find(std::begin(kUnused), std::end(kUnused), name) != std::end(kUnused);
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
                                                   "; supported are F32, F16, BF16, F64");
    }
    pieces_.push_back({&tensor, at, as_float});
    parameters_ += tensor.elements;
    at += tensor.elements * (as_float ? 4 : ElementBytes(dtype_));
  }
  offsets_.bytes = at;
  return begin;
}

uint64_t Weights::PlaceMatrix(const Safetensors& file, const std::string& name, uint64_t rows,
                              uint64_t columns) {
  return Place(file, {name}, {rows, columns}, false);
}

void Weights::PlaceLinear(const Safetensors& file, const std::string& name, uint64_t rows,
                          uint64_t columns, uint64_t* w, uint64_t* b) {
  *w = PlaceMatrix(file, name + ".weight", rows, columns);
  *b = Place(file, {name + ".bias"}, {rows}, true);
  PlaceProduct(*w, rows, columns);
}

void Weights::PlaceProduct(uint64_t w, uint64_t n, uint64_t k) {
  offsets_.products.push_back({w, static_cast<uint32_t>(n), static_cast<uint32_t>(k)});
}

void Weights::PlaceNorm(const Safetensors& file, const std::string& name, uint64_t size,
                        uint64_t* g, uint64_t* b) {
  *g = Place(file, {name + ".weight"}, {size}, true);
  *b = Place(file, {name + ".bias"}, {size}, true);
}

void Weights::PlaceEmbeddings(const Safetensors& file, const ModelConfig& config,
                              const std::string& base) {
  WeightOffsets& o = offsets_;
  const uint64_t width = config.embedding_width();
  const std::string embeddings = base + "embeddings.";
  o.word = PlaceMatrix(file, embeddings + "word_embeddings.weight", config.vocab_size, width);
  o.position =
      PlaceMatrix(file, embeddings + "position_embeddings.weight", config.max_positions, width);
  if (config.architecture->has_types) {
    o.type =
        PlaceMatrix(file, embeddings + "token_type_embeddings.weight", config.type_vocab, width);
  } else {  // one type, which adds nothing: Write leaves zeros
    o.type = Place(file, {}, {}, false);
    o.bytes += width * ElementBytes(dtype_);
  }
  PlaceNorm(file, embeddings + "LayerNorm", width, &o.norm_g, &o.norm_b);
  if (config.embedding != 0)
    PlaceLinear(file, base + "embeddings_project", config.hidden, width, &o.project_w,
                &o.project_b);
}

void Weights::PlaceLayer(const Safetensors& file, const ModelConfig& config,
                         const std::string& layer) {
  const uint64_t h = config.hidden, inner = config.intermediate;
  const LayerNames& names = *config.architecture->names;
  const std::string query = layer + names.query, key = layer + names.key,
                    value = layer + names.value;
  LayerOffsets l{};
  l.qkv_w = Place(file, {query + ".weight", key + ".weight", value + ".weight"}, {h, h}, false);
  l.qkv_b = Place(file, {query + ".bias", key + ".bias", value + ".bias"}, {h}, true);
  PlaceProduct(l.qkv_w, 3 * h, h);
  PlaceLinear(file, layer + names.out, h, h, &l.out_w, &l.out_b);
  PlaceNorm(file, layer + names.norm1, h, &l.norm1_g, &l.norm1_b);
  PlaceLinear(file, layer + names.up, inner, h, &l.up_w, &l.up_b);
  PlaceLinear(file, layer + names.down, h, inner, &l.down_w, &l.down_b);
  PlaceNorm(file, layer + names.norm2, h, &l.norm2_g, &l.norm2_b);
  offsets_.layers.push_back(l);
}

Weights::Weights(const Safetensors& stored, ModelConfig* config, uint32_t dtype)
    : file_(Unwrapped(stored, *config->architecture, &note_)), dtype_(dtype) {
  const Safetensors& file = file_;
  const Architecture& of = *config->architecture;
  // A model may be saved without the name that its tensors begin with.
  const std::string words(kWords);
  std::string base(of.base);
  if (Look(file, base + words) == nullptr && Look(file, words) != nullptr) base.clear();
  const auto in_file = [&](std::string_view name) {
    return name.starts_with(of.base) ? base + std::string(name.substr(of.base.size()))
                                     : std::string(name);
  };
  const std::string dense = in_file(of.dense), scores = in_file(of.scores);
  const StoredTensor& word = Find(file, base + words);
  if (dtype_ == RANKFEED_DTYPE_AUTO) {
    dtype_ = word.type == TensorType::kF16    ? RANKFEED_DTYPE_F16
             : word.type == TensorType::kBf16 ? RANKFEED_DTYPE_BF16
                                              : RANKFEED_DTYPE_F32;
  }
  const StoredTensor& head = Find(file, scores + ".weight");
  if (config->labels == 0 && head.shape.size() == 2 && head.shape[0] >= 1 &&
      head.shape[0] <= 4096) {
    config->labels = static_cast<uint32_t>(head.shape[0]);
  }
  if (config->labels == 0) config->labels = 2;  // transformers' default; the shape check decides

  WeightOffsets& o = offsets_;
  PlaceEmbeddings(file, *config, base);
  for (uint32_t i = 0; i < config->layers; ++i)
    PlaceLayer(file, *config, base + of.layers + std::to_string(i) + ".");
  PlaceLinear(file, dense, config->hidden, config->hidden, &o.dense_w, &o.dense_b);
  o.head_w = PlaceMatrix(file, scores + ".weight", config->labels, config->hidden);
  o.head_b = Place(file, {scores + ".bias"}, {config->labels}, true);
  o.bytes = (o.bytes + kAlign - 1) / kAlign * kAlign;

  SetAside(file, base);
}

void Weights::SetAside(const Safetensors& file, const std::string& base) {
  std::set<const StoredTensor*> used;
  for (const Piece& piece : pieces_) used.insert(piece.tensor);
  std::string first, odd;
  size_t aside = 0;
  const auto say = [&](const std::string& what) { note_ += (note_.empty() ? "" : "; ") + what; };
  for (const auto& [name, tensor] : file.tensors()) {
    if (used.contains(&tensor)) {
      if (odd.empty() && !AllFinite(tensor)) odd = name.substr(0, 80);
      continue;
    }
    if (!IsIgnored(name, base)) {
      throw ModelError(RANKFEED_E_UNSUPPORTED,
                       file.name() + ": tensor \"" + name.substr(0, 120) +
                           "\" is not part of the architecture that config.json describes");
    }
    if (name.ends_with("_ids")) continue;  // a buffer
    if (aside++ == 0) first = name.substr(0, 80);
  }
  if (!odd.empty()) say("tensor " + odd + " holds values that are no finite numbers");
  if (aside == 0) return;
  say("not used: " + first);
  if (aside > 1) note_ += " and " + std::to_string(aside - 1) + " other tensors";
  note_ += ", of another task's head";
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
