// SPDX-License-Identifier: MIT
// backends/device/vendor.h: the vendor that this translation unit is compiled for. Both runtimes
// have the same functions, types and numbers but for what they begin with: RANKFEED_VENDOR_NAME
// puts it before a name, RANKFEED_VENDOR_CALL before that of a function, to call it. The namespace
// `vendor` and the struct VendorDevice have what differs by more, and backends/cuda/current_cuda.cc
// and backends/hip/current_hip.cc what takes a file of its own.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_DEVICE_VENDOR_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_DEVICE_VENDOR_H_

#if defined(RANKFEED_GPU_VENDOR_CUDA)
#include "backends/cuda/names_cuda.h"
#elif defined(RANKFEED_GPU_VENDOR_HIP)
#include "backends/hip/names_hip.h"
#else
#error "compile for a vendor: -DRANKFEED_GPU_VENDOR_CUDA or -DRANKFEED_GPU_VENDOR_HIP"
#endif

namespace rankfeed::handoff {

namespace vendor {
using Error = RANKFEED_VENDOR_NAME(Error_t);
using Stream = RANKFEED_VENDOR_NAME(Stream_t);
using Event = RANKFEED_VENDOR_NAME(Event_t);
inline constexpr Error kSuccess = RANKFEED_VENDOR_NAME(Success);
}  // namespace vendor

// Results are those of backend.h. The device is one that is there.
int32_t OpenVendorDevice(int ordinal, VendorDevice* out);
void CloseVendorDevice(const VendorDevice& device);
void DescribeVendorDevice(const VendorDevice& device, char* out, size_t capacity);

// Makes the device current on the calling thread; *before is what RestoreCurrent needs to make the
// thread as it was. Neither touches the error that the runtime keeps for the thread unless it made
// one.
int32_t MakeCurrent(const VendorDevice& device, int* before);
void RestoreCurrent(const VendorDevice& device, int before);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_DEVICE_VENDOR_H_
