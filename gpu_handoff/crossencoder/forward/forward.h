// SPDX-License-Identifier: MIT
// crossencoder/forward/forward.h: the cross-encoder's forward pass as a sequence of operations
// (ops.h), the same for every backend.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_FORWARD_FORWARD_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_FORWARD_FORWARD_H_

#include <cstdint>

#include "crossencoder/model/config.h"
#include "crossencoder/model/weights.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {

// A model in device memory.
struct DeviceModel {
  ModelConfig config;
  uint32_t dtype = RANKFEED_DTYPE_F32;
  WeightOffsets offsets;
  const char* block = nullptr;  // offsets.bytes bytes
  bool packed = false;          // the matrices of products, by the operations' pack
};

// Where a batch lies in a workspace; byte offsets, multiples of 256. `wide` holds the embeddings
// that are projected, then each layer's fused query, key and value and its MLP's inner activations;
// `gated` what a gated MLP makes of these, `normed` what norms before attention and MLP make of x.
// ids and cu_seqlens are copies, made once, because the batch may lie in host memory and every
// layer reads cu_seqlens. T' and R' are the tokens and rows rounded up to RANKFEED_GPU_GEMM_ROWS.
//
//   scratch | ids [T] | cu_seqlens [R + 1] | positions [T] | tiles | x [T', h] | y [T', h]
//           | attended [T', h] | wide [T', max(3h, up_width, embedding)] | gated [T', inner]
//           | normed [T', h] | first [R', H] | head [R', H], H the widest of h and the head's steps
struct WorkspacePlan {
  uint64_t scratch, scratch_bytes, ids, cu_seqlens, positions, tiles, x, y, attended, wide, gated,
      normed, first, head;
  uint64_t bytes;  // of the whole
  uint32_t tile_count, rows;
};

// False when the sizes overflow.
bool PlanWorkspace(const DeviceModel& model, uint64_t scratch_bytes, uint64_t rows, uint64_t tokens,
                   WorkspacePlan* plan);

// Queues what is made once of a model's weights, in its block: keys and queries of relative
// positions. block: model.block, to be written; at has the scratch of one row. 0 or the backend's
// error.
int32_t Prepare(const rankfeed_gpu_ops& ops, const rankfeed_op_at& at, const DeviceModel& model,
                char* block) noexcept;

// The parts of a forward, in this order: what reads the caller's batch, what works in the workspace
// alone (graphs.h), and what writes the caller's logits.
enum : uint32_t { kForwardInputs = 1, kForwardLayers = 2, kForwardScores = 4, kForwardAll = 7 };

// Forward's result where it was told to stop; no backend has an error of this number.
inline constexpr int32_t kForwardStopped = 1;

// Queues the forward of batch (at->scratch is set from the workspace), or parts of it. 0 or the
// backend's error. No allocation, locks or exceptions of its own. cancel (nullable) is read before
// each operation: once it is not zero those that are left do nothing.
int32_t Forward(const rankfeed_gpu_ops& ops, void* ctx, void* stream, const DeviceModel& model,
                const rankfeed_packed_batch& batch, const WorkspacePlan& plan, void* workspace,
                float* logits, uint32_t parts = kForwardAll,
                const uint32_t* cancel = nullptr) noexcept;

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_FORWARD_FORWARD_H_
