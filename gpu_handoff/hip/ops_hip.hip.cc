// SPDX-License-Identifier: MIT
// hip/ops_hip.hip.cc: the kernels (kernels/*.inl) compiled by hipcc. cuda/ops_cuda.cu is the same
// for CUDA.
#include <hip/hip_runtime.h>
// After hip_runtime.h, which it needs.
#include <hip/hip_fp16.h>

#include <cmath>
#include <cstdint>

#include "hip/ops_hip.h"
#include "kernels/portable.h"
#include "model/float16.h"

namespace rankfeed::handoff {
namespace {

#include "kernels/kernels.inl"

// What launching said; errors inside a kernel come out of a later event or synchronization.
inline int32_t Launched() {
  const hipError_t error = hipGetLastError();
  return error == hipErrorOutOfMemory ? -2 : static_cast<int32_t>(error);
}
#define RF_LAUNCH(kernel, x, y, threads, shared_floats, stream, ...)                         \
  (HipSelect(at->ctx) != 0 ? -3                                                              \
                           : (kernel<<<dim3(x, y), threads, (shared_floats) * sizeof(float), \
                                       static_cast<hipStream_t>(stream)>>>(__VA_ARGS__),     \
                              Launched()))

inline int32_t VendorGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  return HipGemm(at, op);
}
inline void DescribeGemm(void* ctx, char* out, uint64_t capacity) {
  HipDescribeGemm(ctx, out, capacity);
}
inline uint64_t GemmScratch(void* ctx) {
  return HipGemmScratch(ctx);
}

#include "kernels/ops_device.inl"

}  // namespace

const rankfeed_gpu_ops* HipOps() {
  return &kDeviceOps;
}

}  // namespace rankfeed::handoff
