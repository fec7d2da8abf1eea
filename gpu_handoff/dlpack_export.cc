// SPDX-License-Identifier: MIT
// dlpack_export.cc: a described tensor to the struct a DLPack consumer takes.
//
// One malloc holds the managed struct, shape, strides and the release callback; the deleter frees
// it and then calls the callback, so a callback may close what the memory belonged to. The extents
// are checked here because the consumer will not: the last element must lie inside data_bytes.
#include "dlpack_export.h"

#include <cstdlib>
#include <new>

namespace rankfeed::handoff {
namespace {

template <typename Managed>
struct Exported {
  Managed managed;  // first: the consumer's pointer is the block
  int64_t shape[RANKFEED_DL_MAX_RANK];
  int64_t strides[RANKFEED_DL_MAX_RANK];
  void (*release)(void*);
  void* release_context;
};

template <typename Managed>
void Delete(Managed* self) {
  if (self == nullptr) return;
  auto* exported = static_cast<Exported<Managed>*>(self->manager_ctx);
  const auto release = exported->release;
  void* const context = exported->release_context;
  std::free(exported);
  if (release != nullptr) release(context);
}

// DLDataTypeCode of dlpack.h 1.1: kDLInt 0, kDLUInt 1.
bool DataType(uint32_t dtype, DLDataType* out) {
  switch (dtype) {
    case RANKFEED_DL_INT32:
      *out = {0, 32, 1};
      return true;
    case RANKFEED_DL_INT64:
      *out = {0, 64, 1};
      return true;
    case RANKFEED_DL_UINT32:
      *out = {1, 32, 1};
      return true;
    case RANKFEED_DL_UINT8:
      *out = {1, 8, 1};
      return true;
  }
  return false;
}

bool OnHost(int32_t device_type) {
  return device_type == RANKFEED_DL_CPU || device_type == RANKFEED_DL_CUDA_HOST ||
         device_type == RANKFEED_DL_ROCM_HOST;
}

bool KnownDevice(int32_t device_type, int32_t device_id) {
  if (OnHost(device_type)) return device_id == 0;
  return (device_type == RANKFEED_DL_CUDA || device_type == RANKFEED_DL_ROCM) && device_id >= 0;
}

// Fills *out, whose shape and strides point to arrays of rank entries.
rankfeed_status Describe(const rankfeed_dl_tensor& in, DLTensor* out) {
  if (in.struct_size != sizeof(rankfeed_dl_tensor)) return RANKFEED_E_STRUCT_SIZE;
  if (in.rank > RANKFEED_DL_MAX_RANK || (in.rank != 0 && in.shape == nullptr) ||
      (in.flags & ~uint32_t{RANKFEED_DL_READ_ONLY | RANKFEED_DL_COPIED}) ||
      !KnownDevice(in.device_type, in.device_id) || !DataType(in.dtype, &out->dtype)) {
    return RANKFEED_E_ARGUMENT;
  }
  bool empty = false;
  for (uint32_t i = 0; i < in.rank; ++i) {
    if (in.shape[i] < 0 || (in.strides != nullptr && in.strides[i] < 0)) {
      return RANKFEED_E_ARGUMENT;
    }
    out->shape[i] = in.shape[i];
    empty |= in.shape[i] == 0;
  }
  int64_t compact = 1;
  for (uint32_t next = in.rank; next > 0; --next) {
    const uint32_t i = next - 1;
    out->strides[i] = in.strides ? in.strides[i] : compact;
    // In an empty tensor only the form of the strides matters; an extent of 0 counts as 1, as
    // NumPy and PyTorch count it.
    const int64_t extent = in.shape[i] == 0 ? 1 : in.shape[i];
    if (__builtin_mul_overflow(compact, extent, &compact)) return RANKFEED_E_LIMIT;
  }
  out->device = {in.device_type, in.device_id};
  out->ndim = static_cast<int32_t>(in.rank);
  if (empty) {  // dlpack.h 1.1: size zero has a null data pointer
    out->data = nullptr;
    out->byte_offset = 0;
    return RANKFEED_OK;
  }
  if (in.data == nullptr) return RANKFEED_E_ARGUMENT;
  const uint64_t item = out->dtype.bits / 8;
  uint64_t last = 0;  // index of the farthest element
  for (uint32_t i = 0; i < in.rank; ++i) {
    uint64_t reach;
    if (__builtin_mul_overflow(static_cast<uint64_t>(out->shape[i] - 1),
                               static_cast<uint64_t>(out->strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return RANKFEED_E_LIMIT;
    }
  }
  // byte_offset + (last + 1) * item <= data_bytes, without overflow
  if (in.byte_offset > in.data_bytes || (in.data_bytes - in.byte_offset) / item <= last) {
    return RANKFEED_E_LIMIT;
  }
  if ((reinterpret_cast<uintptr_t>(in.data) + in.byte_offset) % item != 0) {
    return RANKFEED_E_ALIGNMENT;
  }
  out->data = in.data;
  out->byte_offset = in.byte_offset;
  return RANKFEED_OK;
}

template <typename Managed>
rankfeed_status Export(const rankfeed_dl_tensor& in, DlpackAllocate allocate, Managed** out) {
  *out = nullptr;
  int64_t shape[RANKFEED_DL_MAX_RANK] = {}, strides[RANKFEED_DL_MAX_RANK] = {};
  DLTensor tensor{};
  tensor.shape = shape;
  tensor.strides = strides;
  const rankfeed_status status = Describe(in, &tensor);
  if (status != RANKFEED_OK) return status;
  void* memory = allocate(sizeof(Exported<Managed>));
  if (memory == nullptr) return RANKFEED_E_NO_MEMORY;
  auto* exported = new (memory) Exported<Managed>();
  for (uint32_t i = 0; i < in.rank; ++i) {
    exported->shape[i] = shape[i];
    exported->strides[i] = strides[i];
  }
  exported->release = in.release;
  exported->release_context = in.release_context;
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = &Delete<Managed>;
  exported->managed.dl_tensor = tensor;
  exported->managed.dl_tensor.shape = exported->shape;
  exported->managed.dl_tensor.strides = exported->strides;
  *out = &exported->managed;
  return RANKFEED_OK;
}

}  // namespace

rankfeed_status ExportVersioned(const rankfeed_dl_tensor& tensor, DlpackAllocate allocate,
                                DLManagedTensorVersioned** out) {
  const rankfeed_status status = Export(tensor, allocate, out);
  if (status != RANKFEED_OK) return status;
  (*out)->version = {kDlpackMajor, kDlpackMinor};
  // RANKFEED_DL_READ_ONLY and _COPIED have the values of the standard's flag bits 0 and 1.
  (*out)->flags = tensor.flags;
  return RANKFEED_OK;
}

rankfeed_status ExportLegacy(const rankfeed_dl_tensor& tensor, DlpackAllocate allocate,
                             DLManagedTensor** out) {
  *out = nullptr;
  if (tensor.struct_size == sizeof(rankfeed_dl_tensor) && (tensor.flags & RANKFEED_DL_READ_ONLY)) {
    return RANKFEED_E_UNSUPPORTED;
  }
  return Export(tensor, allocate, out);
}

}  // namespace rankfeed::handoff

extern "C" {

rankfeed_status rankfeed_dlpack_export(const rankfeed_dl_tensor* tensor,
                                       DLManagedTensorVersioned** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (tensor == nullptr) return RANKFEED_E_ARGUMENT;
  return rankfeed::handoff::ExportVersioned(*tensor, &std::malloc, out);
}

rankfeed_status rankfeed_dlpack_export_legacy(const rankfeed_dl_tensor* tensor,
                                              DLManagedTensor** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (tensor == nullptr) return RANKFEED_E_ARGUMENT;
  return rankfeed::handoff::ExportLegacy(*tensor, &std::malloc, out);
}

}  // extern "C"
