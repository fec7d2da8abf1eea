// SPDX-License-Identifier: MIT
// crossencoder/host/ops_host.cc: see ops_host.h. Products by product.h, attention by attention.h,
// the rest by elementwise.h; on one thread: rows of a batch are what threads share.
#include "crossencoder/host/ops_host.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "crossencoder/host/attention.h"
#include "crossencoder/host/bfloat16.h"
#include "crossencoder/host/elementwise.h"
#include "crossencoder/host/product.h"

namespace rankfeed::handoff {
namespace {

constexpr int32_t kInvalid = -4;   // RANKFEED_GPU_INVALID
constexpr int32_t kNoMemory = -1;  // RANKFEED_GPU_NO_MEMORY

struct RowRange {
  uint32_t begin, size;
};
RowRange RowOf(const int32_t* cu_seqlens, uint32_t row) {
  return {static_cast<uint32_t>(cu_seqlens[row] - cu_seqlens[0]),
          static_cast<uint32_t>(cu_seqlens[row + 1] - cu_seqlens[row])};
}

void Describe(void*, char* out, uint64_t capacity) {
  std::snprintf(out, capacity, "Highway %s", ProductTarget());
}

void DescribeBfloat16(void*, char* out, uint64_t capacity) {
  std::snprintf(out, capacity, "AVX-512 bfloat16");
}

uint64_t BytesFor(uint64_t floats) {
  return (floats * sizeof(float) + 255) / 256 * 256;
}

uint64_t ScratchBytes(void*, uint32_t max_seqlen, uint32_t relative_rows) {
  return BytesFor(std::max(AttentionScratch(max_seqlen, relative_rows), ProductScratch()));
}

uint64_t ScratchBytesBfloat16(void*, uint32_t max_seqlen, uint32_t relative_rows) {
  return BytesFor(std::max(AttentionScratch(max_seqlen, relative_rows), Bfloat16Scratch()));
}

template <class Id>
void UnpackAs(const rankfeed_op_unpack& op) {
  auto* ids = static_cast<Id*>(op.ids_out);
  auto* mask = static_cast<Id*>(op.mask_out);
  auto* positions = static_cast<Id*>(op.positions_out);
  for (uint32_t r = 0; r < op.rows; ++r) {
    const RowRange row = RowOf(op.cu_seqlens, r);
    int32_t counted = 0;
    for (uint32_t i = 0; i < op.row_length; ++i) {
      const size_t at = size_t{r} * op.row_length + i;
      const bool real = i < row.size;
      const int32_t id = real ? op.ids[row.begin + i] : op.pad_id;
      counted += real && id != op.pad_id;
      if (ids != nullptr) ids[at] = id;
      if (mask != nullptr) mask[at] = real;
      if (positions != nullptr) positions[at] = id == op.pad_id ? op.pad_id : op.pad_id + counted;
    }
  }
}

int32_t Unpack(const rankfeed_op_at*, const rankfeed_op_unpack* op) {
  op->wide ? UnpackAs<int64_t>(*op) : UnpackAs<int32_t>(*op);
  return 0;
}

void ListTiles(const rankfeed_op_positions& op) {
  uint32_t next = 0;
  for (uint32_t r = 0; r < op.rows; ++r) {
    const RowRange row = RowOf(op.cu_seqlens, r);
    const uint32_t used = (row.size + RANKFEED_GPU_TILE - 1) / RANKFEED_GPU_TILE;
    const uint32_t first = next;
    next = r + 1 == op.rows ? op.tile_count : (row.begin + row.size) / RANKFEED_GPU_TILE + r + 1;
    for (uint32_t i = first; i < next; ++i)
      op.tiles[i] = i - first < used ? static_cast<int32_t>(r) : -1;
  }
}

int32_t Positions(const rankfeed_op_at*, const rankfeed_op_positions* op) {
  if (op->cu_out != nullptr) op->cu_out[0] = 0;
  if (op->tiles != nullptr) ListTiles(*op);
  for (uint32_t r = 0; r < op->rows; ++r) {
    const RowRange row = RowOf(op->cu_seqlens, r);
    int32_t counted = 0;
    if (op->cu_out != nullptr) op->cu_out[r + 1] = static_cast<int32_t>(row.begin + row.size);
    for (uint32_t i = row.begin; i < row.begin + row.size; ++i) {
      if (op->ids_out != nullptr) op->ids_out[i] = op->ids[i];
      counted += op->ids[i] != op->pad_id;
      op->out[i] = op->ids[i] == op->pad_id ? op->pad_id : op->pad_id + counted;
    }
  }
  for (uint32_t r = op->rows; op->cu_out != nullptr && r < op->row_count; ++r)
    op->cu_out[r + 1] = op->cu_out[op->rows];
  return 0;
}

bool Below(int32_t index, uint32_t size) {
  return index >= 0 && static_cast<uint32_t>(index) < size;
}

int32_t Embed(const rankfeed_op_at*, const rankfeed_op_embed* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const ElementwiseKernels& k = Elementwise();
  const size_t h = op->hidden;
  const auto* word = static_cast<const float*>(op->word);
  const auto* position = static_cast<const float*>(op->position);
  const auto* type = static_cast<const float*>(op->type);
  auto* out = static_cast<float*>(op->out);
  for (uint32_t t = 0; t < op->tokens; ++t, out += h) {
    const int32_t id = op->ids[t], at = op->positions[t], kind = op->types ? op->types[t] : 0;
    if (!Below(id, op->vocab) || !Below(at, op->max_positions) || !Below(kind, op->type_vocab)) {
      std::fill_n(out, h, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const float* added[2] = {position != nullptr ? position + static_cast<size_t>(at) * h : nullptr,
                             type != nullptr ? type + static_cast<size_t>(kind) * h : nullptr};
    if (added[0] == nullptr) std::swap(added[0], added[1]);
    k.norm(word + static_cast<size_t>(id) * h, added[0], added[1], op->gamma, op->beta, op->eps, h,
           nullptr, out);
  }
  return 0;
}

using Activation = void (*)(float* x, size_t size);

// Null for none.
Activation ActivationOf(uint32_t activation) {
  const ElementwiseKernels& k = Elementwise();
  switch (activation) {
    case RANKFEED_GPU_GELU:
      return k.gelu;
    case RANKFEED_GPU_TANH:
      return k.tanh;
    case RANKFEED_GPU_RELU:
      return k.relu;
    case RANKFEED_GPU_GELU_TANH:
      return k.gelu_tanh;
    case RANKFEED_GPU_SILU:
      return k.silu;
    default:
      return nullptr;
  }
}

int32_t Pack(void*, void* w, uint32_t n, uint32_t k) {
  return PackWeights(static_cast<float*>(w), n, k) ? 0 : kNoMemory;
}

int32_t Gemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  if (op->dtype != RANKFEED_DTYPE_F32 || ProductScratch() * sizeof(float) > at->scratch_bytes)
    return kInvalid;
  const ProductWeights w{static_cast<const float*>(op->w), op->packed != 0, op->bias, op->n, op->k};
  Product(static_cast<const float*>(op->x), op->m, w, ActivationOf(op->activation),
          static_cast<float*>(op->out), static_cast<float*>(at->scratch));
  return 0;
}

int32_t GemmBfloat16(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  if (op->dtype != RANKFEED_DTYPE_F32 || op->k > kBfloat16Depth ||
      Bfloat16Scratch() * sizeof(float) > at->scratch_bytes) {
    return kInvalid;
  }
  Bfloat16Product(static_cast<const float*>(op->x), static_cast<const float*>(op->w), op->bias,
                  op->m, op->n, op->k, static_cast<float*>(op->out),
                  static_cast<float*>(at->scratch));
  if (const Activation activate = ActivationOf(op->activation))
    activate(static_cast<float*>(op->out), size_t{op->m} * op->n);
  return 0;
}

int32_t Rotary(const rankfeed_op_at*, const rankfeed_op_rotary* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const ElementwiseKernels& k = Elementwise();
  const size_t d = op->head_dim;
  auto* x = static_cast<float*>(op->x);
  for (uint32_t t = 0; t < op->tokens; ++t, x += op->row) {
    if (!Below(op->position[t], op->positions)) {
      std::fill_n(x, op->heads * d, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const float* const cosines = op->table + static_cast<size_t>(op->position[t]) * d;
    for (uint32_t i = 0; i < op->heads; ++i) k.rotate(cosines, cosines + d / 2, d / 2, x + i * d);
  }
  return 0;
}

int32_t Gate(const rankfeed_op_at*, const rankfeed_op_gate* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const size_t inner = op->inner;
  const auto* x = static_cast<const float*>(op->x);
  auto* out = static_cast<float*>(op->out);
  for (uint32_t t = 0; t < op->tokens; ++t, x += 2 * inner, out += inner) {
    std::memcpy(out, x, inner * sizeof(float));
    if (const Activation activate = ActivationOf(op->activation)) activate(out, inner);
    Elementwise().multiply(x + inner, inner, out);
  }
  return 0;
}

const float* Part(const void* table, size_t at) {
  return table == nullptr ? nullptr : static_cast<const float*>(table) + at;
}

int32_t Attention(const rankfeed_op_at* at, const rankfeed_op_attention* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const rankfeed_relative& relative = op->relative;
  const size_t d = op->head_dim, h = op->heads * d;
  for (uint32_t r = 0; r < op->rows; ++r) {
    const RowRange row = RowOf(op->cu_seqlens, r);
    if (row.size == 0) continue;
    if (AttentionScratch(row.size, relative.rows) * sizeof(float) > at->scratch_bytes ||
        (relative.buckets != nullptr && row.size > relative.reach + 1)) {
      return kInvalid;
    }
    const float* const q = static_cast<const float*>(op->qkv) + size_t{row.begin} * 3 * h;
    float* const out = static_cast<float*>(op->out) + size_t{row.begin} * h;
    for (size_t i = 0; i < h; i += d) {
      RelativeHead own;
      if (relative.buckets != nullptr)
        own = {Part(relative.keys, i), Part(relative.queries, i), h,
               relative.buckets + relative.reach, relative.rows};
      Attend({q + i, q + h + i, q + 2 * h + i, 3 * h, out + i, h}, op->first_only ? 1 : row.size,
             row.size, d, op->window, op->scale, static_cast<float*>(at->scratch), own);
    }
  }
  return 0;
}

int32_t AddNorm(const rankfeed_op_at*, const rankfeed_op_add_norm* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const ElementwiseKernels& k = Elementwise();
  const size_t h = op->hidden;
  const auto row = [h](const void* of, size_t t) {
    return of == nullptr ? nullptr : static_cast<const float*>(of) + t * h;
  };
  for (size_t t = 0; t < op->tokens; ++t) {
    const float *residual = row(op->residual, t), *bias = op->bias;
    if (residual == nullptr) std::swap(residual, bias);
    k.norm(row(op->x, t), residual, bias, op->gamma, op->beta, op->eps, h,
           op->sum == nullptr ? nullptr : static_cast<float*>(op->sum) + t * h,
           static_cast<float*>(op->out) + t * h);
  }
  return 0;
}

int32_t First(const rankfeed_op_at*, const rankfeed_op_first* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const size_t h = op->hidden;
  for (uint32_t r = 0; r < op->rows; ++r) {
    const RowRange row = RowOf(op->cu_seqlens, r);
    const float* x = static_cast<const float*>(op->x) + size_t{row.begin} * h;
    float* out = static_cast<float*>(op->out) + r * h;
    if (row.size == 0) {
      std::fill_n(out, h, 0.0f);
      continue;
    }
    std::memcpy(out, x, h * sizeof(float));
    if (op->pool == RANKFEED_GPU_FIRST) continue;
    for (uint32_t t = 1; t < row.size; ++t) {
      x += h;
      for (size_t i = 0; i < h; ++i) out[i] += x[i];
    }
    for (size_t i = 0; i < h; ++i) out[i] /= static_cast<float>(row.size);
  }
  return 0;
}

int32_t Logits(const rankfeed_op_at*, const rankfeed_op_logits* op) {
  if (op->dtype != RANKFEED_DTYPE_F32) return kInvalid;
  const size_t h = op->hidden;
  for (uint32_t r = 0; r < op->rows; ++r) {
    const bool empty = RowOf(op->cu_seqlens, r).size == 0;
    const float* x = static_cast<const float*>(op->x) + r * h;
    for (uint32_t l = 0; l < op->labels; ++l) {
      op->logits[size_t{r} * op->labels + l] =
          empty ? std::numeric_limits<float>::quiet_NaN()
                : Elementwise().dot(x, static_cast<const float*>(op->w) + l * h, h) +
                      (op->bias != nullptr ? op->bias[l] : 0.0f);
    }
  }
  return 0;
}

int32_t Open(void*) {
  return 0;
}

constexpr rankfeed_gpu_ops kOps = {sizeof(rankfeed_gpu_ops),
                                   RANKFEED_GPU_OPS_ABI,
                                   1u << RANKFEED_DTYPE_F32,
                                   Open,
                                   Describe,
                                   ScratchBytes,
                                   Unpack,
                                   Positions,
                                   Embed,
                                   Gemm,
                                   Attention,
                                   AddNorm,
                                   First,
                                   Logits,
                                   Pack,
                                   Rotary,
                                   Gate};

constexpr rankfeed_gpu_ops WithBfloat16() {
  rankfeed_gpu_ops ops = kOps;
  ops.describe = DescribeBfloat16;
  ops.scratch_bytes = ScratchBytesBfloat16;
  ops.gemm = GemmBfloat16;
  ops.pack = nullptr;
  return ops;
}

constexpr rankfeed_gpu_ops kOpsBfloat16 = WithBfloat16();

}  // namespace

const rankfeed_gpu_ops* HostOps() {
  return &kOps;
}

const rankfeed_gpu_ops* HostOpsBfloat16() {
  return HasBfloat16() ? &kOpsBfloat16 : nullptr;
}

}  // namespace rankfeed::handoff
