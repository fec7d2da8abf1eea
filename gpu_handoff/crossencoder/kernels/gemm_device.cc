// SPDX-License-Identifier: MIT
// crossencoder/kernels/gemm_device.cc: see gemm_device.h. Compiled once for each vendor.
#include "crossencoder/kernels/gemm_device.h"

#include <cstdio>
#include <new>

#include "backends/device/device.h"
#include "crossencoder/kernels/lt_gemm.h"
#if defined(RANKFEED_GPU_VENDOR_CUDA)
#include "crossencoder/cuda/cublaslt.h"
#elif defined(RANKFEED_GPU_VENDOR_HIP)
#include "crossencoder/hip/hipblaslt.h"
#else
#error "no matrix library is known for this vendor"
#endif

namespace rankfeed::handoff {
namespace {

using Gemm = LtGemm<VendorLt>;

Gemm* GemmOf(void* ctx) {
  return static_cast<Gemm*>(AttachedTo(ctx).object);
}

void Close(void* ctx) {
  const DeviceScope scope(ctx);
  delete GemmOf(ctx);
  AttachedTo(ctx) = {};
}

}  // namespace

int32_t OpenDeviceGemm(void* ctx) {
  Attachment& attached = AttachedTo(ctx);
  if (attached.object != nullptr) return RANKFEED_GPU_OK;
  auto* const made = new (std::nothrow) Gemm;
  if (made == nullptr) return RANKFEED_GPU_NO_MEMORY;
  attached = {made, Close};
  const DeviceScope scope(ctx);
  return scope.rc() != RANKFEED_GPU_OK ? scope.rc() : made->Open();
}

int32_t DeviceGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  Gemm* const gemm = GemmOf(at->ctx);
  if (gemm == nullptr) return RANKFEED_GPU_TILED;
  const DeviceScope scope(at->ctx);
  return scope.rc() != RANKFEED_GPU_OK ? scope.rc() : gemm->Multiply(*at, *op);
}

void DescribeDeviceGemm(void* ctx, char* out, uint64_t capacity) {
  Gemm* const gemm = GemmOf(ctx);
  if (gemm == nullptr) {
    std::snprintf(out, capacity, "tiled kernel (no model was opened)");
  } else {
    gemm->Describe(out, capacity);
  }
}

uint64_t DeviceGemmScratch(void* ctx) {
  Gemm* const gemm = GemmOf(ctx);
  return gemm == nullptr ? 0 : gemm->Scratch();
}

}  // namespace rankfeed::handoff
