// SPDX-License-Identifier: MIT
// kernels/gemm.inl: out[m, n] = activation(x[m, k] w[n, k]^T + bias) in tiles, for devices and
// builds without a vendor's library; bias with activation alone, for use after such a library; and
// the gate of an MLP.
// float32 by plain multiplications, half types on matrix units (mma.inl).

RF_DEVICE float Activated(float value, uint32_t activation) {
  if (activation == RANKFEED_GPU_GELU) return 0.5f * value * erfcf(value * -0.70710678118654752f);
  if (activation == RANKFEED_GPU_TANH) return tanhf(value);
  if (activation == RANKFEED_GPU_RELU) return value < 0.0f ? 0.0f : value;
  // 1 + tanh(y) is 2 / (1 + exp(-2 y)); the factor is -2 sqrt(2 / pi).
  if (activation == RANKFEED_GPU_GELU_TANH)
    return value / (1.0f + expf(-1.59576912160573f * (value + 0.044715f * value * value * value)));
  if (activation == RANKFEED_GPU_SILU) return value / (1.0f + expf(-value));
  return value;
}
RF_DEVICE float BiasOf(const rankfeed_op_gemm& op, uint32_t column) {
  return op.bias != nullptr ? op.bias[column] : 0.0f;
}

// float32: a block of 256 threads makes a 64 x 64 tile; every thread four rows
// and, 16 apart, four columns of it. Both operands go through shared memory in steps of 16 columns,
// transposed, so that the inner loop reads rows of shared memory.
constexpr uint32_t kGemmThreads = 256, kGemmTile = 64, kGemmDepth = 16, kGemmEach = 4;
constexpr uint32_t kGemmStride = kGemmTile + 2;  // two rows of 16 columns are stored to all banks
constexpr uint32_t kGemmShared = 2 * kGemmDepth * kGemmStride;  // floats

RF_KERNEL(kGemmThreads)
GemmKernel(rankfeed_op_gemm op) {
  RF_SHARED(shared);
  const float* const x = static_cast<const float*>(op.x);
  const float* const w = static_cast<const float*>(op.w);
  RF_SHARED_POINTER(float) const a = shared;  // [kGemmDepth][kGemmStride]: x, transposed
  RF_SHARED_POINTER(float) const b = shared + kGemmDepth * kGemmStride;
  const uint32_t row = RF_BLOCK_X * kGemmTile, column = RF_BLOCK_Y * kGemmTile;
  const uint32_t ty = RF_THREAD / 16, tx = RF_THREAD % 16;
  float sum[kGemmEach][kGemmEach] = {};
  for (uint32_t depth = 0; depth < op.k; depth += kGemmDepth) {
    RF_SYNC();
    for (uint32_t i = RF_THREAD; i < kGemmTile * kGemmDepth; i += RF_THREADS) {
      const uint32_t r = i / kGemmDepth, d = i % kGemmDepth;
      const bool in = depth + d < op.k;
      a[d * kGemmStride + r] =
          in && row + r < op.m ? Load<F32>(x + static_cast<uint64_t>(row + r) * op.k + depth + d)
                               : 0.0f;
      b[d * kGemmStride + r] =
          in && column + r < op.n
              ? Load<F32>(w + static_cast<uint64_t>(column + r) * op.k + depth + d)
              : 0.0f;
    }
    RF_SYNC();
    for (uint32_t d = 0; d < kGemmDepth; ++d) {
      float left[kGemmEach], right[kGemmEach];
      for (uint32_t i = 0; i < kGemmEach; ++i) {
        left[i] = a[d * kGemmStride + ty * kGemmEach + i];
        right[i] = b[d * kGemmStride + i * 16 + tx];
      }
      for (uint32_t i = 0; i < kGemmEach; ++i) {
        for (uint32_t j = 0; j < kGemmEach; ++j) sum[i][j] += left[i] * right[j];
      }
    }
  }
  for (uint32_t i = 0; i < kGemmEach; ++i) {
    const uint32_t r = row + ty * kGemmEach + i;
    for (uint32_t j = 0; j < kGemmEach; ++j) {
      const uint32_t c = column + j * 16 + tx;
      if (r < op.m && c < op.n) {
        Store<F32>(Activated(sum[i][j] + BiasOf(op, c), op.activation),
                   static_cast<float*>(op.out) + static_cast<uint64_t>(r) * op.n + c);
      }
    }
  }
}

// Half types: four warps make a tile of 128 x 64, each 32 x 64 of it. The next 32 columns of both
// operands are on their way into registers while these are multiplied.
constexpr uint32_t kUnitGemmWarps = 4, kUnitGemmThreads = kUnitGemmWarps * RF_WARP;
constexpr uint32_t kUnitGemmRows = 128, kUnitGemmColumns = 64, kUnitGemmDepth = 32;
static_assert(RANKFEED_GPU_GEMM_ROWS % kUnitGemmRows == 0, "rows of x are there for whole tiles");
constexpr uint32_t kUnitGemmStrips = kUnitGemmRows / kUnitGemmWarps / kUnit;  // of 16 rows, a warp
// Sums leave by way of shared memory, one strip of each warp at a time.
constexpr uint32_t kUnitGemmOutStride = kUnitGemmColumns + 8;
template <class T, uint32_t kRows>
using GemmStep = Tile<T, kRows, kUnitGemmDepth / 8, kUnitGemmThreads>;
constexpr uint32_t kUnitGemmOut = kUnitGemmWarps * kUnit * kUnitGemmOutStride;
constexpr uint32_t kUnitGemmIn =
    GemmStep<F16, kUnitGemmRows>::kWords + GemmStep<F16, kUnitGemmColumns>::kWords;
constexpr uint32_t kUnitGemmShared =
    kUnitGemmOut > kUnitGemmIn ? kUnitGemmOut : kUnitGemmIn;  // words

// A strip of 16 rows from shared memory to out, with bias and activation.
template <class T>
RF_DEVICE void StoreStrip(const rankfeed_op_gemm& op, RF_SHARED_POINTER(float) strip, uint32_t row,
                          uint32_t column) {
  constexpr uint32_t kPieces = kUnitGemmColumns / 8;
  RF_SHARED_POINTER(uint32_t) const words = RF_SHARED_AS(uint32_t, strip);
  for (uint32_t i = RF_THREAD % RF_WARP; i < kUnit * kPieces; i += RF_WARP) {
    const uint32_t r = i / kPieces, c = column + i % kPieces * 8;
    if (row + r >= op.m || c >= op.n) continue;
    float values[8];
    LoadEightShared(words + (r * kUnitGemmOutStride + i % kPieces * 8), i, values);
    uint16_t* const to = static_cast<uint16_t*>(op.out) + static_cast<uint64_t>(row + r) * op.n + c;
    if (op.n % 8 == 0) {
      for (uint32_t j = 0; j < 8; ++j)
        values[j] = Activated(values[j] + BiasOf(op, c + j), op.activation);
      StoreVector(Collapse<T>(values), to);
    } else {
      for (uint32_t j = 0; j < 8 && c + j < op.n; ++j)
        Store<T>(Activated(values[j] + BiasOf(op, c + j), op.activation), to + j);
    }
  }
}

template <class T>
RF_KERNEL(kUnitGemmThreads)
HalvesGemmKernel(rankfeed_op_gemm op) {
  using Unit = Mma<T>;
  RF_SHARED(shared);
  constexpr uint32_t kColumns = kUnitGemmColumns / kUnit;
  RF_SHARED_POINTER(uint32_t) const left = RF_SHARED_AS(uint32_t, shared);
  RF_SHARED_POINTER(uint32_t) const right = left + GemmStep<T, kUnitGemmRows>::kWords;
  constexpr uint32_t kRowWords = GemmStep<T, kUnitGemmRows>::kStride;
  const HalfRows x{static_cast<const uint16_t*>(op.x), op.k, op.m, op.k};
  const HalfRows w{static_cast<const uint16_t*>(op.w), op.k, op.n, op.k};
  const uint32_t warp = RF_THREAD / RF_WARP;
  const uint32_t row = RF_BLOCK_X * kUnitGemmRows, column = RF_BLOCK_Y * kUnitGemmColumns;
  typename Unit::Sum sums[kUnitGemmStrips][kColumns];
  RF_UNROLL
  for (uint32_t s = 0; s < kUnitGemmStrips; ++s) {
    RF_UNROLL
    for (uint32_t c = 0; c < kColumns; ++c) Unit::Zero(&sums[s][c]);
  }
  GemmStep<T, kUnitGemmRows> rows;
  GemmStep<T, kUnitGemmColumns> columns;
  rows.Load(x, row, 0);
  columns.Load(w, column, 0);
  for (uint32_t depth = 0; depth < op.k; depth += kUnitGemmDepth) {
    RF_SYNC();  // the step before is used up
    rows.Store(left);
    columns.Store(right);
    RF_SYNC();
    if (depth + kUnitGemmDepth < op.k) {
      rows.Load(x, row, depth + kUnitGemmDepth);
      columns.Load(w, column, depth + kUnitGemmDepth);
    }
    RF_UNROLL
    for (uint32_t d = 0; d < kUnitGemmDepth; d += kUnit) {
      typename Unit::Left of_rows[kUnitGemmStrips];
      RF_UNROLL
      for (uint32_t s = 0; s < kUnitGemmStrips; ++s)
        Unit::LoadLeft(&of_rows[s],
                       left + ((warp * kUnitGemmStrips + s) * kUnit * kRowWords + d / 2),
                       kRowWords);
      RF_UNROLL
      for (uint32_t c = 0; c < kColumns; ++c) {
        typename Unit::template Right<kByColumn> of_columns;
        Unit::template LoadRight<kByColumn>(&of_columns, right + (c * kUnit * kRowWords + d / 2),
                                            kRowWords);
        RF_UNROLL
        for (uint32_t s = 0; s < kUnitGemmStrips; ++s)
          Unit::template MultiplyAdd<kByColumn>(&sums[s][c], of_rows[s], of_columns);
      }
    }
  }
  RF_SHARED_POINTER(float) const strip = shared + warp * kUnit * kUnitGemmOutStride;
  RF_SYNC();  // operands are used up
  RF_UNROLL
  for (uint32_t s = 0; s < kUnitGemmStrips; ++s) {
    RF_UNROLL
    for (uint32_t c = 0; c < kColumns; ++c)
      Unit::StoreSum(sums[s][c], strip + c * kUnit, kUnitGemmOutStride);
    RF_SYNC_WARP();
    StoreStrip<T>(op, strip, row + (warp * kUnitGemmStrips + s) * kUnit, column);
    RF_SYNC_WARP();
  }
}

// out = activation(out + bias), one block per row; bias null: none.
template <class T, uint32_t kMany>
RF_KERNEL(kThreads)
BiasKernel(rankfeed_op_gemm op) {
  typename T::Stored* const out =
      static_cast<typename T::Stored*>(op.out) + static_cast<uint64_t>(RF_BLOCK_X) * op.n;
  for (uint32_t i = RF_THREAD * kMany; i < op.n; i += RF_THREADS * kMany) {
    float values[kMany], bias[kMany] = {};
    LoadMany<T, kMany>(out + i, values);
    if (op.bias != nullptr) LoadFloats<kMany>(op.bias + i, bias);
    RF_UNROLL
    for (uint32_t j = 0; j < kMany; ++j) values[j] = Activated(values[j] + bias[j], op.activation);
    StoreMany<T, kMany>(values, out + i);
  }
}

// out = activation(first half of a row of x) * its second half, one block per row.
template <class T, uint32_t kMany>
RF_KERNEL(kThreads)
GateKernel(rankfeed_op_gate op) {
  using Stored = typename T::Stored;
  const uint64_t row = static_cast<uint64_t>(RF_BLOCK_X) * op.inner;
  const Stored* const x = static_cast<const Stored*>(op.x) + 2 * row;
  for (uint32_t i = RF_THREAD * kMany; i < op.inner; i += RF_THREADS * kMany) {
    float values[kMany], by[kMany];
    LoadMany<T, kMany>(x + i, values);
    LoadMany<T, kMany>(x + op.inner + i, by);
    RF_UNROLL
    for (uint32_t j = 0; j < kMany; ++j) values[j] = Activated(values[j], op.activation) * by[j];
    StoreMany<T, kMany>(values, static_cast<Stored*>(op.out) + row + i);
  }
}
