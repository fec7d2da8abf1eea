// SPDX-License-Identifier: MIT
// backends/cuda/current_cuda.cc: how CUDA makes a device current on a thread. Contexts are pushed
// and popped, because cudaSetDevice has no way back: restoring a device that the thread had by
// default would make a context there (CUDA 12 and later).
#include <cstdio>
#include <type_traits>

#include "backends/device/device.h"
#include "backends/device/vendor.h"

namespace rankfeed::handoff {
namespace {

int32_t FindDriver(VendorDevice* device) {
  const auto find = [](auto* function, const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    // 12000: none of these has changed since.
    const int32_t rc = DeviceFinish(
        cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
    return rc != RANKFEED_GPU_OK || found != nullptr ? rc : int32_t{RANKFEED_GPU_OLD_DRIVER};
  };
  int32_t rc = find(&device->retain, "cuDevicePrimaryCtxRetain");
  if (rc == RANKFEED_GPU_OK) rc = find(&device->release, "cuDevicePrimaryCtxRelease");
  if (rc == RANKFEED_GPU_OK) rc = find(&device->push, "cuCtxPushCurrent");
  if (rc == RANKFEED_GPU_OK) rc = find(&device->pop, "cuCtxPopCurrent");
  return rc;
}

}  // namespace

int32_t OpenVendorDevice(int ordinal, VendorDevice* out) {
  *out = {};
  out->ordinal = ordinal;
  const int mode = RelaxCapture();
  int32_t rc = FindDriver(out);
  // Ordinals and the driver's device handles are the same numbers (cuDeviceGet).
  if (rc == RANKFEED_GPU_OK) rc = DeviceResult(out->retain(&out->primary, ordinal));
  (void)ExchangeCapture(mode);
  return rc;
}

void CloseVendorDevice(const VendorDevice& device) {
  const int mode = RelaxCapture();
  (void)device.release(device.ordinal);
  (void)ExchangeCapture(mode);
}

void DescribeVendorDevice(const VendorDevice& device, char* out, size_t capacity) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device.ordinal);
  if (DeviceFinish(error) != RANKFEED_GPU_OK) {
    std::snprintf(out, capacity, "unknown device");
    return;
  }
  std::snprintf(out, capacity, "%.40s, sm_%d%d", properties.name, properties.major,
                properties.minor);
}

int32_t MakeCurrent(const VendorDevice& device, int*) {
  return DeviceResult(device.push(device.primary));
}

void RestoreCurrent(const VendorDevice& device, int) {
  (void)device.pop(nullptr);
}

}  // namespace rankfeed::handoff
