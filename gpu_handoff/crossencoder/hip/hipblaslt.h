// SPDX-License-Identifier: MIT
// crossencoder/hip/hipblaslt.h: what kernels/lt_gemm.h asks of a vendor's library, of hipBLASLt:
// found with dlopen when a model is opened.
//
// Debian has no headers of hipBLASLt, so what is used of its interface is declared here: names,
// numbers and layouts as documented for hipBLASLt 0.6 (ROCm 6.0) and later, up to ROCm 7
// (hipblaslt.h, hipblas-common.h). Before 0.6 the element types had other numbers: refused.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HIP_HIPBLASLT_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HIP_HIPBLASLT_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "crossencoder/kernels/lt_gemm.h"
#include "crossencoder/ops.h"
#include "symbols.h"

namespace rankfeed::handoff {

struct VendorLt {
  using Status = int;
  using Handle = void*;
  using Description = void*;
  using Layout = void*;
  using Preference = void*;
  struct Algorithm {
    uint8_t data[16];
    size_t max_workspace_bytes;
  };
  struct Result {
    Algorithm algo;
    size_t workspace_bytes;
    Status state;
    float waves;
    int reserved[4];
  };
  static_assert(sizeof(Result) == 56);
  static constexpr const char* kName = "hipBLASLt";
  static constexpr Status kSuccess = 0;       // HIPBLAS_STATUS_SUCCESS
  static constexpr int kSumsInFloat = 2;      // HIPBLAS_COMPUTE_32F
  static constexpr int kFloat = 0;            // HIP_R_32F
  static constexpr int kTransposeFirst = 0;   // HIPBLASLT_MATMUL_DESC_TRANSA
  static constexpr int32_t kTranspose = 112;  // HIPBLAS_OP_T
  static constexpr int kMaxWorkspace = 1;     // HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
  static constexpr int kFirstVersion = 600;   // 0.6.0

  Status (*Create)(Handle*);
  Status (*Destroy)(Handle);
  Status (*MatmulDescCreate)(Description*, int compute, int scale);
  Status (*MatmulDescDestroy)(Description);
  Status (*MatmulDescSetAttribute)(Description, int attribute, const void*, size_t);
  Status (*MatrixLayoutCreate)(Layout*, int type, uint64_t rows, uint64_t columns, int64_t stride);
  Status (*MatrixLayoutDestroy)(Layout);
  Status (*MatmulPreferenceCreate)(Preference*);
  Status (*MatmulPreferenceDestroy)(Preference);
  Status (*MatmulPreferenceSetAttribute)(Preference, int attribute, const void*, size_t);
  Status (*MatmulAlgoGetHeuristic)(Handle, Description, Layout, Layout, Layout, Layout, Preference,
                                   int wanted, Result*, int* found);
  Status (*Matmul)(Handle, Description, const void* alpha, const void* a, Layout, const void* b,
                   Layout, const void* beta, const void* c, Layout, void* d, Layout,
                   const Algorithm*, void* workspace, size_t workspace_bytes, void* stream);
  Status (*GetVersion)(Handle, int*);

  bool Load() {
    void* library = dlopen("libhipblaslt.so.1", RTLD_NOW | RTLD_LOCAL);  // ROCm 7
    if (library == nullptr) library = dlopen("libhipblaslt.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    Handle handle = nullptr;
#define RANKFEED_LT_FIND(name) &&FindSymbol(library, "hipblasLt" #name, &name)
    if (!(true RANKFEED_LT_FUNCTIONS(RANKFEED_LT_FIND)) || Create(&handle) != kSuccess)
      return false;
#undef RANKFEED_LT_FIND
    const bool known = Version(handle) >= kFirstVersion;
    (void)Destroy(handle);
    return known;
  }
  int Version(Handle handle) const {
    int number = 0;
    return GetVersion(handle, &number) == kSuccess ? number : 0;
  }
  // HIP_R_16F, HIP_R_16BF, HIP_R_32F.
  static int TypeOf(uint32_t dtype) {
    return dtype == RANKFEED_DTYPE_F16 ? 2 : dtype == RANKFEED_DTYPE_BF16 ? 14 : 0;
  }
  static void* StreamOf(void* stream) {
    return stream;
  }
  // It has no choice of reductions: sums are of the compute type.
  static bool KeepSumsInFloat(Preference) {
    return true;
  }
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HIP_HIPBLASLT_H_
