// SPDX-License-Identifier: MIT
// kernels/gemm.inl: out[m, n] = activation(x[m, k] w[n, k]^T + bias) in tiles, for devices and
// builds without a vendor's library, and bias with activation alone, for behind such a library.
//
// A block of 256 threads makes a 64 x 64 tile; every thread 4 x 4 of it. Both operands go through
// shared memory in steps of 16 columns, transposed, so that the inner loop reads rows of shared
// memory.

constexpr uint32_t kGemmThreads = 256, kGemmTile = 64, kGemmDepth = 16, kGemmEach = 4;
constexpr uint32_t kGemmStride = kGemmTile + 4;  // off the powers of two, against bank conflicts
constexpr uint32_t kGemmShared = 2 * kGemmDepth * kGemmStride;  // floats

RF_DEVICE float Activated(float value, uint32_t activation) {
  if (activation == RANKFEED_GPU_GELU) return 0.5f * value * erfcf(value * -0.70710678118654752f);
  if (activation == RANKFEED_GPU_TANH) return tanhf(value);
  return value;
}

template <class T>
RF_KERNEL(kGemmThreads)
GemmKernel(rankfeed_op_gemm op) {
  RF_SHARED(shared);
  using Stored = typename T::Stored;
  const Stored* const x = static_cast<const Stored*>(op.x);
  const Stored* const w = static_cast<const Stored*>(op.w);
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
      a[d * kGemmStride + r] = in && row + r < op.m
                                   ? T::Load(x + static_cast<uint64_t>(row + r) * op.k + depth + d)
                                   : 0.0f;
      b[d * kGemmStride + r] =
          in && column + r < op.n
              ? T::Load(w + static_cast<uint64_t>(column + r) * op.k + depth + d)
              : 0.0f;
    }
    RF_SYNC();
    for (uint32_t d = 0; d < kGemmDepth; ++d) {
      float left[kGemmEach], right[kGemmEach];
      for (uint32_t i = 0; i < kGemmEach; ++i) {
        left[i] = a[d * kGemmStride + ty * kGemmEach + i];
        right[i] = b[d * kGemmStride + tx * kGemmEach + i];
      }
      for (uint32_t i = 0; i < kGemmEach; ++i) {
        for (uint32_t j = 0; j < kGemmEach; ++j) sum[i][j] += left[i] * right[j];
      }
    }
  }
  for (uint32_t i = 0; i < kGemmEach; ++i) {
    const uint32_t r = row + ty * kGemmEach + i;
    for (uint32_t j = 0; j < kGemmEach; ++j) {
      const uint32_t c = column + tx * kGemmEach + j;
      if (r < op.m && c < op.n) {
        T::Store(Activated(sum[i][j] + op.bias[c], op.activation),
                 static_cast<Stored*>(op.out) + static_cast<uint64_t>(r) * op.n + c);
      }
    }
  }
}

// out = activation(out + bias), one block per row.
template <class T>
RF_KERNEL(kThreads)
BiasKernel(rankfeed_op_gemm op) {
  typename T::Stored* const out =
      static_cast<typename T::Stored*>(op.out) + static_cast<uint64_t>(RF_BLOCK_X) * op.n;
  for (uint32_t i = RF_THREAD; i < op.n; i += RF_THREADS) {
    T::Store(Activated(T::Load(out + i) + op.bias[i], op.activation), out + i);
  }
}
