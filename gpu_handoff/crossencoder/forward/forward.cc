// SPDX-License-Identifier: MIT
// crossencoder/forward/forward.cc: see forward.h. The order of operations is that of transformers'
// RobertaModel with RobertaClassificationHead (modeling_roberta.py, 4.57.1), eval mode: dropout is
// the identity.
#include "crossencoder/forward/forward.h"

#include <algorithm>
#include <cmath>

namespace rankfeed::handoff {
namespace {

constexpr uint64_t kAlign = 256;
constexpr uint64_t kMaxBytes = uint64_t{1}
                               << 46;  // 64 TiB: products of checked sizes stay below 2^63

}  // namespace

bool PlanWorkspace(const DeviceModel& model, uint64_t scratch_bytes, uint64_t rows, uint64_t tokens,
                   WorkspacePlan* plan) {
  // Sizes in the config are below 2^17, so one product with tokens below 2^31 cannot overflow.
  if (rows > INT32_MAX || tokens > INT32_MAX || scratch_bytes > kMaxBytes) return false;
  const uint64_t h = model.config.hidden;
  const uint64_t wide = std::max<uint64_t>(3 * h, model.config.intermediate);
  const uint64_t element = model.dtype == RANKFEED_DTYPE_F32 ? 4 : 2;
  uint64_t at = 0;
  const auto take = [&](uint64_t bytes) {
    const uint64_t begin = at;
    at = (at + bytes + kAlign - 1) / kAlign * kAlign;
    return begin;
  };
  plan->scratch_bytes = scratch_bytes;
  plan->scratch = take(scratch_bytes);
  plan->ids = take(tokens * sizeof(int32_t));
  plan->cu_seqlens = take((rows + 1) * sizeof(int32_t));
  plan->positions = take(tokens * sizeof(int32_t));
  plan->rows = static_cast<uint32_t>(rows);
  plan->tile_count = static_cast<uint32_t>(RANKFEED_GPU_TILES(tokens, rows));
  plan->tiles = take(plan->tile_count * sizeof(int32_t));
  constexpr uint64_t kStep = RANKFEED_GPU_GEMM_ROWS;
  const uint64_t some_tokens = (tokens + kStep - 1) / kStep * kStep,
                 some_rows = (rows + kStep - 1) / kStep * kStep;
  plan->x = take(some_tokens * h * element);
  plan->y = take(some_tokens * h * element);
  plan->attended = take(some_tokens * h * element);
  plan->wide = take(some_tokens * wide * element);
  plan->first = take(some_rows * h * element);
  plan->dense = take(some_rows * h * element);
  plan->bytes = at;
  return at <= kMaxBytes;
}

int32_t Forward(const rankfeed_gpu_ops& ops, void* ctx, void* stream, const DeviceModel& model,
                const rankfeed_packed_batch& batch, const WorkspacePlan& plan, void* workspace,
                float* logits, uint32_t parts) noexcept {
  const ModelConfig& c = model.config;
  const WeightOffsets& o = model.offsets;
  auto* base = static_cast<char*>(workspace);
  const rankfeed_op_at at{ctx, stream, base + plan.scratch, plan.scratch_bytes};
  const auto weight = [&](uint64_t offset) -> const void* { return model.block + offset; };
  const auto floats = [&](uint64_t offset) {
    return reinterpret_cast<const float*>(model.block + offset);
  };
  void* const x = base + plan.x;
  void* const y = base + plan.y;
  void* const attended = base + plan.attended;
  void* const wide = base + plan.wide;
  auto* const ids = reinterpret_cast<int32_t*>(base + plan.ids);
  auto* const cu_seqlens = reinterpret_cast<int32_t*>(base + plan.cu_seqlens);
  auto* const positions = reinterpret_cast<int32_t*>(base + plan.positions);
  auto* const tiles = reinterpret_cast<int32_t*>(base + plan.tiles);
  const uint32_t h = c.hidden;

  const auto gemm = [&](const void* in, uint64_t w, const float* bias, uint32_t m, uint32_t n,
                        uint32_t k, uint32_t activation, void* out) {
    const rankfeed_op_gemm op{model.dtype, m, n, k, activation, in, weight(w), bias, out};
    return ops.gemm(&at, &op);
  };
  // x = LayerNorm(in w^T + bias + x): the bias is added where the sum is read anyway.
  const auto gemm_add_norm = [&](const void* in, uint64_t w, uint64_t bias, uint32_t k, uint64_t g,
                                 uint64_t b) {
    if (const int32_t rc = gemm(in, w, nullptr, batch.tokens, h, k, RANKFEED_GPU_NO_ACTIVATION, y))
      return rc;
    const rankfeed_op_add_norm op{model.dtype,  batch.tokens, h,         y,          x,
                                  floats(bias), floats(g),    floats(b), c.norm_eps, x};
    return ops.add_norm(&at, &op);
  };

  int32_t rc = 0;
  const rankfeed_op_positions op_positions{
      batch.input_ids, batch.cu_seqlens, batch.rows, c.pad_id, positions, ids, cu_seqlens,
      tiles,           plan.tile_count,  plan.rows};
  const bool inputs = (parts & kForwardInputs) != 0, layers = (parts & kForwardLayers) != 0;
  if (inputs && (rc = ops.positions(&at, &op_positions)) != 0) return rc;
  if (batch.tokens != 0) {
    const rankfeed_op_embed op_embed{model.dtype,
                                     batch.tokens,
                                     h,
                                     c.vocab_size,
                                     c.max_positions,
                                     c.type_vocab,
                                     ids,
                                     positions,
                                     batch.token_type_ids,
                                     weight(o.word),
                                     weight(o.position),
                                     weight(o.type),
                                     floats(o.norm_g),
                                     floats(o.norm_b),
                                     c.norm_eps,
                                     x};
    if (inputs && (rc = ops.embed(&at, &op_embed)) != 0) return rc;

    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim()));
    for (const LayerOffsets& l : o.layers) {
      if (!layers) break;
      if ((rc = gemm(x, l.qkv_w, floats(l.qkv_b), batch.tokens, 3 * h, h,
                     RANKFEED_GPU_NO_ACTIVATION, wide)) != 0)
        return rc;
      const rankfeed_op_attention op_attention{model.dtype,  batch.rows, batch.tokens, c.heads,
                                               c.head_dim(), wide,       cu_seqlens,   tiles,
                                               scale,        attended};
      if ((rc = ops.attention(&at, &op_attention)) != 0) return rc;
      if ((rc = gemm_add_norm(attended, l.out_w, l.out_b, h, l.norm1_g, l.norm1_b)) != 0) return rc;
      if ((rc = gemm(x, l.up_w, floats(l.up_b), batch.tokens, c.intermediate, h, RANKFEED_GPU_GELU,
                     wide)) != 0)
        return rc;
      if ((rc = gemm_add_norm(wide, l.down_w, l.down_b, c.intermediate, l.norm2_g, l.norm2_b)) != 0)
        return rc;
    }
  }
  const rankfeed_op_first op_first{model.dtype, batch.rows, h, x, cu_seqlens, base + plan.first};
  if (layers && (rc = ops.first(&at, &op_first)) != 0) return rc;
  if (layers && (rc = gemm(base + plan.first, o.dense_w, floats(o.dense_b), batch.rows, h, h,
                           RANKFEED_GPU_TANH, base + plan.dense)) != 0) {
    return rc;
  }
  if ((parts & kForwardScores) == 0) return 0;
  const rankfeed_op_logits op_logits{
      model.dtype,      batch.rows,       c.labels,   h,     base + plan.dense,
      weight(o.head_w), floats(o.head_b), cu_seqlens, logits};
  return ops.logits(&at, &op_logits);
}

}  // namespace rankfeed::handoff
