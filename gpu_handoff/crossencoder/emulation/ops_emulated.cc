// SPDX-License-Identifier: MIT
// crossencoder/emulation/ops_emulated.cc: see ops_emulated.h.
#include "crossencoder/emulation/ops_emulated.h"

#include <cmath>
#include <cstdio>
#include <type_traits>

#include "crossencoder/kernels/portable.h"
#include "crossencoder/model/float16.h"

namespace rankfeed::handoff {
namespace {

template <class... Parameters>
int32_t LaunchWarps(uint32_t lanes, void (*kernel)(Parameters...), uint32_t x, uint32_t y,
                    uint32_t threads, size_t shared_bytes, Parameters... values) {
  emulation::Run({x, y, threads, lanes, shared_bytes / sizeof(float)}, [&] { kernel(values...); });
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

// The kernels and their launches, for one width of a warp.
namespace warp32 {
#define RF_WARP 32u
template <class... Parameters>
int32_t LaunchKernel(const rankfeed_op_at*, void (*kernel)(Parameters...), uint32_t x, uint32_t y,
                     uint32_t threads, size_t shared_bytes, Parameters... values) {
  return LaunchWarps<Parameters...>(RF_WARP, kernel, x, y, threads, shared_bytes, values...);
}
#include "crossencoder/kernels/kernels.inl"
#include "crossencoder/kernels/ops_device.inl"
#undef RF_WARP
}  // namespace warp32
namespace warp64 {
#define RF_WARP 64u
template <class... Parameters>
int32_t LaunchKernel(const rankfeed_op_at*, void (*kernel)(Parameters...), uint32_t x, uint32_t y,
                     uint32_t threads, size_t shared_bytes, Parameters... values) {
  return LaunchWarps<Parameters...>(RF_WARP, kernel, x, y, threads, shared_bytes, values...);
}
#include "crossencoder/kernels/kernels.inl"
#include "crossencoder/kernels/ops_device.inl"
#undef RF_WARP
}  // namespace warp64

}  // namespace

const rankfeed_gpu_ops* EmulatedOps(uint32_t lanes) {
  return lanes == 64 ? &warp64::kDeviceOps : &warp32::kDeviceOps;
}

}  // namespace rankfeed::handoff
