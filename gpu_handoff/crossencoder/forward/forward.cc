// SPDX-License-Identifier: MIT
// crossencoder/forward/forward.cc: see forward.h. The order of operations is that of transformers'
// ...ForSequenceClassification of the models in model/architecture.cc (their
// modeling_*.py, 5.23.0), eval mode: dropout is the identity.
#include "crossencoder/forward/forward.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
  const ModelConfig& c = model.config;
  const uint64_t wide = std::max<uint64_t>({3 * h, c.up_width(), c.embedding_width()});
  uint64_t widest = h;
  for (const HeadStep& step : c.head) widest = std::max<uint64_t>(widest, step.width);
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
  const uint64_t some_tokens = GemmRows(tokens), some_rows = GemmRows(rows);
  // Rows may be empty, so there may be more of them than tokens: what the last layer makes of each.
  const uint64_t most = std::max(some_tokens, some_rows);
  plan->x = take(some_tokens * h * element);
  plan->y = take(most * h * element);
  plan->attended = take(some_tokens * h * element);
  plan->wide = take(most * wide * element);
  plan->gated = take(c.gated ? most * c.intermediate * element : 0);
  plan->normed = take(c.norms_before ? most * h * element : 0);
  plan->first = take(some_rows * widest * element);
  plan->head = take(some_rows * widest * element);
  plan->bytes = at;
  return at <= kMaxBytes;
}

namespace {

// One forward: what its operations have in common, and the parts in their order.
class Pass {
 public:
  Pass(const rankfeed_gpu_ops& ops, void* ctx, void* stream, const DeviceModel& model,
       const rankfeed_packed_batch& batch, const WorkspacePlan& plan, void* workspace,
       const uint32_t* cancel)
      : ops_(ops),
        model_(model),
        batch_(batch),
        plan_(plan),
        cancel_(cancel),
        base_(static_cast<char*>(workspace)),
        at_{ctx, stream, base_ + plan.scratch, plan.scratch_bytes} {}

  int32_t rc() const { return rc_; }

  void Inputs() {
    const ModelConfig& c = model_.config;
    const WeightOffsets& o = model_.offsets;
    Run(ops_.positions,
        rankfeed_op_positions{batch_.input_ids, batch_.cu_seqlens, batch_.rows, c.position_pad,
                              Ints(plan_.positions), Ints(plan_.ids), Ints(plan_.cu_seqlens),
                              Ints(plan_.tiles), plan_.tile_count, plan_.rows});
    if (batch_.tokens == 0) return;
    Run(ops_.embed,
        rankfeed_op_embed{model_.dtype, batch_.tokens, c.embedding_width(), c.vocab_size,
                          c.max_positions, c.type_vocab, Ints(plan_.ids), Ints(plan_.positions),
                          batch_.token_type_ids, Weight(o.word), Weight(o.position), Weight(o.type),
                          Floats(o.norm.w), Floats(o.norm.b), c.norm_eps,
                          base_ + (c.embedding != 0 ? plan_.wide : plan_.x)});
  }

  void Layers() {
    const ModelConfig& c = model_.config;
    const WeightOffsets& o = model_.offsets;
    const bool before = c.norms_before;
    char* x = base_ + plan_.x;  // the sums that go from part to part
    if (batch_.tokens != 0) {
      if (c.embedding != 0) {
        Gemm(base_ + plan_.wide, o.project, batch_.tokens, c.hidden, c.embedding,
             RANKFEED_GPU_NO_ACTIVATION, x);
      }
      if (o.enter.w != kNone)
        Norm(x, nullptr, kNone, o.enter, batch_.tokens, base_ + plan_.normed, nullptr);
    }
    // The input of attention: the sums as they are, or normed.
    const char* in = o.enter.w != kNone ? base_ + plan_.normed : x;
    for (size_t i = 0; i < o.layers.size(); ++i) {
      const LayerOffsets& l = o.layers[i];
      char* attended = base_ + plan_.attended;
      uint32_t m = batch_.tokens;
      const bool pooled = i + 1 == o.layers.size() && c.pool == RANKFEED_GPU_FIRST;
      if (m != 0) Attention(c.attention[i], l, in, pooled, attended);
      if (pooled) {  // the last layer computes only each row's first token
        Pool(x, base_ + plan_.first);
        Pool(attended, base_ + plan_.head);
        x = base_ + plan_.first;
        attended = base_ + plan_.head;
        m = batch_.rows;
      }
      char* const normed = before ? base_ + plan_.normed : x;
      if (m != 0) Mlp(l, m, attended, x, normed);
      in = normed;
    }
    Head(in);
  }

  void Scores(float* logits) {
    const ModelConfig& c = model_.config;
    const PairOffsets& scores = model_.offsets.scores;
    Run(ops_.logits, rankfeed_op_logits{model_.dtype, batch_.rows, c.labels, c.scores_width(),
                                        Step(c.head.size()), Weight(scores.w), Floats(scores.b),
                                        Ints(plan_.cu_seqlens), logits});
  }

 private:
  // Operations after the first that failed, or after a cancellation, do nothing.
  template <class Call, class Op>
  void Run(const Call& call, const Op& op) {
    if (rc_ == 0 && cancel_ != nullptr && __atomic_load_n(cancel_, __ATOMIC_RELAXED) != 0)
      rc_ = kForwardStopped;
    if (rc_ == 0) rc_ = call(&at_, &op);
  }
  const void* Weight(uint64_t offset) const {
    return offset == kNone ? nullptr : model_.block + offset;
  }
  const float* Floats(uint64_t offset) const { return static_cast<const float*>(Weight(offset)); }
  int32_t* Ints(uint64_t offset) const { return reinterpret_cast<int32_t*>(base_ + offset); }

  void Gemm(const void* x, const PairOffsets& of, uint32_t m, uint32_t n, uint32_t k,
            uint32_t activation, void* out) {
    Run(ops_.gemm, rankfeed_op_gemm{model_.dtype, m, n, k, activation, x, Weight(of.w),
                                    Floats(of.b), out, model_.packed});
  }
  // bias, which is added where the sum is read anyway, and residual may be none.
  void Norm(const void* x, const void* residual, uint64_t bias, const PairOffsets& of, uint32_t m,
            void* out, void* sum) {
    Run(ops_.add_norm,
        rankfeed_op_add_norm{model_.dtype, m, model_.config.hidden, x, residual, Floats(bias),
                             Floats(of.w), Floats(of.b), model_.config.norm_eps, out, sum});
  }
  void Pool(const void* x, void* out) {
    Run(ops_.first, rankfeed_op_first{model_.dtype, batch_.rows, model_.config.hidden, x,
                                      Ints(plan_.cu_seqlens), out, model_.config.pool});
  }

  void Attention(const LayerAttention& how, const LayerOffsets& l, const void* in, bool pooled,
                 void* out) {
    const ModelConfig& c = model_.config;
    void* const qkv = base_ + plan_.wide;
    const uint32_t tokens = batch_.tokens;
    Gemm(in, l.qkv, tokens, 3 * c.hidden, c.hidden, RANKFEED_GPU_NO_ACTIVATION, qkv);
    if (how.rotary != LayerAttention::kNoRotary) {
      Run(ops_.rotary,
          rankfeed_op_rotary{model_.dtype, tokens, 2 * c.heads, c.head_dim(), 3 * c.hidden,
                             Ints(plan_.positions), Floats(model_.offsets.rotary[how.rotary]),
                             c.max_positions, qkv});
    }
    Run(ops_.attention, rankfeed_op_attention{
                            model_.dtype, batch_.rows, tokens, c.heads, c.head_dim(), qkv,
                            Ints(plan_.cu_seqlens), Ints(plan_.tiles),
                            1.0f / std::sqrt(static_cast<float>(c.head_dim() * c.relative.terms())),
                            out, pooled, how.window, RelativeOf(l)});
  }

  rankfeed_relative RelativeOf(const LayerOffsets& l) const {
    const RelativeAttention& relative = model_.config.relative;
    if (relative.span == 0) return {};
    return {Weight(l.keys), Weight(l.queries),
            static_cast<const int32_t*>(Weight(model_.offsets.relative.buckets)), 2 * relative.span,
            model_.config.max_positions - 1};
  }

  // From what attention gave to the layer's end: its sums in x, what the next reads in normed,
  // which is x where norms stand after the sums.
  void Mlp(const LayerOffsets& l, uint32_t m, const void* attended, void* x, void* normed) {
    const ModelConfig& c = model_.config;
    void* const y = base_ + plan_.y;
    void* inner = base_ + plan_.wide;
    void* const sum = normed != x ? x : nullptr;
    Gemm(attended, {l.out.w, kNone}, m, c.hidden, c.hidden, RANKFEED_GPU_NO_ACTIVATION, y);
    Norm(y, x, l.out.b, l.norm1, m, normed, sum);
    const bool gated = c.gated;
    Gemm(normed, l.up, m, c.up_width(), c.hidden,
         gated ? uint32_t{RANKFEED_GPU_NO_ACTIVATION} : c.activation, inner);
    if (gated) {
      void* const out = base_ + plan_.gated;
      Run(ops_.gate, rankfeed_op_gate{model_.dtype, m, c.intermediate, c.activation, inner, out});
      inner = out;
    }
    Gemm(inner, {l.down.w, kNone}, m, c.hidden, c.intermediate, RANKFEED_GPU_NO_ACTIVATION, y);
    Norm(y, x, l.down.b, l.norm2, m, normed, sum);
  }

  // Returns the place of the head's input, and of what each of its steps makes.
  char* Step(size_t i) const {
    const bool normed = model_.config.norms_before && model_.config.pool == RANKFEED_GPU_FIRST;
    return base_ + (i % 2 != 0 ? plan_.head : i == 0 && normed ? plan_.normed : plan_.first);
  }

  void Head(const char* in) {
    const ModelConfig& c = model_.config;
    if (c.pool != RANKFEED_GPU_FIRST) Pool(in, Step(0));
    uint32_t width = c.hidden;
    for (size_t i = 0; i < c.head.size(); ++i) {
      const HeadStep& step = c.head[i];
      const PairOffsets& of = model_.offsets.head[i];
      if (step.kind == HeadStep::Kind::kDense) {
        Gemm(Step(i), of, batch_.rows, step.width, width, step.activation, Step(i + 1));
      } else {
        Run(ops_.add_norm,
            rankfeed_op_add_norm{model_.dtype, batch_.rows, width, Step(i), nullptr, nullptr,
                                 Floats(of.w), Floats(of.b), step.eps, Step(i + 1), nullptr});
      }
      width = step.width;
    }
  }

  const rankfeed_gpu_ops& ops_;
  const DeviceModel& model_;
  const rankfeed_packed_batch& batch_;
  const WorkspacePlan& plan_;
  const uint32_t* const cancel_;
  char* const base_;
  const rankfeed_op_at at_;
  int32_t rc_ = 0;
};

}  // namespace

int32_t Prepare(const rankfeed_gpu_ops& ops, const rankfeed_op_at& at, const DeviceModel& model,
                char* block) noexcept {
  const ModelConfig& c = model.config;
  const RelativeOffsets& o = model.offsets.relative;
  if (c.relative.span == 0) return 0;
  const uint32_t rows = 2 * c.relative.span, h = c.hidden;
  const auto floats = [&](uint64_t at_offset) {
    return reinterpret_cast<const float*>(block + at_offset);
  };
  const char* table = block + o.table;
  int32_t rc = 0;
  if (c.relative.normed) {
    const rankfeed_op_add_norm op{model.dtype,
                                  rows,
                                  h,
                                  table,
                                  nullptr,
                                  nullptr,
                                  floats(o.norm.w),
                                  floats(o.norm.b),
                                  c.norm_eps,
                                  block + o.normed,
                                  nullptr};
    rc = ops.add_norm(&at, &op);
    table = block + o.normed;
  }
  for (const LayerOffsets& l : model.offsets.layers) {
    for (const auto& [of, made] :
         {std::pair{l.relative_key, l.keys}, {l.relative_query, l.queries}}) {
      if (made == kNone || rc != 0) continue;
      const rankfeed_op_gemm op{
          model.dtype,  rows,         h, h, RANKFEED_GPU_NO_ACTIVATION, table, block + of.w,
          floats(of.b), block + made, 0};
      rc = ops.gemm(&at, &op);
    }
  }
  return rc;
}

int32_t Forward(const rankfeed_gpu_ops& ops, void* ctx, void* stream, const DeviceModel& model,
                const rankfeed_packed_batch& batch, const WorkspacePlan& plan, void* workspace,
                float* logits, uint32_t parts, const uint32_t* cancel) noexcept {
  Pass pass(ops, ctx, stream, model, batch, plan, workspace, cancel);
  if ((parts & kForwardInputs) != 0) pass.Inputs();
  if ((parts & kForwardLayers) != 0) pass.Layers();
  if ((parts & kForwardScores) != 0) pass.Scores(logits);
  return pass.rc();
}

}  // namespace rankfeed::handoff
