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

using Error = cudaError_t;
using Stream = cudaStream_t;
using Event = cudaEvent_t;
using CaptureMode = cudaStreamCaptureMode;
using Graph = cudaGraph_t;
using GraphExec = cudaGraphExec_t;

inline constexpr Error kSuccess = cudaSuccess;
inline constexpr Error kNotReady = cudaErrorNotReady;
inline constexpr Error kNoMemory = cudaErrorMemoryAllocation;
inline constexpr Error kNoDevice = cudaErrorNoDevice;
inline constexpr Error kOldDriver = cudaErrorInsufficientDriver;
inline constexpr Error kInvalidHandle = cudaErrorInvalidResourceHandle;
inline constexpr Error kCaptureUnsupported = cudaErrorStreamCaptureUnsupported;
inline constexpr Error kCapturedEvent = cudaErrorCapturedEvent;
inline constexpr CaptureMode kCaptureRelaxed = cudaStreamCaptureModeRelaxed;
inline constexpr CaptureMode kCaptureThreadLocal = cudaStreamCaptureModeThreadLocal;
inline constexpr unsigned kEventDefault = cudaEventDefault;
inline constexpr unsigned kEventWithoutTime = cudaEventDisableTiming;

inline Error GetLastError() {
  return cudaGetLastError();
}
inline Error GetDeviceCount(int* count) {
  return cudaGetDeviceCount(count);
}
inline Error DriverVersion(int* version) {
  return cudaDriverGetVersion(version);
}
inline Error PciBusId(char* out, int capacity, int device) {
  return cudaDeviceGetPCIBusId(out, capacity, device);
}
inline Error ExchangeCaptureMode(CaptureMode* mode) {
  return cudaThreadExchangeStreamCaptureMode(mode);
}
inline Error HostAlloc(void** out, size_t bytes) {
  return cudaHostAlloc(out, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
}
// Waits for the device (CUDA C Programming Guide, implicit synchronization).
inline Error HostFree(void* memory) {
  return cudaFreeHost(memory);
}
inline Error HostDevicePointer(void** out, void* host) {
  return cudaHostGetDevicePointer(out, host, 0);
}
inline Error Malloc(void** out, size_t bytes) {
  return cudaMalloc(out, bytes);
}
inline Error Free(void* memory) {
  return cudaFree(memory);
}
inline Error CopyAsync(void* to, const void* from, size_t bytes, Stream stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
inline Error StreamCreate(Stream* out) {
  return cudaStreamCreateWithFlags(out, cudaStreamNonBlocking);
}
inline Error StreamDestroy(Stream stream) {
  return cudaStreamDestroy(stream);
}
inline Error StreamSynchronize(Stream stream) {
  return cudaStreamSynchronize(stream);
}
inline Error StreamWaitEvent(Stream stream, Event event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
inline Error LaunchHost(Stream stream, void (*function)(void*), void* argument) {
  return cudaLaunchHostFunc(stream, function, argument);
}
inline Error EventCreate(Event* out, unsigned flags) {
  return cudaEventCreateWithFlags(out, flags);
}
inline Error EventDestroy(Event event) {
  return cudaEventDestroy(event);
}
inline Error EventRecord(Event event, Stream stream) {
  return cudaEventRecord(event, stream);
}
inline Error EventQuery(Event event) {
  return cudaEventQuery(event);
}
inline Error EventElapsed(float* ms, Event begin, Event end) {
  return cudaEventElapsedTime(ms, begin, end);
}
inline Error StreamBeginCapture(Stream stream, CaptureMode mode) {
  return cudaStreamBeginCapture(stream, mode);
}
inline Error StreamEndCapture(Stream stream, Graph* out) {
  return cudaStreamEndCapture(stream, out);
}
inline Error GraphInstantiate(GraphExec* out, Graph graph) {
  return cudaGraphInstantiateWithFlags(out, graph, 0);
}
inline Error GraphLaunch(GraphExec graph, Stream stream) {
  return cudaGraphLaunch(graph, stream);
}
inline Error GraphDestroy(Graph graph) {
  return cudaGraphDestroy(graph);
}
inline Error GraphExecDestroy(GraphExec graph) {
  return cudaGraphExecDestroy(graph);
}
inline Error LaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                          size_t shared_bytes, Stream stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

}  // namespace vendor
}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_CUDA_NAMES_CUDA_H_
