// SPDX-License-Identifier: MIT
// hip_runtime.cc: libamdhip64 as the HIP backend opens it: the functions it looks up, over
// device.h. A library of its own, with the soname that the backend tries first.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "fake_gpu/device.h"
#include "fake_gpu/memory.h"

namespace {

using fake_gpu::Call;
using fake_gpu::Code;
using fake_gpu::Safety;

hipError_t ErrorOf(Code code) {
  switch (code) {
    case Code::kOk:
      return hipSuccess;
    case Code::kNotReady:
      return hipErrorNotReady;
    case Code::kInvalidValue:
      return hipErrorInvalidValue;
    case Code::kInvalidHandle:
      return hipErrorInvalidHandle;
    case Code::kInvalidDevice:
      return hipErrorInvalidDevice;
    case Code::kNoDevice:
      return hipErrorNoDevice;
    case Code::kOldDriver:
      return hipErrorInsufficientDriver;
    case Code::kOutOfMemory:
      return hipErrorOutOfMemory;
    case Code::kLaunchConfiguration:
      return hipErrorInvalidConfiguration;
    case Code::kInvalidFunction:
      return hipErrorInvalidDeviceFunction;
    case Code::kCaptureUnsupported:
      return hipErrorStreamCaptureUnsupported;
    case Code::kCaptureInvalidated:
      return hipErrorStreamCaptureInvalidated;
    case Code::kCaptureWrongThread:
      return hipErrorStreamCaptureWrongThread;
    case Code::kIllegalState:
      return hipErrorIllegalState;
    case Code::kIllegalAddress:
      return hipErrorIllegalAddress;
    case Code::kInjected:
      return static_cast<hipError_t>(fake_gpu::Options().fail_error);
  }
  return hipErrorUnknown;
}

hipError_t Safe(const char* name, const std::function<Code()>& body) {
  return ErrorOf(Call(name, Safety::kSafe, body));
}
hipError_t Unsafe(const char* name, const std::function<Code()>& body) {
  return ErrorOf(Call(name, Safety::kUnsafe, body));
}

fake_gpu::Stream* StreamOf(hipStream_t stream) {
  return reinterpret_cast<fake_gpu::Stream*>(stream);
}
fake_gpu::Event* EventOf(hipEvent_t event) {
  return reinterpret_cast<fake_gpu::Event*>(event);
}

struct Function {
  const void* host;
  const char* name;
  Function* next;
};
Function* functions = nullptr;

}  // namespace

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  return Safe("GetDeviceCount", [&] { return fake_gpu::DeviceCount(count); });
}
// No call in the sense of the others: it answers without a driver too.
hipError_t hipDriverGetVersion(int* version) {
  *version = fake_gpu::Options().old_driver == 1 ? 9000 : 0;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  return Safe("GetDevice", [&] { return fake_gpu::GetDevice(device); });
}
hipError_t hipSetDevice(int device) {
  return Safe("SetDevice", [&] { return fake_gpu::SetDevice(device); });
}
hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
  return Safe("DeviceGetName", [&] {
    if (device < 0 || device >= fake_gpu::Options().devices) return Code::kInvalidDevice;
    std::snprintf(name, static_cast<size_t>(size), "Fake device %d", device);
    return Code::kOk;
  });
}
hipError_t hipDeviceGetPCIBusId(char* out, int capacity, int device) {
  return Safe("DeviceGetPCIBusId",
              [&] { return fake_gpu::PciBusId(out, static_cast<size_t>(capacity), device); });
}
hipError_t hipGetLastError() {
  hipError_t result = hipSuccess;
  (void)Safe("GetLastError", [&] {
    result = ErrorOf(fake_gpu::TakeLastError());
    return Code::kOk;
  });
  return result;
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return Safe("ThreadExchangeStreamCaptureMode", [&] {
    *mode =
        static_cast<hipStreamCaptureMode>(fake_gpu::ExchangeCaptureMode(static_cast<int>(*mode)));
    return Code::kOk;
  });
}

hipError_t hipMalloc(void** out, size_t bytes) {
  return Unsafe("Malloc", [&] { return fake_gpu::Malloc(bytes, out); });
}
hipError_t hipFree(void* memory) {
  return Unsafe("Free", [&] { return fake_gpu::Free(memory); });
}
hipError_t hipHostMalloc(void** out, size_t bytes, unsigned) {
  return Unsafe("HostAlloc", [&] { return fake_gpu::HostAlloc(bytes, out); });
}
hipError_t hipHostFree(void* memory) {
  return Unsafe("FreeHost", [&] { return fake_gpu::HostFree(memory); });
}
hipError_t hipHostGetDevicePointer(void** out, void* host, unsigned) {
  return Safe("HostGetDevicePointer", [&] { return fake_gpu::HostDevicePointer(host, out); });
}
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind,
                          hipStream_t stream) {
  return Safe("MemcpyAsync",
              [&] { return fake_gpu::CopyAsync(dst, src, bytes, StreamOf(stream)); });
}

hipError_t hipStreamCreateWithFlags(hipStream_t* out, unsigned flags) {
  return Unsafe("StreamCreate", [&] {
    if (flags != hipStreamNonBlocking)
      fake_gpu::Found("blocking-stream", "a stream that the default stream blocks");
    return fake_gpu::StreamCreate(reinterpret_cast<fake_gpu::Stream**>(out));
  });
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return Unsafe("StreamDestroy", [&] { return fake_gpu::StreamDestroy(StreamOf(stream)); });
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return Unsafe("StreamSynchronize", [&] { return fake_gpu::StreamSynchronize(StreamOf(stream)); });
}
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t function, void* data,
                                unsigned) {
  return Safe("LaunchHostFunc", [&] {
    return fake_gpu::LaunchHost(StreamOf(stream), [=] { function(stream, hipSuccess, data); });
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* out, unsigned flags) {
  return Unsafe("EventCreate", [&] {
    return fake_gpu::EventCreate((flags & hipEventDisableTiming) == 0,
                                 reinterpret_cast<fake_gpu::Event**>(out));
  });
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return Unsafe("EventDestroy", [&] { return fake_gpu::EventDestroy(EventOf(event)); });
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return Safe("EventRecord",
              [&] { return fake_gpu::EventRecord(EventOf(event), StreamOf(stream)); });
}
hipError_t hipEventQuery(hipEvent_t event) {
  return Unsafe("EventQuery", [&] { return fake_gpu::EventQuery(EventOf(event)); });
}
hipError_t hipEventElapsedTime(float* ms, hipEvent_t begin, hipEvent_t end) {
  return Unsafe("EventElapsedTime",
                [&] { return fake_gpu::EventElapsed(EventOf(begin), EventOf(end), ms); });
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return Safe("StreamWaitEvent",
              [&] { return fake_gpu::StreamWaitEvent(StreamOf(stream), EventOf(event)); });
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return Safe("StreamBeginCapture", [&] {
    return fake_gpu::StreamBeginCapture(StreamOf(stream), static_cast<int>(mode));
  });
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* out) {
  return Safe("StreamEndCapture", [&] {
    return fake_gpu::StreamEndCapture(StreamOf(stream), reinterpret_cast<fake_gpu::Graph**>(out));
  });
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* out, hipGraph_t graph, unsigned long long) {
  return Unsafe("GraphInstantiate", [&] {
    return fake_gpu::GraphInstantiate(reinterpret_cast<fake_gpu::Graph*>(graph),
                                      reinterpret_cast<fake_gpu::Graph**>(out));
  });
}
hipError_t hipGraphLaunch(hipGraphExec_t graph, hipStream_t stream) {
  return Safe("GraphLaunch", [&] {
    return fake_gpu::GraphLaunch(reinterpret_cast<fake_gpu::Graph*>(graph), StreamOf(stream));
  });
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return Safe("GraphDestroy", [&] {
    return fake_gpu::GraphDestroy(reinterpret_cast<fake_gpu::Graph*>(graph), false);
  });
}
hipError_t hipGraphExecDestroy(hipGraphExec_t graph) {
  return Safe("GraphExecDestroy", [&] {
    return fake_gpu::GraphDestroy(reinterpret_cast<fake_gpu::Graph*>(graph), true);
  });
}
hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                           size_t shared, hipStream_t stream) {
  return Safe("LaunchKernel", [&] {
    for (const Function* f = functions; f != nullptr; f = f->next) {
      if (f->host == function) {
        return fake_gpu::LaunchKernel(f->name,
                                      {grid.x, grid.y, grid.z, block.x, block.y, block.z, shared},
                                      arguments, StreamOf(stream), true);
      }
    }
    return Code::kInvalidFunction;
  });
}

// ---- what hipcc's host code calls ----

void** __hipRegisterFatBinary(const void*) {
  static void* handle = nullptr;
  return &handle;
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterFunction(void**, const void* host, char*, const char* name, unsigned, void*,
                           void*, void*, void*, int*) {
  functions = new Function{host, name, functions};
}

}  // extern "C"
