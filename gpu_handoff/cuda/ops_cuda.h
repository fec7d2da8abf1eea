// SPDX-License-Identifier: MIT
// cuda/ops_cuda.h: what the files of the CUDA backend share.
#ifndef RANKFEED_GPU_HANDOFF_CUDA_OPS_CUDA_H_
#define RANKFEED_GPU_HANDOFF_CUDA_OPS_CUDA_H_

#include <cstdint>

#include "forward/ops.h"

namespace rankfeed::handoff {

const rankfeed_gpu_ops* CudaOps();  // ops_cuda.cu

// backend_cuda.cc. While one of these lives, the context's device is current on the calling thread
// and what a graph capture forbids other threads is allowed here; afterwards the thread is as it
// was.
class CudaScope {
 public:
  explicit CudaScope(void* ctx);
  ~CudaScope();
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;
  int32_t rc() const { return rc_; }  // 0 or why it could not be made current

 private:
  void* ctx_;
  int32_t rc_;
  int mode_;  // the capture mode of before
};
// An error number of the runtime as the backend reports it (backend.h); clears the error that the
// runtime keeps for the next caller, unless it is one that sticks.
int32_t CudaFinish(int error);
void** CudaGemmPlace(void* ctx);  // where the context keeps what gemm_cublaslt.cc made

// gemm_cublaslt.cc. Open loads cuBLASLt and makes its handle; without it, or before, products are
// RANKFEED_GPU_TILED.
int32_t CudaGemmOpen(void* ctx);
void CudaGemmClose(void* ctx);
int32_t CudaGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op);
void CudaDescribeGemm(void* ctx, char* out, uint64_t capacity);
uint64_t CudaGemmScratch(void* ctx);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CUDA_OPS_CUDA_H_
