// SPDX-License-Identifier: MIT
// hip/gemm_hipblaslt.cc: matrix products by hipBLASLt where its headers were found when this was
// built (RANKFEED_HAVE_HIPBLASLT; ROCm 5.5 and later, not in Debian 12), else none: the tiled
// kernel does the work. The mirror of cuda/gemm_cublaslt.cc, which explains the layout.
#include "hip/ops_hip.h"

#include <cstdio>

#ifdef RANKFEED_HAVE_HIPBLASLT
#include <hipblaslt/hipblaslt.h>

#include <map>
#include <mutex>
#endif

namespace rankfeed::handoff {
namespace {
constexpr int32_t kNoLibrary = -1000;
}  // namespace

#ifdef RANKFEED_HAVE_HIPBLASLT

namespace {

constexpr uint64_t kScratch = 32u << 20;

struct State {
  std::mutex mutex;
  std::map<int, hipblasLtHandle_t> handles;  // per device; kept for the life of the process
};
State& TheState() {
  static State* const state = new State;
  return *state;
}

}  // namespace

int32_t HipGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  if (op->k % 8 != 0 || op->n % 8 != 0) return kNoLibrary;
  if (const int32_t rc = HipSelect(at->ctx)) return rc;
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  hipblasLtHandle_t& handle = state.handles[HipDevice(at->ctx)];
  if (handle == nullptr && hipblasLtCreate(&handle) != HIPBLAS_STATUS_SUCCESS) {
    handle = nullptr;
    return kNoLibrary;
  }
  const auto type = op->dtype == RANKFEED_DTYPE_F16    ? HIP_R_16F
                    : op->dtype == RANKFEED_DTYPE_BF16 ? HIP_R_16BF
                                                       : HIP_R_32F;
  hipblasLtMatmulDesc_t matmul = nullptr;
  hipblasLtMatrixLayout_t w = nullptr, x = nullptr, out = nullptr;
  hipblasLtMatmulPreference_t preference = nullptr;
  const hipblasOperation_t transpose = HIPBLAS_OP_T;
  const uint64_t limit = at->scratch_bytes;
  hipblasLtMatmulHeuristicResult_t result{};
  int found = 0;
  int32_t rc = kNoLibrary;
  if (hipblasLtMatmulDescCreate(&matmul, HIPBLAS_COMPUTE_32F, HIP_R_32F) ==
          HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatmulDescSetAttribute(matmul, HIPBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                      sizeof transpose) == HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatrixLayoutCreate(&w, type, op->k, op->n, op->k) == HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatrixLayoutCreate(&x, type, op->k, op->m, op->k) == HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatrixLayoutCreate(&out, type, op->n, op->m, op->n) == HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatmulPreferenceCreate(&preference) == HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatmulPreferenceSetAttribute(preference, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &limit, sizeof limit) == HIPBLAS_STATUS_SUCCESS &&
      hipblasLtMatmulAlgoGetHeuristic(handle, matmul, w, x, out, out, preference, 1, &result,
                                      &found) == HIPBLAS_STATUS_SUCCESS &&
      found > 0) {
    const float one = 1.0f, zero = 0.0f;
    const auto status = hipblasLtMatmul(handle, matmul, &one, op->w, w, op->x, x, &zero, op->out,
                                        out, op->out, out, &result.algo, at->scratch,
                                        at->scratch_bytes, static_cast<hipStream_t>(at->stream));
    rc = status == HIPBLAS_STATUS_SUCCESS ? 0 : 100000 + static_cast<int32_t>(status);
  }
  if (preference != nullptr) (void)hipblasLtMatmulPreferenceDestroy(preference);
  for (hipblasLtMatrixLayout_t layout : {w, x, out}) {
    if (layout != nullptr) (void)hipblasLtMatrixLayoutDestroy(layout);
  }
  if (matmul != nullptr) (void)hipblasLtMatmulDescDestroy(matmul);
  return rc;
}

void HipDescribeGemm(void*, char* out, uint64_t capacity) {
  std::snprintf(out, capacity, "hipBLASLt");
}
uint64_t HipGemmScratch(void*) {
  return kScratch;
}

#else

int32_t HipGemm(const rankfeed_op_at*, const rankfeed_op_gemm*) {
  return kNoLibrary;
}
void HipDescribeGemm(void*, char* out, uint64_t capacity) {
  std::snprintf(out, capacity, "tiled kernel (no hipBLASLt)");
}
uint64_t HipGemmScratch(void*) {
  return 0;
}

#endif

}  // namespace rankfeed::handoff
