// SPDX-License-Identifier: MIT
// hip/ops_hip.h: what the files of the HIP backend share.
#ifndef RANKFEED_GPU_HANDOFF_HIP_OPS_HIP_H_
#define RANKFEED_GPU_HANDOFF_HIP_OPS_HIP_H_

#include <cstddef>
#include <cstdint>

#include "forward/ops.h"

namespace rankfeed::handoff {

const rankfeed_gpu_ops* HipOps();  // ops_hip.hip.cc

// backend_hip.cc. While one of these lives, the context's device is current on the calling thread
// and what a graph capture forbids other threads is allowed here; afterwards the thread is as it
// was.
class HipScope {
 public:
  explicit HipScope(void* ctx);
  ~HipScope();
  HipScope(const HipScope&) = delete;
  HipScope& operator=(const HipScope&) = delete;
  int32_t rc() const { return rc_; }  // 0 or why it could not be made current

 private:
  int32_t rc_;
  int device_, mode_;  // of before
  bool changed_ = false;
};
// An error number of the runtime as the backend reports it (backend.h); clears the error that the
// runtime keeps for the next caller, unless it is one that sticks.
int32_t HipFinish(int error);
void** HipGemmPlace(void* ctx);  // where the context keeps what gemm_hipblaslt.cc made

// hip_runtime.cc: the device's instruction set ("gfx90a:sramecc+:xnack-"), or which ROCm there is
// where that cannot be asked for.
void HipArchitecture(int device, char* out, size_t capacity);

// gemm_hipblaslt.cc. Open loads hipBLASLt and makes its handle; without it, or before, products are
// RANKFEED_GPU_TILED.
int32_t HipGemmOpen(void* ctx);
void HipGemmClose(void* ctx);
int32_t HipGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op);
void HipDescribeGemm(void* ctx, char* out, uint64_t capacity);
uint64_t HipGemmScratch(void* ctx);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_HIP_OPS_HIP_H_
