// SPDX-License-Identifier: MIT
// cuda/ops_cuda.h: what the files of the CUDA backend share.
#ifndef RANKFEED_GPU_HANDOFF_CUDA_OPS_CUDA_H_
#define RANKFEED_GPU_HANDOFF_CUDA_OPS_CUDA_H_

#include <cstdint>

#include "forward/ops.h"

namespace rankfeed::handoff {

const rankfeed_gpu_ops* CudaOps();  // ops_cuda.cu
// backend_cuda.cc: makes the context's device current; its index.
int32_t CudaSelect(void* ctx);
int CudaDevice(void* ctx);

// gemm_cublaslt.cc. out = x w^T by cuBLASLt, -1000 when the library is not there.
int32_t CudaGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op);
void CudaDescribeGemm(void* ctx, char* out, uint64_t capacity);
uint64_t CudaGemmScratch(void* ctx);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CUDA_OPS_CUDA_H_
