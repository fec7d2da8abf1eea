// SPDX-License-Identifier: MIT
// crossencoder/forward/forward.cc: see forward.h. The order of operations is that of transformers'
// ...ForSequenceClassification of the models in model/architecture.cc (modeling_roberta.py,
// modeling_bert.py, modeling_distilbert.py, modeling_electra.py, 5.23.0), eval mode: dropout is the
// identity.
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
  const uint64_t wide =
      std::max<uint64_t>({3 * h, model.config.intermediate, model.config.embedding_width()});
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
  // Rows may be empty, so there may be more of them than tokens: what the last layer makes of each.
  const uint64_t most = std::max(some_tokens, some_rows);
  plan->x = take(some_tokens * h * element);
  plan->y = take(most * h * element);
  plan->attended = take(some_tokens * h * element);
  plan->wide = take(most * wide * element);
  plan->first = take(some_rows * h * element);
  plan->dense = take(some_rows * h * element);
  plan->bytes = at;
  return at <= kMaxBytes;
}

int32_t Forward(const rankfeed_gpu_ops& ops, void* ctx, void* stream, const DeviceModel& model,
                const rankfeed_packed_batch& batch, const WorkspacePlan& plan, void* workspace,
                float* logits, uint32_t parts, const uint32_t* cancel) noexcept {
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
  void* const embedded = c.embedding != 0 ? wide : x;

  void* const first = base + plan.first;
  void* const dense = base + plan.dense;
  int32_t rc = 0;  // of the first operation that failed: those after it do nothing
  const auto run = [&](const auto& call, const auto& op) {
    if (rc == 0 && cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0) rc = kForwardStopped;
    if (rc == 0) rc = call(&at, &op);
  };
  const auto gemm = [&](const void* in, uint64_t w, const float* bias, uint32_t m, uint32_t n,
                        uint32_t k, uint32_t activation, void* out) {
    run(ops.gemm,
        rankfeed_op_gemm{model.dtype, m, n, k, activation, in, weight(w), bias, out, model.packed});
  };
  // to = LayerNorm(in w^T + bias + to): the bias is added where the sum is read anyway.
  const auto gemm_add_norm = [&](const void* in, uint32_t m, uint64_t w, uint64_t bias, uint32_t k,
                                 uint64_t g, uint64_t b, void* to) {
    gemm(in, w, nullptr, m, h, k, RANKFEED_GPU_NO_ACTIVATION, y);
    run(ops.add_norm, rankfeed_op_add_norm{model.dtype, m, h, y, to, floats(bias), floats(g),
                                           floats(b), c.norm_eps, to});
  };
  const auto first_tokens = [&](const void* of, void* to) {
    run(ops.first, rankfeed_op_first{model.dtype, batch.rows, h, of, cu_seqlens, to});
  };

  if ((parts & kForwardInputs) != 0) {
    run(ops.positions,
        rankfeed_op_positions{batch.input_ids, batch.cu_seqlens, batch.rows, c.position_pad,
                              positions, ids, cu_seqlens, tiles, plan.tile_count, plan.rows});
    if (batch.tokens != 0) {
      run(ops.embed,
          rankfeed_op_embed{model.dtype, batch.tokens, c.embedding_width(), c.vocab_size,
                            c.max_positions, c.type_vocab, ids, positions, batch.token_type_ids,
                            weight(o.word), weight(o.position), weight(o.type), floats(o.norm_g),
                            floats(o.norm_b), c.norm_eps, embedded});
    }
  }
  if ((parts & kForwardLayers) != 0) {
    if (c.embedding != 0 && batch.tokens != 0) {
      gemm(embedded, o.project_w, floats(o.project_b), batch.tokens, h, c.embedding,
           RANKFEED_GPU_NO_ACTIVATION, x);
    }
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim()));
    for (const LayerOffsets& l : o.layers) {
      // The last layer computes only each row's first token.
      const bool last = &l == &o.layers.back();
      void* of_layer = x;
      void* in = attended;
      if (batch.tokens != 0) {
        gemm(x, l.qkv_w, floats(l.qkv_b), batch.tokens, 3 * h, h, RANKFEED_GPU_NO_ACTIVATION, wide);
        run(ops.attention,
            rankfeed_op_attention{model.dtype, batch.rows, batch.tokens, c.heads, c.head_dim(),
                                  wide, cu_seqlens, tiles, scale, attended, last});
      }
      if (last) {
        first_tokens(x, of_layer = first);
        first_tokens(attended, in = dense);
      }
      const uint32_t m = last ? batch.rows : batch.tokens;
      if (m == 0) continue;
      gemm_add_norm(in, m, l.out_w, l.out_b, h, l.norm1_g, l.norm1_b, of_layer);
      gemm(of_layer, l.up_w, floats(l.up_b), m, c.intermediate, h, c.activation, wide);
      gemm_add_norm(wide, m, l.down_w, l.down_b, c.intermediate, l.norm2_g, l.norm2_b, of_layer);
    }
    gemm(first, o.dense_w, floats(o.dense_b), batch.rows, h, h, c.head_activation, dense);
  }
  if ((parts & kForwardScores) != 0) {
    run(ops.logits, rankfeed_op_logits{model.dtype, batch.rows, c.labels, h, dense,
                                       weight(o.head_w), floats(o.head_b), cu_seqlens, logits});
  }
  return rc;
}

}  // namespace rankfeed::handoff
