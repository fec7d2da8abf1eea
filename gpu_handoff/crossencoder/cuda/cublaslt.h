// SPDX-License-Identifier: MIT
// crossencoder/cuda/cublaslt.h: what kernels/lt_gemm.h asks of a vendor's library, of cuBLASLt
// (tensor cores): found with dlopen when a model is opened, because the library is half a gigabyte
// and not on every machine.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_CUDA_CUBLASLT_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_CUDA_CUBLASLT_H_

#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdio>
#include <type_traits>

#include "crossencoder/ops.h"

namespace rankfeed::handoff {

struct VendorLt {
  using Handle = cublasLtHandle_t;
  using Description = cublasLtMatmulDesc_t;
  using Layout = cublasLtMatrixLayout_t;
  using Preference = cublasLtMatmulPreference_t;
  using Algorithm = cublasLtMatmulAlgo_t;
  using Result = cublasLtMatmulHeuristicResult_t;
  static constexpr const char* kName = "cuBLASLt";
  static constexpr auto kSuccess = CUBLAS_STATUS_SUCCESS;
  // No TF32, which would lose float32's bound against the host.
  static constexpr auto kSumsInFloat = CUBLAS_COMPUTE_32F;
  static constexpr auto kFloat = CUDA_R_32F;
  static constexpr auto kTransposeFirst = CUBLASLT_MATMUL_DESC_TRANSA;
  static constexpr auto kTranspose = CUBLAS_OP_T;
  static constexpr auto kMaxWorkspace = CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;

  decltype(&cublasLtCreate) Create;
  decltype(&cublasLtDestroy) Destroy;
  decltype(&cublasLtMatmulDescCreate) DescriptionCreate;
  decltype(&cublasLtMatmulDescDestroy) DescriptionDestroy;
  decltype(&cublasLtMatmulDescSetAttribute) DescriptionSet;
  decltype(&cublasLtMatrixLayoutCreate) LayoutCreate;
  decltype(&cublasLtMatrixLayoutDestroy) LayoutDestroy;
  decltype(&cublasLtMatmulPreferenceCreate) PreferenceCreate;
  decltype(&cublasLtMatmulPreferenceDestroy) PreferenceDestroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) PreferenceSet;
  decltype(&cublasLtMatmulAlgoGetHeuristic) Heuristic;
  decltype(&cublasLtMatmul) Multiply;
  decltype(&cublasLtGetVersion) version;

  bool Load() {
    char name[32];
    std::snprintf(name, sizeof name, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays for the life of the process
    if (library == nullptr) return false;
    const auto find = [library](auto* function, const char* symbol) {
      *function =
          reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
      return *function != nullptr;
    };
    return find(&Create, "cublasLtCreate") && find(&Destroy, "cublasLtDestroy") &&
           find(&DescriptionCreate, "cublasLtMatmulDescCreate") &&
           find(&DescriptionDestroy, "cublasLtMatmulDescDestroy") &&
           find(&DescriptionSet, "cublasLtMatmulDescSetAttribute") &&
           find(&LayoutCreate, "cublasLtMatrixLayoutCreate") &&
           find(&LayoutDestroy, "cublasLtMatrixLayoutDestroy") &&
           find(&PreferenceCreate, "cublasLtMatmulPreferenceCreate") &&
           find(&PreferenceDestroy, "cublasLtMatmulPreferenceDestroy") &&
           find(&PreferenceSet, "cublasLtMatmulPreferenceSetAttribute") &&
           find(&Heuristic, "cublasLtMatmulAlgoGetHeuristic") &&
           find(&Multiply, "cublasLtMatmul") && find(&version, "cublasLtGetVersion");
  }
  int Version(Handle) const { return static_cast<int>(version()); }
  static cudaDataType_t TypeOf(uint32_t dtype) {
    return dtype == RANKFEED_DTYPE_F16    ? CUDA_R_16F
           : dtype == RANKFEED_DTYPE_BF16 ? CUDA_R_16BF
                                          : CUDA_R_32F;
  }
  static cudaStream_t StreamOf(void* stream) { return static_cast<cudaStream_t>(stream); }
  // Sums of parts of k may be added in the output's type otherwise, and half types lose bits there.
  bool KeepSumsInFloat(Preference preference) const {
    const uint32_t schemes =
        CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    return PreferenceSet(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
                         sizeof schemes) == kSuccess;
  }
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_CUDA_CUBLASLT_H_
