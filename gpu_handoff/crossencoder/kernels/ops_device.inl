// SPDX-License-Identifier: MIT
// kernels/ops_device.inl: the table of operations (ops.h) over the kernels. Included by one
// source each of CUDA, HIP and the emulation, which define before:
//
//   int32_t LaunchKernel(at, kernel, uint32_t x, uint32_t y, uint32_t threads, size_t shared_bytes,
//                        Parameters... values)
//       queues a grid of x * y blocks of void kernel(Parameters...); 0 or the error number of the
//       backend. An error that an earlier call has left is not its own.
//   int32_t OpenGemm(void* ctx)
//       makes ready what multiplies matrices
//   int32_t VendorGemm(const rankfeed_op_at*, const rankfeed_op_gemm*)
//       x w^T into out, without bias and activation; RANKFEED_GPU_TILED when there is no library
//       for it
//   void DescribeGemm(void* ctx, char* out, uint64_t capacity), uint64_t GemmScratch(void* ctx)

constexpr int32_t kInvalid = -4;  // RANKFEED_GPU_INVALID
// 48 KB is what every device gives a block without being asked (CUDA C Programming Guide, table of
// compute capabilities; 64 KB of LDS on CDNA).
static_assert(AttentionTile<128>::kShared * sizeof(float) <= 48 * 1024);
static_assert(AttentionTile<64>::kShared * sizeof(float) <= 48 * 1024);
static_assert(HalvesAttention<F16, 128>::kShared * sizeof(float) <= 48 * 1024);

// Grids: x below 2^31 and y below 2^16 (CUDA C Programming Guide, table of compute capabilities);
// on HIP x times the threads of a block below 2^32 (HIP programming guide, kernel launch limits).
template <class... Parameters, class... Arguments>
int32_t Launch(const rankfeed_op_at* at, void (*kernel)(Parameters...), uint64_t x, uint32_t y,
               uint32_t threads, uint32_t shared_floats, Arguments... arguments) {
  if (x * threads > UINT32_MAX || y > UINT16_MAX) return kInvalid;
  return LaunchKernel<Parameters...>(at, kernel, static_cast<uint32_t>(x), y, threads,
                                     shared_floats * sizeof(float), arguments...);
}

template <template <class> class Run, class Op>
int32_t ByType(uint32_t dtype, const rankfeed_op_at* at, const Op* op) {
  switch (dtype) {
    case RANKFEED_DTYPE_F32:
      return Run<F32>::Go(at, *op);
    case RANKFEED_DTYPE_F16:
      return Run<F16>::Go(at, *op);
    case RANKFEED_DTYPE_BF16:
      return Run<Bf16>::Go(at, *op);
    default:
      return kInvalid;
  }
}

int32_t UnpackOp(const rankfeed_op_at* at, const rankfeed_op_unpack* op) {
  if (op->rows == 0 || op->row_length == 0) return 0;
  if (op->wide != 0) {
    return Launch(at, &UnpackKernel<int64_t>, op->rows, 1, kThreads, 2 * kThreads, op->ids,
                  op->cu_seqlens, op->row_length, op->pad_id, static_cast<int64_t*>(op->ids_out),
                  static_cast<int64_t*>(op->mask_out), static_cast<int64_t*>(op->positions_out));
  }
  return Launch(at, &UnpackKernel<int32_t>, op->rows, 1, kThreads, 2 * kThreads, op->ids,
                op->cu_seqlens, op->row_length, op->pad_id, static_cast<int32_t*>(op->ids_out),
                static_cast<int32_t*>(op->mask_out), static_cast<int32_t*>(op->positions_out));
}

int32_t PositionsOp(const rankfeed_op_at* at, const rankfeed_op_positions* op) {
  if (op->rows == 0) return 0;
  return Launch(at, &PositionsKernel, op->rows, 1, kThreads, 2 * kThreads, op->ids, op->cu_seqlens,
                op->pad_id, op->out, op->ids_out, op->cu_out, op->tiles, op->rows, op->tile_count,
                op->row_count);
}

// One kernel for rows of whole vectors, another for all others.
template <class T, class Op>
int32_t LaunchByRow(const rankfeed_op_at* at, const Op& op, void (*vectors)(Op), void (*single)(Op),
                    uint32_t row, uint32_t blocks) {
  return Launch(at, row % kPerVector<T> == 0 ? vectors : single, blocks, 1, kThreads, 0, op);
}

template <class T>
struct RunEmbed {
  static int32_t Go(const rankfeed_op_at* at, const rankfeed_op_embed& op) {
    if (op.tokens == 0) return 0;
    return LaunchByRow<T>(at, op, &EmbedKernel<T, kPerVector<T>>, &EmbedKernel<T, 1>, op.hidden,
                          (op.tokens + kNormRows - 1) / kNormRows);
  }
};
int32_t EmbedOp(const rankfeed_op_at* at, const rankfeed_op_embed* op) {
  return ByType<RunEmbed>(op->dtype, at, op);
}

template <class T>
int32_t LaunchTiledGemm(const rankfeed_op_at* at, const rankfeed_op_gemm& op) {
  return Launch(at, &HalvesGemmKernel<T>, (op.m + kUnitGemmRows - 1) / kUnitGemmRows,
                (op.n + kUnitGemmColumns - 1) / kUnitGemmColumns, kUnitGemmThreads, kUnitGemmShared,
                op);
}
template <>
int32_t LaunchTiledGemm<F32>(const rankfeed_op_at* at, const rankfeed_op_gemm& op) {
  return Launch(at, &GemmKernel, (op.m + kGemmTile - 1) / kGemmTile,
                (op.n + kGemmTile - 1) / kGemmTile, kGemmThreads, kGemmShared, op);
}
template <class T>
struct RunGemm {
  static int32_t Go(const rankfeed_op_at* at, const rankfeed_op_gemm& op) {
    if (op.m == 0 || op.n == 0) return 0;
    const int32_t rc = VendorGemm(at, &op);
    if (rc == RANKFEED_GPU_TILED) return LaunchTiledGemm<T>(at, op);
    if (rc != 0 || op.bias == nullptr) return rc;
    return LaunchByRow<T>(at, op, &BiasKernel<T, kPerVector<T>>, &BiasKernel<T, 1>, op.n, op.m);
  }
};
int32_t GemmOp(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  return ByType<RunGemm>(op->dtype, at, op);
}

template <class T, uint32_t kDim>
int32_t LaunchAttention(const rankfeed_op_at* at, const rankfeed_op_attention& op) {
  const uint64_t tiles = RANKFEED_GPU_TILES(op.tokens, op.rows);
  if constexpr (T::kPerWord == 2) {
    return Launch(at, &HalvesAttentionKernel<T, kDim>, tiles, op.heads, kAttentionThreads,
                  HalvesAttention<T, kDim>::kShared, op);
  } else {
    using Tile = AttentionTile<kDim>;
    return Launch(at, &AttentionKernel<kDim>, tiles * (RANKFEED_GPU_TILE / Tile::kQueries),
                  op.heads, kThreads, Tile::kShared, op);
  }
}
template <class T>
struct RunAttention {
  static int32_t Go(const rankfeed_op_at* at, const rankfeed_op_attention& op) {
    if (op.rows == 0 || op.tokens == 0) return 0;
    if (op.head_dim <= 32) return LaunchAttention<T, 32>(at, op);
    if (op.head_dim <= 64) return LaunchAttention<T, 64>(at, op);
    if (op.head_dim <= 96) return LaunchAttention<T, 96>(at, op);
    if (op.head_dim <= RANKFEED_GPU_MAX_HEAD) return LaunchAttention<T, 128>(at, op);
    return kInvalid;
  }
};
int32_t AttentionOp(const rankfeed_op_at* at, const rankfeed_op_attention* op) {
  return ByType<RunAttention>(op->dtype, at, op);
}

template <class T>
struct RunAddNorm {
  static int32_t Go(const rankfeed_op_at* at, const rankfeed_op_add_norm& op) {
    if (op.tokens == 0) return 0;
    return LaunchByRow<T>(at, op, &AddNormKernel<T, kPerVector<T>>, &AddNormKernel<T, 1>, op.hidden,
                          (op.tokens + kNormRows - 1) / kNormRows);
  }
};
int32_t AddNormOp(const rankfeed_op_at* at, const rankfeed_op_add_norm* op) {
  return ByType<RunAddNorm>(op->dtype, at, op);
}

template <class T>
struct RunFirst {
  static int32_t Go(const rankfeed_op_at* at, const rankfeed_op_first& op) {
    using Stored = typename T::Stored;
    if (op.rows == 0) return 0;
    return Launch(at, &FirstKernel<T>, op.rows, 1, kThreads, 0, static_cast<const Stored*>(op.x),
                  op.cu_seqlens, op.hidden, static_cast<Stored*>(op.out));
  }
};
int32_t FirstOp(const rankfeed_op_at* at, const rankfeed_op_first* op) {
  return ByType<RunFirst>(op->dtype, at, op);
}

template <class T>
struct RunLogits {
  static int32_t Go(const rankfeed_op_at* at, const rankfeed_op_logits& op) {
    using Stored = typename T::Stored;
    if (op.rows == 0) return 0;
    return Launch(at, &LogitsKernel<T>, op.rows, 1, kThreads, kThreads,
                  static_cast<const Stored*>(op.x), static_cast<const Stored*>(op.w), op.bias,
                  op.cu_seqlens, op.labels, op.hidden, op.logits);
  }
};
int32_t LogitsOp(const rankfeed_op_at* at, const rankfeed_op_logits* op) {
  return ByType<RunLogits>(op->dtype, at, op);
}

int32_t OpenOp(void* ctx) {
  return OpenGemm(ctx);
}

uint64_t ScratchBytes(void* ctx, uint32_t, uint32_t) {
  return GemmScratch(ctx);
}

constexpr rankfeed_gpu_ops kDeviceOps = {
    sizeof(rankfeed_gpu_ops),
    RANKFEED_GPU_OPS_ABI,
    1u << RANKFEED_DTYPE_F32 | 1u << RANKFEED_DTYPE_F16 | 1u << RANKFEED_DTYPE_BF16,
    OpenOp,
    DescribeGemm,
    ScratchBytes,
    UnpackOp,
    PositionsOp,
    EmbedOp,
    GemmOp,
    AttentionOp,
    AddNormOp,
    FirstOp,
    LogitsOp,
    nullptr,
    nullptr,
    nullptr};
