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

// The launch's own answer, not the last error of the thread, which may be another's.
template <class... Parameters>
int32_t LaunchKernel(const rankfeed_op_at* at, void (*kernel)(Parameters...), uint32_t x,
                     uint32_t y, uint32_t threads, size_t shared_bytes, Parameters... values) {
  const CudaScope scope(at->ctx);
  if (scope.rc() != 0) return scope.rc();
  void* arguments[] = {&values...};
  return CudaFinish(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(x, y),
                                     dim3(threads), arguments, shared_bytes,
                                     static_cast<cudaStream_t>(at->stream)));
}
inline int32_t OpenGemm(void* ctx) {
  return CudaGemmOpen(ctx);
}
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
