// SPDX-License-Identifier: MIT
// crossencoder/emulation/ops_emulated.cc: see ops_emulated.h.
#include "crossencoder/emulation/ops_emulated.h"

#include <cmath>
#include <cstdio>

#include "crossencoder/kernels/portable.h"
#include "crossencoder/model/float16.h"

namespace rankfeed::handoff {
namespace {

#include "crossencoder/kernels/kernels.inl"

template <class... Parameters>
int32_t LaunchKernel(const rankfeed_op_at*, void (*kernel)(Parameters...), uint32_t x, uint32_t y,
                     uint32_t threads, size_t shared_bytes, Parameters... values) {
  emulation::Run(x, y, threads, shared_bytes / sizeof(float), [&] { kernel(values...); });
  return 0;
}
int32_t OpenGemm(void*) {
  return 0;
}
int32_t VendorGemm(const rankfeed_op_at*, const rankfeed_op_gemm*) {
  return RANKFEED_GPU_TILED;
}
void DescribeGemm(void*, char* out, uint64_t capacity) {
  std::snprintf(out, capacity, "tiled, emulated");
}
uint64_t GemmScratch(void*) {
  return 0;
}

#include "crossencoder/kernels/ops_device.inl"

}  // namespace

const rankfeed_gpu_ops* EmulatedOps() {
  return &kDeviceOps;
}

}  // namespace rankfeed::handoff
