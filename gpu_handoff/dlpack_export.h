// SPDX-License-Identifier: MIT
// dlpack_export.h: the structs of DLPack 1.1 that are needed to export a tensor, declared from the
// documented ABI (github.com/dmlc/dlpack, include/dlpack/dlpack.h, DLPACK_MAJOR_VERSION 1, MINOR
// 1), so that the library needs no header of another project. Names of tags and fields are the
// standard's; offsets are pinned below for LP64 and checked against the field order elsewhere.
//
// Not to be included together with dlpack/dlpack.h; rankfeed/handoff.h may be.
#ifndef RANKFEED_GPU_HANDOFF_DLPACK_EXPORT_H_
#define RANKFEED_GPU_HANDOFF_DLPACK_EXPORT_H_

#include <cstddef>
#include <cstdint>

#include "rankfeed/handoff.h"

struct DLPackVersion {
  uint32_t major, minor;
};
struct DLDevice {
  int32_t device_type;  // an int32-based enum in the standard
  int32_t device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4 && sizeof(DLPackVersion) == 8);
#if UINTPTR_MAX == UINT64_MAX
static_assert(offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 &&
              offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24 &&
              offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40 &&
              sizeof(DLTensor) == 48);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48 &&
              offsetof(DLManagedTensor, deleter) == 56 && sizeof(DLManagedTensor) == 64);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
              offsetof(DLManagedTensorVersioned, deleter) == 16 &&
              offsetof(DLManagedTensorVersioned, flags) == 24 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32 &&
              sizeof(DLManagedTensorVersioned) == 80);
#endif

namespace rankfeed::handoff {

inline constexpr uint32_t kDlpackMajor = 1, kDlpackMinor = 1;

// allocate is malloc outside tests; what it returns is given to free.
using DlpackAllocate = void* (*)(size_t);
rankfeed_status ExportVersioned(const rankfeed_dl_tensor& tensor, DlpackAllocate allocate,
                                DLManagedTensorVersioned** out);
rankfeed_status ExportLegacy(const rankfeed_dl_tensor& tensor, DlpackAllocate allocate,
                             DLManagedTensor** out);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_DLPACK_EXPORT_H_
