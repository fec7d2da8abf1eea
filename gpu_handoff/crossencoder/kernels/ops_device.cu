// SPDX-License-Identifier: MIT
// crossencoder/kernels/ops_device.cu: the kernels (*.inl) compiled by nvcc and by hipcc.
#if defined(RANKFEED_GPU_VENDOR_HIP)
#include <hip/hip_runtime.h>
// After hip_runtime.h, which it needs.
#include <hip/hip_fp16.h>
#else
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif
#if defined(__CUDACC__)  // HIP on NVIDIA too
#include <cuda_bf16.h>
#include <mma.h>
#endif

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "backends/device/device.h"
#include "backends/device/vendor.h"
#include "crossencoder/kernels/gemm_device.h"
#include "crossencoder/kernels/portable.h"
#include "crossencoder/model/float16.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

#include "crossencoder/kernels/kernels.inl"

// The launch's own answer, not the last error of the thread, which may be another's.
template <class... Parameters>
int32_t LaunchKernel(const rankfeed_op_at* at, void (*kernel)(Parameters...), uint32_t x,
                     uint32_t y, uint32_t threads, size_t shared_bytes, Parameters... values) {
  const DeviceScope scope(at->ctx);
  if (scope.rc() != 0) return scope.rc();
  void* arguments[] = {&values...};
  return DeviceFinish(RANKFEED_VENDOR_NAME(LaunchKernel)(reinterpret_cast<const void*>(kernel), dim3(x, y),
                                           dim3(threads), arguments, shared_bytes,
                                           static_cast<vendor::Stream>(at->stream)));
}
inline int32_t OpenGemm(void* ctx) {
  return OpenDeviceGemm(ctx);
}
inline int32_t VendorGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  return DeviceGemm(at, op);
}
inline void DescribeGemm(void* ctx, char* out, uint64_t capacity) {
  DescribeDeviceGemm(ctx, out, capacity);
}
inline uint64_t GemmScratch(void* ctx) {
  return DeviceGemmScratch(ctx);
}

#include "crossencoder/kernels/ops_device.inl"

}  // namespace

const rankfeed_gpu_ops* DeviceOps() {
  return &kDeviceOps;
}

}  // namespace rankfeed::handoff
