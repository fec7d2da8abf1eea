// SPDX-License-Identifier: MIT
// hip/ops_hip.h: what the files of the HIP backend share.
#ifndef RANKFEED_GPU_HANDOFF_HIP_OPS_HIP_H_
#define RANKFEED_GPU_HANDOFF_HIP_OPS_HIP_H_

#include <cstdint>

#include "forward/ops.h"

namespace rankfeed::handoff {

const rankfeed_gpu_ops* HipOps();  // ops_hip.hip.cc
// backend_hip.cc: makes the context's device current; its index.
int32_t HipSelect(void* ctx);
int HipDevice(void* ctx);

// gemm_hipblaslt.cc. out = x w^T by hipBLASLt, -1000 when the library is not there.
int32_t HipGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op);
void HipDescribeGemm(void* ctx, char* out, uint64_t capacity);
uint64_t HipGemmScratch(void* ctx);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_HIP_OPS_HIP_H_
