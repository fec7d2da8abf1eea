// SPDX-License-Identifier: MIT
// crossencoder/model/weights.cc: see weights.h. The names of tensors are in architecture.cc.
#include "crossencoder/model/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "crossencoder/model/float16.h"
#include "crossencoder/model/model_error.h"
#include "crossencoder/ops.h"
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

// Finds what begins the names of the model's own tensors after prefix: the architecture's word,
// that of its other names, or nothing, since a model may be saved without its head. False: none of
// them.
bool FindBase(const Safetensors& file, const Architecture& of, std::string_view prefix,
              std::string* base) {
  const std::string words = std::string(of.words) + ".weight";
  for (const std::string_view begin :
       {of.base, of.other_names != nullptr ? of.other_names->base : of.base, std::string_view()}) {
    *base = begin;
    if (Look(file, std::string(prefix) + *base + words) != nullptr) return true;
  }
  *base = of.base;
  return false;
}

// Loops of training and torch.compile put one prefix before all names. Returns the file without it
// where what is left fits the architecture and the names as they are do not, and says so in *note.
Safetensors Unwrapped(const Safetensors& file, const Architecture& of, std::string* note) {
  std::string base;
  if (FindBase(file, of, "", &base)) return file;
  for (const std::string_view prefix : {"model.", "module.", "_orig_mod."}) {
    const auto begins = [&](const auto& entry) { return entry.first.starts_with(prefix); };
    if (!FindBase(file, of, prefix, &base) ||
        !std::all_of(file.tensors().begin(), file.tensors().end(), begins))
      continue;
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
  if (name.find('/') != name.npos) return false;  // of a module (modules.h)
  constexpr std::string_view kModel[] = {"embeddings", "encoder.", "transformer.", "layers.",
                                         "pooler."};
  constexpr std::string_view kUnused[] = {"embeddings.position_ids", "embeddings.token_type_ids",
                                          "embeddings.position_embeddings.weight",
                                          "pooler.dense.weight", "pooler.dense.bias"};
  const auto begins = [&](std::string_view with) { return name.starts_with(with); };
  if (!base.empty() ? !begins(base) : std::none_of(std::begin(kModel), std::end(kModel), begins))
    return !begins("classifier.");
  name.remove_prefix(base.size());
  return std::find(std::begin(kUnused), std::end(kUnused), name) != std::end(kUnused);
}

}  // namespace

uint64_t Weights::Reserve(uint64_t bytes) {
  const uint64_t begin = (offsets_.bytes + kAlign - 1) / kAlign * kAlign;
  offsets_.bytes = begin + bytes;
  return begin;
}

uint64_t Weights::Place(const std::vector<std::string>& names, std::vector<uint64_t> shape,
                        bool as_float, bool swapped) {
  const uint64_t begin = Reserve(0);
  shape[0] /= names.size();
  uint64_t at = begin;
  for (const std::string& name : names) {
    const StoredTensor& tensor = Find(file_, name);
    if (tensor.shape != shape) {
      throw ModelError(RANKFEED_E_UNSUPPORTED, file_.name() + ": tensor \"" + name +
                                                   "\" has shape " + ShapeText(tensor.shape) +
                                                   ", config.json asks for " + ShapeText(shape));
    }
    if (tensor.type == TensorType::kOther) {
      throw ModelError(RANKFEED_E_UNSUPPORTED, file_.name() + ": tensor \"" + name + "\" is " +
                                                   tensor.type_name +
                                                   "; supported are F32, F16, BF16, F64");
    }
    pieces_.push_back({&tensor, at, as_float, swapped});
    parameters_ += tensor.elements;
    at += tensor.elements * (as_float ? 4 : ElementBytes(dtype_));
  }
  offsets_.bytes = at;
  return begin;
}

PairOffsets Weights::PlaceLinear(const std::string& before, Names names, uint64_t rows,
                                 uint64_t columns, bool bias, bool swapped) {
  std::vector<std::string> weights, biases;
  for (const char* const name : names) {
    if (name == nullptr) break;
    weights.push_back(before + name + ".weight");
    biases.push_back(before + name + ".bias");
  }
  swapped = swapped && weights.size() == 1;
  PairOffsets at;
  at.w = Place(weights, {rows, columns}, false, swapped);
  offsets_.products.push_back({at.w, static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)});
  if (bias) at.b = Place(biases, {rows}, true, swapped);
  return at;
}

PairOffsets Weights::PlaceNorm(const std::string& name, uint64_t size, bool bias) {
  PairOffsets at;
  at.w = Place({name + ".weight"}, {size}, true);
  if (bias) at.b = Place({name + ".bias"}, {size}, true);
  return at;
}

void Weights::PlaceEmbeddings(const ModelConfig& config, const std::string& base) {
  const Architecture& of = *config.architecture;
  WeightOffsets& o = offsets_;
  const uint64_t width = config.embedding_width();
  const auto table = [&](const std::string& name, uint64_t rows) {
    return Place({base + name + ".weight"}, {rows, width}, false);
  };
  o.word = table(of.words, config.vocab_size);
  if (config.has_positions)
    o.position = table("embeddings.position_embeddings", config.max_positions);
  o.type = config.has_types
               ? table("embeddings.token_type_embeddings", config.type_vocab)
               : Reserve(width *
                         ElementBytes(dtype_));  // one type, which adds nothing: Write leaves zeros
  o.norm = PlaceNorm(base + of.embedding_norm, width, config.norm_bias);
  if (config.embedding != 0) {
    constexpr const char* kName[] = {"embeddings_project"};
    o.project = PlaceLinear(base, kName, config.hidden, width, true);
  }
  for (const std::vector<float>& frequencies : rotary_)
    o.rotary.push_back(Reserve(uint64_t{positions_} * 2 * frequencies.size() * sizeof(float)));
}

void Weights::PlaceLayer(const ModelConfig& config, const std::string& layers, uint32_t number) {
  const Architecture& of = *config.architecture;
  const uint64_t h = config.hidden, inner = config.intermediate;
  const LayerNames& names = *of.names;
  const std::string layer = layers + std::to_string(number) + ".";
  const auto norm = [&](const std::string& name) { return PlaceNorm(name, h, config.norm_bias); };
  LayerOffsets l;
  if (of.norms_before && (number != 0 || of.first_norm))
    (number == 0 ? offsets_.enter : offsets_.layers.back().norm2) = norm(layer + names.norm1);
  l.qkv = PlaceLinear(layer, names.qkv, 3 * h, h, config.qkv_bias);
  PlaceRelativeProducts(config, layer, &l);
  l.out = PlaceLinear(layer, {&names.out, 1}, h, h, config.out_bias);
  l.norm1 = norm(layer + (of.norms_before ? names.norm2 : names.norm1));
  l.up = PlaceLinear(layer, names.up, config.up_width(), h, config.up_bias, of.gate_last);
  l.down = PlaceLinear(layer, {&names.down, 1}, h, inner, config.down_bias);
  if (!of.norms_before) l.norm2 = norm(layer + names.norm2);
  offsets_.layers.push_back(l);
}

void Weights::PlaceRelative(const ModelConfig& config, const std::string& base) {
  if (config.relative.span == 0) return;
  RelativeOffsets& o = offsets_.relative;
  const uint64_t rows = 2 * config.relative.span, h = config.hidden;
  o.table = Place({base + "encoder.rel_embeddings.weight"}, {rows, h}, false);
  Reserve((GemmRows(rows) - rows) * h * ElementBytes(dtype_));
  if (config.relative.normed) {
    o.norm = PlaceNorm(base + "encoder.LayerNorm", h, true);
    o.normed = Reserve(GemmRows(rows) * h * ElementBytes(dtype_));
  }
  o.buckets = Reserve(buckets_.size() * sizeof(int32_t));
}

void Weights::PlaceRelativeProducts(const ModelConfig& config, const std::string& layer,
                                    LayerOffsets* l) {
  const RelativeAttention& relative = config.relative;
  const uint64_t h = config.hidden, element = ElementBytes(dtype_);
  const auto place = [&](bool used, const char* name, uint64_t row, PairOffsets* of,
                         uint64_t* made) {
    if (!used) return;
    *of = relative.shared
              ? PairOffsets{l->qkv.w + row * h * element, l->qkv.b + row * sizeof(float)}
              : PlaceLinear(layer, {&name, 1}, h, h, true);
    if (!relative.shared) offsets_.products.pop_back();  // Prepare's alone, before any is laid out
    *made = Reserve(GemmRows(2 * relative.span) * h * element);
  };
  place(relative.keys, "attention.self.pos_key_proj", h, &l->relative_key, &l->keys);
  place(relative.queries, "attention.self.pos_query_proj", 0, &l->relative_query, &l->queries);
}

void Weights::PlaceHead(const ModelConfig& config, const std::string& base) {
  const auto in_file = [&](const std::string& name) {
    return name.starts_with('*') ? base + name.substr(1) : name;
  };
  constexpr const char* kWhole[] = {""};
  uint64_t width = config.hidden;
  for (const HeadStep& step : config.head) {
    offsets_.head.push_back(
        step.kind == HeadStep::Kind::kNorm
            ? PlaceNorm(in_file(step.name), width, step.bias)
            : PlaceLinear(in_file(step.name), kWhole, step.width, width, step.bias));
    width = step.width;
  }
  offsets_.scores =
      PlaceLinear(in_file(config.scores), kWhole, config.labels, width, config.scores_bias);
  offsets_.products.pop_back();  // op_logits reads it
}

Weights::Weights(const Safetensors& stored, ModelConfig* config, uint32_t dtype)
    : file_(Unwrapped(stored, *config->architecture, &note_)),
      rotary_(config->rotary),
      buckets_(config->relative.buckets),
      positions_(config->max_positions),
      dtype_(dtype) {
  std::string base;
  FindBase(file_, *config->architecture, "", &base);
  const Architecture* const other = config->architecture->other_names;
  if (other != nullptr &&
      Look(file_, base + other->layers + "0." + other->names->qkv[0] + ".weight") != nullptr)
    config->architecture = other;
  const Architecture& of = *config->architecture;
  const StoredTensor& word = Find(file_, base + of.words + ".weight");
  if (dtype_ == RANKFEED_DTYPE_AUTO) {
    dtype_ = word.type == TensorType::kF16    ? RANKFEED_DTYPE_F16
             : word.type == TensorType::kBf16 ? RANKFEED_DTYPE_BF16
                                              : RANKFEED_DTYPE_F32;
  }
  if (config->labels == 0) {
    const StoredTensor& head = Find(file_, config->scores + ".weight");
    const bool known = head.shape.size() == 2 && head.shape[0] >= 1 && head.shape[0] <= 4096;
    config->labels = known ? static_cast<uint32_t>(head.shape[0]) : 2;  // transformers' default
  }
  PlaceEmbeddings(*config, base);
  PlaceRelative(*config, base);
  for (uint32_t i = 0; i < config->layers; ++i) PlaceLayer(*config, base + of.layers, i);
  if (of.final_norm != nullptr)
    offsets_.layers.back().norm2 =
        PlaceNorm(base + of.final_norm, config->hidden, config->norm_bias);
  PlaceHead(*config, base);
  offsets_.bytes = Reserve(0);
  SetAside(base);
}

void Weights::SetAside(const std::string& base) {
  std::set<const StoredTensor*> used;
  for (const Piece& piece : pieces_) used.insert(piece.tensor);
  std::string first, odd;
  size_t aside = 0;
  const auto say = [&](const std::string& what) { note_ += (note_.empty() ? "" : "; ") + what; };
  for (const auto& [name, tensor] : file_.tensors()) {
    if (used.contains(&tensor)) {
      if (odd.empty() && !AllFinite(tensor)) odd = name.substr(0, 80);
      continue;
    }
    if (!IsIgnored(name, base)) {
      throw ModelError(RANKFEED_E_UNSUPPORTED,
                       file_.name() + ": tensor \"" + name.substr(0, 120) +
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

namespace {

// Rows of a position: the cosines of position times each frequency, then the sines; the product in
// float32, as in transformers.
void WriteRotary(const std::vector<float>& frequencies, uint32_t positions, float* out) {
  const size_t half = frequencies.size();
  for (uint32_t p = 0; p < positions; ++p, out += 2 * half) {
    for (size_t j = 0; j < half; ++j) {
      const double angle = static_cast<double>(static_cast<float>(p) * frequencies[j]);
      out[j] = static_cast<float>(std::cos(angle));
      out[half + j] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace

void Weights::Write(void* block) const {
  std::memset(block, 0, offsets_.bytes);
  auto* const bytes = static_cast<char*>(block);
  for (size_t i = 0; i < rotary_.size(); ++i)
    WriteRotary(rotary_[i], positions_, reinterpret_cast<float*>(bytes + offsets_.rotary[i]));
  if (!buckets_.empty())
    std::memcpy(bytes + offsets_.relative.buckets, buckets_.data(),
                buckets_.size() * sizeof(int32_t));
  std::vector<float> values;
  for (const Piece& piece : pieces_) {
    const StoredTensor& tensor = *piece.tensor;
    char* const out = bytes + piece.offset;
    const bool as_float = piece.as_float || dtype_ == RANKFEED_DTYPE_F32;
    const bool half = dtype_ == RANKFEED_DTYPE_F16;
    const uint64_t size = tensor.elements * (as_float ? 4 : 2);
    if (as_float) {
      CopyToFloat(tensor, reinterpret_cast<float*>(out));
    } else if (tensor.type == (half ? TensorType::kF16 : TensorType::kBf16)) {
      std::memcpy(out, tensor.data.data(), tensor.data.size());
    } else {
      values.resize(tensor.elements);
      CopyToFloat(tensor, values.data());
      auto* bits = reinterpret_cast<uint16_t*>(out);
      for (uint64_t i = 0; i < tensor.elements; ++i)
        bits[i] = half ? F16OfFloat(values[i]) : Bf16OfFloat(values[i]);
    }
    if (piece.swapped) std::rotate(out, out + size / 2, out + size);
  }
}

}  // namespace rankfeed::handoff
