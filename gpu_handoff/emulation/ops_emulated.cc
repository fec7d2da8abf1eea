// SPDX-License-Identifier: MIT
// emulation/ops_emulated.cc: see ops_emulated.h.
#include "emulation/ops_emulated.h"

#include <cmath>
#include <cstdio>

#include "kernels/portable.h"
#include "model/float16.h"

namespace rankfeed::handoff {
namespace {

#include "kernels/kernels.inl"

// Parentheses around a kernel with commas in its arguments do no harm.
#define RF_LAUNCH(kernel, x, y, threads, shared_floats, stream, ...) \
  (static_cast<void>(stream),                                        \
   emulation::Run(x, y, threads, shared_floats, [&] { (kernel)(__VA_ARGS__); }), 0)

int32_t VendorGemm(const rankfeed_op_at*, const rankfeed_op_gemm*) {
  return -1000;
}
void DescribeGemm(void*, char* out, uint64_t capacity) {
  std::snprintf(out, capacity, "tiled, emulated");
}
uint64_t GemmScratch(void*) {
  return 0;
}

#include "kernels/ops_device.inl"

}  // namespace

const rankfeed_gpu_ops* EmulatedOps() {
  return &kDeviceOps;
}

}  // namespace rankfeed::handoff
