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

// The launch's own answer, not the last error of the thread, which may be another's.
template <class... Parameters>
int32_t LaunchKernel(const rankfeed_op_at* at, void (*kernel)(Parameters...), uint32_t x,
                     uint32_t y, uint32_t threads, size_t shared_bytes, Parameters... values) {
  const HipScope scope(at->ctx);
  if (scope.rc() != 0) return scope.rc();
  void* arguments[] = {&values...};
  return HipFinish(hipLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(x, y), dim3(threads),
                                   arguments, shared_bytes, static_cast<hipStream_t>(at->stream)));
}
inline int32_t OpenGemm(void* ctx) {
  return HipGemmOpen(ctx);
}
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
