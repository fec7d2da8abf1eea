// SPDX-License-Identifier: MIT
// backends/hip/names_hip.h: HIP's names for what backends/device asks of a runtime. The functions
// are hip_runtime.cc's, which opens the libamdhip64 that is there; a machine without it or without
// a device gets NO_DEVICE.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_HIP_NAMES_HIP_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_HIP_NAMES_HIP_H_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "rankfeed/handoff.h"

#ifdef __HIP_PLATFORM_NVIDIA__  // missing in HIP's headers for that platform
inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}
#endif

#define RANKFEED_GPU_BACKEND_FUNCTION rankfeed_handoff_hip_backend

namespace rankfeed::handoff {

struct VendorDevice {
  int ordinal;
};

// hip_runtime.cc: the device's instruction set ("gfx90a:sramecc+:xnack-"), or which ROCm there is
// where that cannot be asked for.
void HipArchitecture(int device, char* out, size_t capacity);

namespace vendor {

inline constexpr const char* kName = "hip";
#ifdef __HIP_PLATFORM_NVIDIA__  // the same sources over CUDA, to run them where no AMD device is
inline constexpr int32_t kDlHostDeviceType = RANKFEED_DL_CUDA_HOST;
inline constexpr int32_t kDlDeviceType = RANKFEED_DL_CUDA;
#else
inline constexpr int32_t kDlHostDeviceType = RANKFEED_DL_ROCM_HOST;
inline constexpr int32_t kDlDeviceType = RANKFEED_DL_ROCM;
#endif

using Error = hipError_t;
using Stream = hipStream_t;
using Event = hipEvent_t;
using CaptureMode = hipStreamCaptureMode;
using Graph = hipGraph_t;
using GraphExec = hipGraphExec_t;

inline constexpr Error kSuccess = hipSuccess;
inline constexpr Error kNotReady = hipErrorNotReady;
inline constexpr Error kNoMemory = hipErrorOutOfMemory;
inline constexpr Error kNoDevice = hipErrorNoDevice;
inline constexpr Error kOldDriver = hipErrorInsufficientDriver;
inline constexpr Error kInvalidHandle = hipErrorInvalidHandle;
inline constexpr Error kCaptureUnsupported = hipErrorStreamCaptureUnsupported;
inline constexpr Error kCapturedEvent = hipErrorCapturedEvent;
inline constexpr CaptureMode kCaptureRelaxed = hipStreamCaptureModeRelaxed;
inline constexpr CaptureMode kCaptureThreadLocal = hipStreamCaptureModeThreadLocal;
inline constexpr unsigned kEventDefault = hipEventDefault;
inline constexpr unsigned kEventWithoutTime = hipEventDisableTiming;

inline Error GetLastError() {
  return hipGetLastError();
}
inline Error GetDeviceCount(int* count) {
  return hipGetDeviceCount(count);
}
inline Error DriverVersion(int* version) {
  return hipDriverGetVersion(version);
}
inline Error PciBusId(char* out, int capacity, int device) {
  return hipDeviceGetPCIBusId(out, capacity, device);
}
inline Error ExchangeCaptureMode(CaptureMode* mode) {
  return hipThreadExchangeStreamCaptureMode(mode);
}
inline Error HostAlloc(void** out, size_t bytes) {
  return hipHostMalloc(out, bytes, hipHostMallocPortable | hipHostMallocMapped);
}
// Waits for the device (HIP programming manual, host memory).
inline Error HostFree(void* memory) {
  return hipHostFree(memory);
}
inline Error HostDevicePointer(void** out, void* host) {
  return hipHostGetDevicePointer(out, host, 0);
}
inline Error Malloc(void** out, size_t bytes) {
  return hipMalloc(out, bytes);
}
inline Error Free(void* memory) {
  return hipFree(memory);
}
inline Error CopyAsync(void* to, const void* from, size_t bytes, Stream stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream);
}
inline Error StreamCreate(Stream* out) {
  return hipStreamCreateWithFlags(out, hipStreamNonBlocking);
}
inline Error StreamDestroy(Stream stream) {
  return hipStreamDestroy(stream);
}
inline Error StreamSynchronize(Stream stream) {
  return hipStreamSynchronize(stream);
}
inline Error StreamWaitEvent(Stream stream, Event event) {
  return hipStreamWaitEvent(stream, event, 0);
}
// hipLaunchHostFunc is declared but not defined by HIP 5.2 (Debian 12), so the older callback
// stands in, whose function has another form.
struct HostCall {
  void (*function)(void*);
  void* argument;
};
inline void RunHostCall(Stream, Error, void* call) {
  const HostCall copy = *static_cast<HostCall*>(call);
  delete static_cast<HostCall*>(call);
  copy.function(copy.argument);
}
inline Error LaunchHost(Stream stream, void (*function)(void*), void* argument) {
  auto* call = new (std::nothrow) HostCall{function, argument};
  if (call == nullptr) return kNoMemory;
  const Error error = hipStreamAddCallback(stream, RunHostCall, call, 0);
  if (error != kSuccess) delete call;
  return error;
}
inline Error EventCreate(Event* out, unsigned flags) {
  return hipEventCreateWithFlags(out, flags);
}
inline Error EventDestroy(Event event) {
  return hipEventDestroy(event);
}
inline Error EventRecord(Event event, Stream stream) {
  return hipEventRecord(event, stream);
}
inline Error EventQuery(Event event) {
  return hipEventQuery(event);
}
inline Error EventElapsed(float* ms, Event begin, Event end) {
  return hipEventElapsedTime(ms, begin, end);
}
inline Error StreamBeginCapture(Stream stream, CaptureMode mode) {
  return hipStreamBeginCapture(stream, mode);
}
inline Error StreamEndCapture(Stream stream, Graph* out) {
  return hipStreamEndCapture(stream, out);
}
inline Error GraphInstantiate(GraphExec* out, Graph graph) {
  return hipGraphInstantiateWithFlags(out, graph, 0);
}
inline Error GraphLaunch(GraphExec graph, Stream stream) {
  return hipGraphLaunch(graph, stream);
}
inline Error GraphDestroy(Graph graph) {
  return hipGraphDestroy(graph);
}
inline Error GraphExecDestroy(GraphExec graph) {
  return hipGraphExecDestroy(graph);
}
inline Error LaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                          size_t shared_bytes, Stream stream) {
  return hipLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

}  // namespace vendor
}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_HIP_NAMES_HIP_H_
