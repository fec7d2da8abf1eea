// SPDX-License-Identifier: MIT
// cuda/gemm_cublaslt.cc: matrix products by cuBLASLt (tensor cores), found with dlopen when a model
// is first used, because the library is half a gigabyte and not on every machine. Without it the
// tiled kernel does the work. hip/gemm_hipblaslt.cc is the same file over hipBLASLt.
//
// Row-major out[m, n] = x[m, k] w[n, k]^T is column-major out[n, m] = op(w)[n, k] x[k, m] with op
// the transpose and leading dimensions k, k, n. The heuristic's choice is kept per shape.
#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <tuple>

#include "cuda/ops_cuda.h"

namespace rankfeed::handoff {
namespace {

constexpr int32_t kNoLibrary = -1000;
constexpr uint64_t kScratch =
    32u << 20;  // what cuBLAS itself takes on sm_90 (cuBLAS guide, workspace)

#define RANKFEED_LT_FUNCTIONS(X)                                                     \
  X(cublasLtCreate)                                                                  \
  X(cublasLtMatmul) X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescSetAttribute)    \
      X(cublasLtMatrixLayoutCreate) X(cublasLtMatmulPreferenceCreate)                \
          X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute) \
              X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmulDescDestroy)         \
                  X(cublasLtMatrixLayoutDestroy) X(cublasLtGetVersion)

struct Library {
#define RANKFEED_LT_MEMBER(name) decltype(&::name) name = nullptr;
  RANKFEED_LT_FUNCTIONS(RANKFEED_LT_MEMBER)
#undef RANKFEED_LT_MEMBER
  bool found = false;

  Library() {
    char name[32];
    std::snprintf(name, sizeof name, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    found = true;
#define RANKFEED_LT_LOAD(function)                                              \
  function = reinterpret_cast<decltype(&::function)>(dlsym(handle, #function)); \
  found = found && function != nullptr;
    RANKFEED_LT_FUNCTIONS(RANKFEED_LT_LOAD)
#undef RANKFEED_LT_LOAD
  }
};

const Library& Lt() {
  static const Library library;
  return library;
}

struct Plan {
  cublasLtMatmulDesc_t matmul = nullptr;
  cublasLtMatrixLayout_t w = nullptr, x = nullptr, out = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};
// Device, element type, m, n, k.
using Key = std::tuple<int, uint32_t, uint32_t, uint32_t, uint32_t>;

struct State {
  std::mutex mutex;
  std::map<int, cublasLtHandle_t> handles;  // per device; kept for the life of the process
  std::map<Key, Plan> plans;
};
State& TheState() {
  static State* const state = new State;  // never destroyed: the driver may be gone before
  return *state;
}

// Ragged batches have a new m each time; all plans go when there are this many (a few MB).
constexpr size_t kMaxPlans = 4096;

bool MakePlan(const Library& lt, cublasLtHandle_t handle, const rankfeed_op_gemm& op,
              uint64_t scratch, Plan* plan) {
  const cudaDataType_t type = op.dtype == RANKFEED_DTYPE_F16    ? CUDA_R_16F
                              : op.dtype == RANKFEED_DTYPE_BF16 ? CUDA_R_16BF
                                                                : CUDA_R_32F;
  const cublasOperation_t transpose = CUBLAS_OP_T;
  // CUBLAS_COMPUTE_32F: no TF32, which would lose float32's bound against the host.
  if (lt.cublasLtMatmulDescCreate(&plan->matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F) !=
      CUBLAS_STATUS_SUCCESS)
    return false;
  if (lt.cublasLtMatmulDescSetAttribute(plan->matmul, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                        sizeof transpose) != CUBLAS_STATUS_SUCCESS ||
      lt.cublasLtMatrixLayoutCreate(&plan->w, type, op.k, op.n, op.k) != CUBLAS_STATUS_SUCCESS ||
      lt.cublasLtMatrixLayoutCreate(&plan->x, type, op.k, op.m, op.k) != CUBLAS_STATUS_SUCCESS ||
      lt.cublasLtMatrixLayoutCreate(&plan->out, type, op.n, op.m, op.n) != CUBLAS_STATUS_SUCCESS) {
    return false;
  }
  cublasLtMatmulPreference_t preference = nullptr;
  if (lt.cublasLtMatmulPreferenceCreate(&preference) != CUBLAS_STATUS_SUCCESS) return false;
  const size_t limit = scratch;
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const bool ok =
      lt.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &limit, sizeof limit) == CUBLAS_STATUS_SUCCESS &&
      lt.cublasLtMatmulAlgoGetHeuristic(handle, plan->matmul, plan->w, plan->x, plan->out,
                                        plan->out, preference, 1, &result,
                                        &found) == CUBLAS_STATUS_SUCCESS &&
      found > 0;
  (void)lt.cublasLtMatmulPreferenceDestroy(preference);
  plan->algorithm = result.algo;
  return ok;
}

void DestroyPlan(const Library& lt, const Plan& plan) {
  if (plan.matmul != nullptr) (void)lt.cublasLtMatmulDescDestroy(plan.matmul);
  for (cublasLtMatrixLayout_t layout : {plan.w, plan.x, plan.out}) {
    if (layout != nullptr) (void)lt.cublasLtMatrixLayoutDestroy(layout);
  }
}

}  // namespace

int32_t CudaGemm(const rankfeed_op_at* at, const rankfeed_op_gemm* op) {
  const Library& lt = Lt();
  if (!lt.found) return kNoLibrary;
  // Half types in 16-byte vectors; smaller shapes are the tiled kernel's.
  if (op->k % 8 != 0 || op->n % 8 != 0) return kNoLibrary;
  if (const int32_t rc = CudaSelect(at->ctx)) return rc;
  const int device = CudaDevice(at->ctx);
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  cublasLtHandle_t& handle = state.handles[device];
  if (handle == nullptr && lt.cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
    handle = nullptr;
    return kNoLibrary;
  }
  const Key key{device, op->dtype, op->m, op->n, op->k};
  auto found = state.plans.find(key);
  if (found == state.plans.end()) {
    if (state.plans.size() >= kMaxPlans) {
      for (const auto& [old, plan] : state.plans) DestroyPlan(lt, plan);
      state.plans.clear();
    }
    Plan plan;
    if (!MakePlan(lt, handle, *op, at->scratch_bytes, &plan)) {
      DestroyPlan(lt, plan);
      return kNoLibrary;
    }
    found = state.plans.emplace(key, plan).first;
  }
  const Plan& plan = found->second;
  const float one = 1.0f, zero = 0.0f;
  const cublasStatus_t status =
      lt.cublasLtMatmul(handle, plan.matmul, &one, op->w, plan.w, op->x, plan.x, &zero, op->out,
                        plan.out, op->out, plan.out, &plan.algorithm, at->scratch,
                        at->scratch_bytes, static_cast<cudaStream_t>(at->stream));
  return status == CUBLAS_STATUS_SUCCESS ? 0 : 100000 + static_cast<int32_t>(status);
}

void CudaDescribeGemm(void*, char* out, uint64_t capacity) {
  if (Lt().found) {
    std::snprintf(out, capacity, "cuBLASLt %zu", Lt().cublasLtGetVersion());
  } else {
    std::snprintf(out, capacity, "tiled kernel (no cuBLASLt)");
  }
}

uint64_t CudaGemmScratch(void*) {
  return Lt().found ? kScratch : 0;
}

}  // namespace rankfeed::handoff
