// SPDX-License-Identifier: MIT
// cuda/ops_cuda.cu: the kernels (kernels/*.inl) compiled by nvcc. hip/ops_hip.hip.cc is the same
// for HIP.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "cuda/ops_cuda.h"
#include "kernels/portable.h"
#include "model/float16.h"

namespace rankfeed::handoff {
namespace {

#include "kernels/kernels.inl"

// What launching said; errors inside a kernel come out of a later event or synchronization.
inline int32_t Launched() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaErrorMemoryAllocation ? -2 : static_cast<int32_t>(error);
}
#define RF_LAUNCH(kernel, x, y, threads, shared_floats, stream, ...)                          \
  (CudaSelect(at->ctx) != 0 ? -3                                                              \
                            : (kernel<<<dim3(x, y), threads, (shared_floats) * sizeof(float), \
                                        static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__),    \
                               Launched()))

inline int32_t VendorGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  return CudaGemm(at, op);
}
inline void DescribeGemm(void* ctx, char* out, uint64_t capacity) {
  CudaDescribeGemm(ctx, out, capacity);
}
inline uint64_t GemmScratch(void* ctx) {
  return CudaGemmScratch(ctx);
}

#include "kernels/ops_device.inl"

}  // namespace

const rankfeed_gpu_ops* CudaOps() {
  return &kDeviceOps;
}

}  // namespace rankfeed::handoff
