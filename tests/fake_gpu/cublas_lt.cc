// SPDX-License-Identifier: MIT
// cublas_lt.cc: the functions of cuBLASLt that the CUDA backend looks up, over matmul.h. A library
// of its own, named as the real one.
#include <cublasLt.h>

#include <cstring>

#include "fake_gpu/matmul.h"

namespace {

using fake_gpu::Call;
using fake_gpu::Code;
using fake_gpu::Safety;

cublasStatus_t StatusOf(Code code) {
  switch (code) {
    case Code::kOk:
      return CUBLAS_STATUS_SUCCESS;
    case Code::kInvalidValue:
    case Code::kInvalidHandle:
      return CUBLAS_STATUS_INVALID_VALUE;
    case Code::kInjected:
      return static_cast<cublasStatus_t>(fake_gpu::Options().fail_error);
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}
template <class Body>
cublasStatus_t Do(const char* name, const Body& body) {
  return StatusOf(Call(name, Safety::kSafe, [&]() -> Code { return body(); }));
}

template <class To, class From>
To* As(From* from) {
  return reinterpret_cast<To*>(from);
}
template <class To, class From>
const To& Ref(const From* from) {
  return *reinterpret_cast<const To*>(from);
}

fake_gpu::Element ElementOf(cudaDataType type) {
  return type == CUDA_R_16F    ? fake_gpu::Element::kF16
         : type == CUDA_R_16BF ? fake_gpu::Element::kBf16
                               : fake_gpu::Element::kF32;
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() {
  return 130000;
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  return Do("LtCreate", [&] {
    *out = As<cublasLtContext>(fake_gpu::NewHandle());
    return Code::kOk;
  });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return Do("LtDestroy", [&] {
    return fake_gpu::DestroyObject(As<fake_gpu::Handle>(handle), "handle") ? Code::kOk
                                                                           : Code::kInvalidValue;
  });
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return Do("LtMatmulDescCreate", [&] {
    fake_gpu::Description* made = fake_gpu::NewDescription();
    made->float_sums = compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F;
    *out = As<cublasLtMatmulDescOpaque_t>(made);
    return Code::kOk;
  });
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return Do("LtMatmulDescDestroy", [&] {
    return fake_gpu::DestroyObject(As<fake_gpu::Description>(description), "description")
               ? Code::kOk
               : Code::kInvalidValue;
  });
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  return Do("LtMatmulDescSetAttribute", [&] {
    if (attribute != CUBLASLT_MATMUL_DESC_TRANSA || bytes != sizeof(cublasOperation_t))
      return Code::kInvalidValue;
    As<fake_gpu::Description>(description)->transpose_w =
        *static_cast<const cublasOperation_t*>(value) == CUBLAS_OP_T;
    return Code::kOk;
  });
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  return Do("LtMatrixLayoutCreate", [&] {
    *out = As<cublasLtMatrixLayoutOpaque_t>(
        fake_gpu::NewLayout(ElementOf(type), rows, columns, stride));
    return Code::kOk;
  });
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return Do("LtMatrixLayoutDestroy", [&] {
    return fake_gpu::DestroyObject(As<fake_gpu::Layout>(layout), "layout") ? Code::kOk
                                                                           : Code::kInvalidValue;
  });
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  return Do("LtMatmulPreferenceCreate", [&] {
    *out = As<cublasLtMatmulPreferenceOpaque_t>(fake_gpu::NewPreference());
    return Code::kOk;
  });
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Do("LtMatmulPreferenceDestroy", [&] {
    return fake_gpu::DestroyObject(As<fake_gpu::Preference>(preference), "preference")
               ? Code::kOk
               : Code::kInvalidValue;
  });
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return Do("LtMatmulPreferenceSetAttribute", [&] {
    auto* const to = As<fake_gpu::Preference>(preference);
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(uint64_t)) {
      std::memcpy(&to->workspace, value, bytes);
    } else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
               bytes == sizeof(uint32_t)) {
      std::memcpy(&to->reductions, value, bytes);
    } else {
      return Code::kInvalidValue;
    }
    return Code::kOk;
  });
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t w, cublasLtMatrixLayout_t x,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t out,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  return Do("LtMatmulAlgoGetHeuristic", [&] {
    fake_gpu::Algorithm algorithm;
    static_assert(sizeof algorithm <= sizeof results[0].algo);
    *found = 0;
    if (wanted >= 1 &&
        fake_gpu::Choose(Ref<fake_gpu::Description>(description), Ref<fake_gpu::Layout>(w),
                         Ref<fake_gpu::Layout>(x), Ref<fake_gpu::Layout>(out),
                         Ref<fake_gpu::Preference>(preference), &algorithm)) {
      std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
      results[0].workspaceSize = algorithm.workspace;
      results[0].state = CUBLAS_STATUS_SUCCESS;
      *found = 1;
    }
    return Code::kOk;
  });
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* w_at, cublasLtMatrixLayout_t w,
                              const void* x_at, cublasLtMatrixLayout_t x, const void* beta,
                              const void* out_in, cublasLtMatrixLayout_t, void* out_at,
                              cublasLtMatrixLayout_t out, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  return Do("LtMatmul", [&] {
    fake_gpu::Product product{As<fake_gpu::Handle>(handle),
                              As<fake_gpu::Description>(description),
                              As<fake_gpu::Layout>(w),
                              As<fake_gpu::Layout>(x),
                              As<fake_gpu::Layout>(out),
                              w_at,
                              x_at,
                              out_in,
                              out_at,
                              {},
                              workspace,
                              workspace_bytes,
                              *static_cast<const float*>(alpha),
                              *static_cast<const float*>(beta)};
    std::memcpy(&product.algorithm, algorithm, sizeof product.algorithm);
    return fake_gpu::Multiply(product, reinterpret_cast<fake_gpu::Stream*>(stream));
  });
}

}  // extern "C"
