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

// Calls run(type) with the element type.
template <class Run>
int32_t ByType(uint32_t dtype, const Run& run) {
  if (dtype == RANKFEED_DTYPE_F32) return run(F32{});
  if (dtype == RANKFEED_DTYPE_F16) return run(F16{});
  return dtype == RANKFEED_DTYPE_BF16 ? run(Bf16{}) : kInvalid;
}

// A block for each of `rows` rows or tokens.
template <class Op>
int32_t LaunchRows(const rankfeed_op_at* at, void (*kernel)(Op), uint32_t rows,
                   uint32_t shared_floats, const Op& op) {
  return rows == 0 ? 0 : Launch(at, kernel, rows, 1, kThreads, shared_floats, op);
}

int32_t UnpackOp(const rankfeed_op_at* at, const rankfeed_op_unpack* op) {
  if (op->row_length == 0) return 0;
  return LaunchRows(at, op->wide != 0 ? &UnpackKernel<int64_t> : &UnpackKernel<int32_t>, op->rows,
                    2 * kThreads, *op);
}

int32_t PositionsOp(const rankfeed_op_at* at, const rankfeed_op_positions* op) {
  return LaunchRows(at, &PositionsKernel, op->rows, 2 * kThreads, *op);
}

// One kernel for rows of whole vectors, another for all others.
template <class T, class Op>
int32_t LaunchByRow(const rankfeed_op_at* at, const Op& op, void (*vectors)(Op), void (*single)(Op),
                    uint32_t row, uint32_t blocks) {
  return LaunchRows(at, row % kPerVector<T> == 0 ? vectors : single, blocks, 0, op);
}
// Blocks for so many normed rows.
uint32_t NormBlocks(uint32_t rows) {
  return (rows + kNormRows - 1) / kNormRows;
}

int32_t EmbedOp(const rankfeed_op_at* at, const rankfeed_op_embed* op) {
  return ByType(op->dtype, [=](auto type) {
    using T = decltype(type);
    return LaunchByRow<T>(at, *op, &EmbedKernel<T, kPerVector<T>>, &EmbedKernel<T, 1>, op->hidden,
                          NormBlocks(op->tokens));
  });
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
int32_t GemmOp(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  return ByType(op->dtype, [=](auto type) {
    using T = decltype(type);
    if (op->m == 0 || op->n == 0) return 0;
    const int32_t rc = VendorGemm(at, op);
    if (rc == RANKFEED_GPU_TILED) return LaunchTiledGemm<T>(at, *op);
    const bool done = op->bias == nullptr && op->activation == RANKFEED_GPU_NO_ACTIVATION;
    if (rc != 0 || done) return rc;
    return LaunchByRow<T>(at, *op, &BiasKernel<T, kPerVector<T>>, &BiasKernel<T, 1>, op->n, op->m);
  });
}

template <class T, uint32_t kDim>
int32_t LaunchAttention(const rankfeed_op_at* at, const rankfeed_op_attention& op) {
  // Windows and relative positions have kernels of two sizes of heads.
  constexpr uint32_t kWide = kDim <= 64 ? 64 : 128;
  const uint64_t tiles = RANKFEED_GPU_TILES(op.tokens, op.rows);
  const auto plain = [&](auto size, auto kernel) {
    using Tile = AttentionTile<size()>;
    return Launch(at, kernel, tiles * (RANKFEED_GPU_TILE / Tile::kQueries), op.heads, kThreads,
                  Tile::kShared, op);
  };
  using Narrow = std::integral_constant<uint32_t, kDim>;
  using Wide = std::integral_constant<uint32_t, kWide>;
  if (op.relative.buckets != nullptr) {
    return op.window != 0 ? kInvalid : plain(Wide(), &RelativeAttentionKernel<T, kWide>);
  }
  if constexpr (T::kPerWord == 1) {
    return op.window != 0 ? plain(Wide(), &WindowAttentionKernel<kWide>)
                          : plain(Narrow(), &AttentionKernel<kDim>);
  } else {
    const auto halves = [&](auto size, auto kernel) {
      return Launch(at, kernel, tiles, op.heads, kAttentionThreads,
                    HalvesAttention<T, size()>::kShared, op);
    };
    return op.window != 0 ? halves(Wide(), &HalvesWindowAttentionKernel<T, kWide>)
                          : halves(Narrow(), &HalvesAttentionKernel<T, kDim>);
  }
}
int32_t AttentionOp(const rankfeed_op_at* at, const rankfeed_op_attention* op) {
  if (op->rows == 0 || op->tokens == 0) return 0;
  return ByType(op->dtype, [=](auto type) {
    using T = decltype(type);
    if (op->head_dim <= 32) return LaunchAttention<T, 32>(at, *op);
    if (op->head_dim <= 64) return LaunchAttention<T, 64>(at, *op);
    if (op->head_dim <= 96) return LaunchAttention<T, 96>(at, *op);
    return op->head_dim <= RANKFEED_GPU_MAX_HEAD ? LaunchAttention<T, 128>(at, *op) : kInvalid;
  });
}

int32_t AddNormOp(const rankfeed_op_at* at, const rankfeed_op_add_norm* op) {
  return ByType(op->dtype, [=](auto type) {
    using T = decltype(type);
    return LaunchByRow<T>(at, *op, &AddNormKernel<T, kPerVector<T>>, &AddNormKernel<T, 1>,
                          op->hidden, NormBlocks(op->tokens));
  });
}

int32_t FirstOp(const rankfeed_op_at* at, const rankfeed_op_first* op) {
  return ByType(op->dtype, [=](auto type) {
    return LaunchRows(at, &FirstKernel<decltype(type)>, op->rows, 0, *op);
  });
}

int32_t LogitsOp(const rankfeed_op_at* at, const rankfeed_op_logits* op) {
  return ByType(op->dtype, [=](auto type) {
    return LaunchRows(at, &LogitsKernel<decltype(type)>, op->rows, kThreads, *op);
  });
}

int32_t RotaryOp(const rankfeed_op_at* at, const rankfeed_op_rotary* op) {
  return ByType(op->dtype, [=](auto type) {
    return LaunchRows(at, &RotaryKernel<decltype(type)>, op->tokens, 0, *op);
  });
}

int32_t GateOp(const rankfeed_op_at* at, const rankfeed_op_gate* op) {
  return ByType(op->dtype, [=](auto type) {
    using T = decltype(type);
    return LaunchByRow<T>(at, *op, &GateKernel<T, kPerVector<T>>, &GateKernel<T, 1>, op->inner,
                          op->tokens);
  });
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
    RotaryOp,
    GateOp};
