// SPDX-License-Identifier: MIT
// crossencoder/cuda/cublaslt.h: what kernels/lt_gemm.h asks of a vendor's library, of cuBLASLt
// (tensor cores): found with dlopen when a model is opened, because the library is half a gigabyte
// and not on every machine.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_CUDA_CUBLASLT_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_CUDA_CUBLASLT_H_

#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdio>

#include "crossencoder/kernels/lt_gemm.h"
#include "crossencoder/ops.h"
#include "symbols.h"

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

#define RANKFEED_LT_MEMBER(name) decltype(&cublasLt##name) name;
  RANKFEED_LT_FUNCTIONS(RANKFEED_LT_MEMBER)
#undef RANKFEED_LT_MEMBER

  bool Load() {
    char file[32];
    std::snprintf(file, sizeof file, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // stays for the life of the process
    if (library == nullptr) return false;
#define RANKFEED_LT_FIND(name) &&FindSymbol(library, "cublasLt" #name, &name)
    return true RANKFEED_LT_FUNCTIONS(RANKFEED_LT_FIND);
#undef RANKFEED_LT_FIND
  }
  int Version(Handle) const {
    return static_cast<int>(GetVersion());
  }
  static cudaDataType_t TypeOf(uint32_t dtype) {
    return dtype == RANKFEED_DTYPE_F16    ? CUDA_R_16F
           : dtype == RANKFEED_DTYPE_BF16 ? CUDA_R_16BF
                                          : CUDA_R_32F;
  }
  static cudaStream_t StreamOf(void* stream) {
    return static_cast<cudaStream_t>(stream);
  }
  // Sums of parts of k may be added in the output's type otherwise, and half types lose bits there.
  bool KeepSumsInFloat(Preference preference) const {
    const uint32_t schemes =
        CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    return MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                        &schemes, sizeof schemes) == kSuccess;
  }
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_CUDA_CUBLASLT_H_
