// SPDX-License-Identifier: MIT
// backends/hip/names_hip.h: HIP's names for what backends/device asks of a runtime. Calls go to the
// libamdhip64 that is there, which hip_runtime.cc opens: linked to a soname, this library would
// load with one major version of ROCm only, and not at all on a machine without. A machine without
// it or without a device gets NO_DEVICE.
//
// Only functions whose parameters are the same from ROCm 5 to 7 are called: no structures of the
// runtime's but dim3, and no numbers beyond those of hip_runtime_api.h 5.2.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_HIP_NAMES_HIP_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_HIP_NAMES_HIP_H_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "rankfeed/handoff.h"

#define RANKFEED_GPU_BACKEND_FUNCTION rankfeed_handoff_hip_backend
#define RANKFEED_VENDOR_NAME(name) hip##name

#ifdef __HIP_PLATFORM_NVIDIA__
// Missing in HIP's headers for that platform.
inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}
#define RANKFEED_HIP_CALL(name, type) static_cast<type>(hip##name)
#define RANKFEED_VENDOR_CALL(name) hip##name
#else
// The function of the runtime that is found when it is first called.
#define RANKFEED_HIP_CALL(name, type)                                         \
  [] {                                                                        \
    static const ::rankfeed::handoff::HipFunction in_runtime{                 \
        reinterpret_cast<type>(::rankfeed::handoff::HipSymbol("hip" #name))}; \
    return in_runtime;                                                        \
  }()
#define RANKFEED_VENDOR_CALL(name) RANKFEED_HIP_CALL(name, decltype(&hip##name))
#endif

namespace rankfeed::handoff {

struct VendorDevice {
  int ordinal;
};

// hip_runtime.cc: the device's instruction set ("gfx90a:sramecc+:xnack-"), or which ROCm there is
// where that cannot be asked for.
void HipArchitecture(int device, char* out, size_t capacity);
// Returns null when there is no runtime, or it lacks the function.
void* HipSymbol(const char* name);

template <class... Parameters>
struct HipFunction {
  explicit HipFunction(hipError_t (*function)(Parameters...)) : found(function) {}
  hipError_t (*found)(Parameters...);
  hipError_t operator()(Parameters... parameters) const {
    return found != nullptr ? found(parameters...) : hipErrorNoDevice;
  }
};

namespace vendor {

inline constexpr const char* kName = "hip";
#ifdef __HIP_PLATFORM_NVIDIA__  // the same sources over CUDA, to run them where no AMD device is
inline constexpr int32_t kDlHostDeviceType = RANKFEED_DL_CUDA_HOST;
inline constexpr int32_t kDlDeviceType = RANKFEED_DL_CUDA;
#else
inline constexpr int32_t kDlHostDeviceType = RANKFEED_DL_ROCM_HOST;
inline constexpr int32_t kDlDeviceType = RANKFEED_DL_ROCM;
#endif

// These two have overloads.
inline hipError_t Malloc(void** out, size_t bytes) {
  return RANKFEED_HIP_CALL(Malloc, hipError_t(*)(void**, size_t))(out, bytes);
}
inline hipError_t HostAlloc(void** out, size_t bytes) {
  return RANKFEED_HIP_CALL(HostMalloc, hipError_t(*)(void**, size_t, unsigned))(
      out, bytes, hipHostMallocPortable | hipHostMallocMapped);
}
// Waits for the device (HIP programming manual, host memory).
inline hipError_t HostFree(void* memory) {
  return RANKFEED_VENDOR_CALL(HostFree)(memory);
}
// hipLaunchHostFunc is declared but not defined by HIP 5.2 (Debian 12), so the older callback
// stands in, whose function has another form.
struct HostCall {
  void (*function)(void*);
  void* argument;
};
inline void RunHostCall(hipStream_t, hipError_t, void* call) {
  const HostCall copy = *static_cast<HostCall*>(call);
  delete static_cast<HostCall*>(call);
  copy.function(copy.argument);
}
inline hipError_t LaunchHost(hipStream_t stream, void (*function)(void*), void* argument) {
  auto* call = new (std::nothrow) HostCall{function, argument};
  if (call == nullptr) return hipErrorOutOfMemory;
  const hipError_t error = RANKFEED_VENDOR_CALL(StreamAddCallback)(stream, RunHostCall, call, 0);
  if (error != hipSuccess) delete call;
  return error;
}

}  // namespace vendor
}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_HIP_NAMES_HIP_H_
