// SPDX-License-Identifier: MIT
// hipblas_lt.cc: the functions of hipBLASLt that the HIP backend looks up, over matmul.h. Written
// from the documented interface of hipBLASLt 0.6 and later (ROCm 6, ROCm 7), apart from what the
// backend declares of it: the numbers stand here once more.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fake_gpu/matmul.h"

namespace {

using fake_gpu::Call;
using fake_gpu::Code;
using fake_gpu::Safety;

enum Status : int { kSuccess = 0, kInvalidValue = 3, kExecutionFailed = 5 };  // hipblasStatus_t
enum DataType : int { kR32F = 0, kR16F = 2, kR16BF = 14 };                    // hipDataType
struct Algo {
  uint8_t data[16];
  size_t max_workspace_bytes;
};
struct HeuristicResult {
  Algo algo;
  size_t workspace_size;
  Status state;
  float waves_count;
  int reserved[4];
};

template <class Body>
Status Do(const char* name, const Body& body) {
  switch (Call(name, Safety::kSafe, [&]() -> Code { return body(); })) {
    case Code::kOk:
      return kSuccess;
    case Code::kInvalidValue:
    case Code::kInvalidHandle:
      return kInvalidValue;
    case Code::kInjected:
      return static_cast<Status>(fake_gpu::Options().fail_error);
    default:
      return kExecutionFailed;
  }
}
template <class Object>
Status DestroyIt(const char* name, Object* object, const char* what) {
  return Do(name, [&] {
    return fake_gpu::DestroyObject(object, what) ? Code::kOk : Code::kInvalidValue;
  });
}

}  // namespace

extern "C" {

Status hipblasLtGetVersion(void*, int* version) {
  *version = 1000;  // 0.10.0
  return kSuccess;
}
Status hipblasLtCreate(fake_gpu::Handle** out) {
  return Do("LtCreate", [&] {
    *out = fake_gpu::NewHandle();
    return Code::kOk;
  });
}
Status hipblasLtDestroy(fake_gpu::Handle* handle) {
  return DestroyIt("LtDestroy", handle, "handle");
}
Status hipblasLtMatmulDescCreate(fake_gpu::Description** out, int compute, int scale) {
  return Do("LtMatmulDescCreate", [&] {
    *out = fake_gpu::NewDescription();
    (*out)->float_sums = compute == 2 && scale == kR32F;  // HIPBLAS_COMPUTE_32F
    return Code::kOk;
  });
}
Status hipblasLtMatmulDescDestroy(fake_gpu::Description* description) {
  return DestroyIt("LtMatmulDescDestroy", description, "description");
}
Status hipblasLtMatmulDescSetAttribute(fake_gpu::Description* description, int attribute,
                                       const void* value, size_t bytes) {
  return Do("LtMatmulDescSetAttribute", [&] {
    // HIPBLASLT_MATMUL_DESC_TRANSA 0; HIPBLAS_OP_T 112
    if (attribute != 0 || bytes != sizeof(int32_t)) return Code::kInvalidValue;
    description->transpose_w = *static_cast<const int32_t*>(value) == 112;
    return Code::kOk;
  });
}
Status hipblasLtMatrixLayoutCreate(fake_gpu::Layout** out, DataType type, uint64_t rows,
                                   uint64_t columns, int64_t stride) {
  return Do("LtMatrixLayoutCreate", [&] {
    const auto element = type == kR16F    ? fake_gpu::Element::kF16
                         : type == kR16BF ? fake_gpu::Element::kBf16
                                          : fake_gpu::Element::kF32;
    *out = fake_gpu::NewLayout(element, rows, columns, stride);
    return Code::kOk;
  });
}
Status hipblasLtMatrixLayoutDestroy(fake_gpu::Layout* layout) {
  return DestroyIt("LtMatrixLayoutDestroy", layout, "layout");
}
Status hipblasLtMatmulPreferenceCreate(fake_gpu::Preference** out) {
  return Do("LtMatmulPreferenceCreate", [&] {
    *out = fake_gpu::NewPreference();
    (*out)->reductions = 2;  // always of the compute type
    return Code::kOk;
  });
}
Status hipblasLtMatmulPreferenceDestroy(fake_gpu::Preference* preference) {
  return DestroyIt("LtMatmulPreferenceDestroy", preference, "preference");
}
Status hipblasLtMatmulPreferenceSetAttribute(fake_gpu::Preference* preference, int attribute,
                                             const void* value, size_t bytes) {
  return Do("LtMatmulPreferenceSetAttribute", [&] {
    // HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES 1
    if (attribute != 1 || bytes != sizeof(uint64_t)) return Code::kInvalidValue;
    std::memcpy(&preference->workspace, value, bytes);
    return Code::kOk;
  });
}
Status hipblasLtMatmulAlgoGetHeuristic(void*, fake_gpu::Description* description,
                                       fake_gpu::Layout* w, fake_gpu::Layout* x, fake_gpu::Layout*,
                                       fake_gpu::Layout* out, fake_gpu::Preference* preference,
                                       int wanted, HeuristicResult* results, int* found) {
  return Do("LtMatmulAlgoGetHeuristic", [&] {
    fake_gpu::Algorithm algorithm;
    *found = 0;
    if (wanted < 1 || !fake_gpu::Choose(*description, *w, *x, *out, *preference, &algorithm))
      return Code::kOk;
    // 16 bytes: shape in 32 bits each; workspace in its own field.
    const uint32_t shape[4] = {
        static_cast<uint32_t>(algorithm.n), static_cast<uint32_t>(algorithm.m),
        static_cast<uint32_t>(algorithm.k), static_cast<uint32_t>(algorithm.magic)};
    std::memcpy(results[0].algo.data, shape, sizeof shape);
    results[0].algo.max_workspace_bytes = algorithm.workspace;
    results[0].workspace_size = algorithm.workspace;
    results[0].state = kSuccess;
    *found = 1;
    return Code::kOk;
  });
}
Status hipblasLtMatmul(fake_gpu::Handle* handle, fake_gpu::Description* description,
                       const void* alpha, const void* w_at, fake_gpu::Layout* w, const void* x_at,
                       fake_gpu::Layout* x, const void* beta, const void* out_in, fake_gpu::Layout*,
                       void* out_at, fake_gpu::Layout* out, const Algo* algo, void* workspace,
                       size_t workspace_bytes, void* stream) {
  return Do("LtMatmul", [&] {
    uint32_t shape[4];
    std::memcpy(shape, algo->data, sizeof shape);
    const bool known = shape[3] == static_cast<uint32_t>(fake_gpu::kAlgorithmMagic);
    const fake_gpu::Product product{handle,
                                    description,
                                    w,
                                    x,
                                    out,
                                    w_at,
                                    x_at,
                                    out_in,
                                    out_at,
                                    {known ? fake_gpu::kAlgorithmMagic : 0, shape[0], shape[1],
                                     shape[2], algo->max_workspace_bytes},
                                    workspace,
                                    workspace_bytes,
                                    *static_cast<const float*>(alpha),
                                    *static_cast<const float*>(beta)};
    return fake_gpu::Multiply(product, static_cast<fake_gpu::Stream*>(stream));
  });
}

}  // extern "C"
