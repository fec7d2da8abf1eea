// SPDX-License-Identifier: MIT
// backends/cuda/names_cuda.h: CUDA's names for what backends/device asks of a runtime, called
// directly: libcudart_static is linked and finds the driver when it is first asked, so a machine
// without a driver gets NO_DEVICE and nothing fails to load.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_CUDA_NAMES_CUDA_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_CUDA_NAMES_CUDA_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rankfeed/handoff.h"

#define RANKFEED_GPU_BACKEND_FUNCTION rankfeed_handoff_cuda_backend
#define RANKFEED_VENDOR_NAME(name) cuda##name
#define RANKFEED_VENDOR_CALL(name) cuda##name

namespace rankfeed::handoff {

// The driver's part (cuda.h), whose results are the runtime's error numbers.
struct VendorDevice {
  int ordinal;
  void* primary;  // the device's primary context, which the runtime uses too
  int (*retain)(void** context, int device);
  int (*release)(int device);
  int (*push)(void* context);
  int (*pop)(void** context);
};

namespace vendor {

inline constexpr const char* kName = "cuda";
inline constexpr int32_t kDlHostDeviceType = RANKFEED_DL_CUDA_HOST;
inline constexpr int32_t kDlDeviceType = RANKFEED_DL_CUDA;

inline cudaError_t Malloc(void** out, size_t bytes) {
  return cudaMalloc(out, bytes);
}
inline cudaError_t HostAlloc(void** out, size_t bytes) {
  return cudaHostAlloc(out, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
}
// Waits for the device (CUDA C Programming Guide, implicit synchronization).
inline cudaError_t HostFree(void* memory) {
  return cudaFreeHost(memory);
}
inline cudaError_t LaunchHost(cudaStream_t stream, void (*function)(void*), void* argument) {
  return cudaLaunchHostFunc(stream, function, argument);
}

}  // namespace vendor
}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_CUDA_NAMES_CUDA_H_
