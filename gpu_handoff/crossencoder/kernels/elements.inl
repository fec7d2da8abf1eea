// SPDX-License-Identifier: MIT
// kernels/elements.inl: element types of weights and activations, and sums over a block. Kernels
// compute in float and touch elements through Load and Store only.

struct F32 {
  using Stored = float;
  RF_DEVICE_MEMBER float Load(const Stored* at) { return *at; }
  RF_DEVICE_MEMBER void Store(float value, Stored* at) { *at = value; }
};
struct F16 {
  using Stored = uint16_t;
#if defined(__CUDACC__) || defined(__HIPCC__)
  // One instruction each; the portable conversion gives the same bits.
  RF_DEVICE_MEMBER float Load(const Stored* at) {
    return __half2float(__ushort_as_half(*at));
  }
  RF_DEVICE_MEMBER void Store(float value, Stored* at) {
    *at = __half_as_ushort(__float2half_rn(value));
  }
#else
  RF_DEVICE_MEMBER float Load(const Stored* at) {
    return FloatOfF16(*at);
  }
  RF_DEVICE_MEMBER void Store(float value, Stored* at) {
    *at = F16OfFloat(value);
  }
#endif
};
struct Bf16 {
  using Stored = uint16_t;
  RF_DEVICE_MEMBER float Load(const Stored* at) { return FloatOfBf16(*at); }
  RF_DEVICE_MEMBER void Store(float value, Stored* at) { *at = Bf16OfFloat(value); }
};

// Threads of every block but the GEMM's. A power of two: BlockSum halves it.
constexpr uint32_t kThreads = 128;

// The sum of value over the block, in every thread; scratch[kThreads]. The order of additions is
// fixed, so the sum is the same in every run; devices may still differ in the last bit of what
// they add, by fused multiply-adds and their own exp and erfc.
RF_DEVICE float BlockSum(float value, RF_SHARED_POINTER(float) scratch) {
  RF_SYNC();  // scratch may still be read from before
  scratch[RF_THREAD] = value;
  for (uint32_t half = RF_THREADS / 2; half > 0; half /= 2) {
    RF_SYNC();
    if (RF_THREAD < half) scratch[RF_THREAD] += scratch[RF_THREAD + half];
  }
  RF_SYNC();
  return scratch[0];
}

// The number of set flags of this thread and those before it, and of the whole block in *total.
// scratch[2 * kThreads]. The halves change roles in each of the 7 steps, so the answer is read from
// the second one, and the next call may write the first one at once.
static_assert(kThreads == 128);
RF_DEVICE int32_t BlockCount(bool flag, RF_SHARED_POINTER(int32_t) scratch, int32_t* total) {
  RF_SHARED_POINTER(int32_t) from = scratch;
  RF_SHARED_POINTER(int32_t) to = scratch + RF_THREADS;
  from[RF_THREAD] = flag ? 1 : 0;
  for (uint32_t step = 1; step < RF_THREADS; step *= 2) {
    RF_SYNC();
    to[RF_THREAD] = from[RF_THREAD] + (RF_THREAD >= step ? from[RF_THREAD - step] : 0);
    RF_SHARED_POINTER(int32_t) const swap = from;
    from = to;
    to = swap;
  }
  RF_SYNC();
  *total = from[RF_THREADS - 1];
  return from[RF_THREAD];
}
