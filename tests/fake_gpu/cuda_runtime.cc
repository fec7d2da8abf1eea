// SPDX-License-Identifier: MIT
// cuda_runtime.cc: the CUDA runtime's functions that the backend's objects call, over device.h, and
// the driver's context functions that they look up by name.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "fake_gpu/device.h"
#include "fake_gpu/memory.h"

namespace {

using fake_gpu::Call;
using fake_gpu::Code;
using fake_gpu::Safety;

cudaError_t ErrorOf(Code code) {
  switch (code) {
    case Code::kOk:
      return cudaSuccess;
    case Code::kNotReady:
      return cudaErrorNotReady;
    case Code::kInvalidValue:
      return cudaErrorInvalidValue;
    case Code::kInvalidHandle:
      return cudaErrorInvalidResourceHandle;
    case Code::kInvalidDevice:
      return cudaErrorInvalidDevice;
    case Code::kNoDevice:
      return cudaErrorNoDevice;
    case Code::kOldDriver:
      return cudaErrorInsufficientDriver;
    case Code::kOutOfMemory:
      return cudaErrorMemoryAllocation;
    case Code::kLaunchConfiguration:
      return cudaErrorInvalidConfiguration;
    case Code::kInvalidFunction:
      return cudaErrorInvalidDeviceFunction;
    case Code::kCaptureUnsupported:
      return cudaErrorStreamCaptureUnsupported;
    case Code::kCaptureInvalidated:
      return cudaErrorStreamCaptureInvalidated;
    case Code::kCaptureWrongThread:
      return cudaErrorStreamCaptureWrongThread;
    case Code::kIllegalState:
      return cudaErrorIllegalState;
    case Code::kIllegalAddress:
      return cudaErrorIllegalAddress;
    case Code::kInjected:
      return static_cast<cudaError_t>(fake_gpu::Options().fail_error);
  }
  return cudaErrorUnknown;
}

cudaError_t Safe(const char* name, const std::function<Code()>& body) {
  return ErrorOf(Call(name, Safety::kSafe, body));
}
cudaError_t Unsafe(const char* name, const std::function<Code()>& body) {
  return ErrorOf(Call(name, Safety::kUnsafe, body));
}

// In a call: a thread's default stream is made when it is first named.
fake_gpu::Stream* StreamOf(cudaStream_t stream) {
  if (stream == cudaStreamLegacy) return nullptr;
  if (stream == cudaStreamPerThread) return fake_gpu::ThreadStream();
  return reinterpret_cast<fake_gpu::Stream*>(stream);
}
fake_gpu::Event* EventOf(cudaEvent_t event) {
  return reinterpret_cast<fake_gpu::Event*>(event);
}

struct Function {
  const void* host;
  const char* name;
  Function* next;
};
Function* functions = nullptr;  // a list, because they register before constructors have run

Function* Registered(const void* host) {
  for (Function* f = functions; f != nullptr; f = f->next) {
    if (f->host == host) return f;
  }
  return nullptr;
}

cudaError_t Launch(const Function* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                   cudaStream_t stream) {
  return Safe("LaunchKernel", [&] {
    if (function == nullptr) return Code::kInvalidFunction;
    return fake_gpu::LaunchKernel(function->name,
                                  {grid.x, grid.y, grid.z, block.x, block.y, block.z, shared},
                                  arguments, StreamOf(stream), false);
  });
}

thread_local struct {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
} configuration;

// ---- the driver's side (cuda.h) ----

int DriverResult(Code code) {
  return code == Code::kOk ? 0 : 1;  // CUDA_ERROR_INVALID_VALUE
}
// A device's primary context is its index + 1.
void* ContextOf(int device) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
}
int DeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int PrimaryCtxRetain(void** context, int device) {
  return DriverResult(Call("DevicePrimaryCtxRetain", Safety::kUnsafe, [&] {
    if (device < 0 || device >= fake_gpu::Options().devices) return Code::kInvalidDevice;
    fake_gpu::EnsureContext(device);
    *context = ContextOf(device);
    return Code::kOk;
  }));
}
int PrimaryCtxRelease(int) {
  return DriverResult(Call("DevicePrimaryCtxRelease", Safety::kUnsafe, [] { return Code::kOk; }));
}
int CtxPushCurrent(void* context) {
  return DriverResult(Call("CtxPushCurrent", Safety::kSafe, [&] {
    return fake_gpu::PushContext(static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1);
  }));
}
int CtxPopCurrent(void** context) {
  return DriverResult(Call("CtxPopCurrent", Safety::kSafe, [&] {
    if (context != nullptr) *context = ContextOf(fake_gpu::CurrentDevice());
    return fake_gpu::PopContext();
  }));
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return Safe("GetDeviceCount", [&] { return fake_gpu::DeviceCount(count); });
}
// No call in the sense of the others: it answers without a driver too.
cudaError_t cudaDriverGetVersion(int* version) {
  *version = fake_gpu::Options().old_driver == 1 ? 9000 : 0;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  return Safe("GetDevice", [&] { return fake_gpu::GetDevice(device); });
}
cudaError_t cudaSetDevice(int device) {
  return Safe("SetDevice", [&] { return fake_gpu::SetDevice(device); });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  return Safe("GetDeviceProperties", [&] {
    if (device < 0 || device >= fake_gpu::Options().devices) return Code::kInvalidDevice;
    std::memset(out, 0, sizeof *out);
    std::snprintf(out->name, sizeof out->name, "Fake device %d", device);
    out->major = device == 0 ? 9 : 8;
    out->multiProcessorCount = device == 0 ? 132 : 108;
    return Code::kOk;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* out, int capacity, int device) {
  return Safe("DeviceGetPCIBusId",
              [&] { return fake_gpu::PciBusId(out, static_cast<size_t>(capacity), device); });
}
cudaError_t cudaGetLastError() {
  cudaError_t result = cudaSuccess;
  (void)Safe("GetLastError", [&] {
    result = ErrorOf(fake_gpu::TakeLastError());
    return Code::kOk;
  });
  return result;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return Safe("ThreadExchangeStreamCaptureMode", [&] {
    *mode =
        static_cast<cudaStreamCaptureMode>(fake_gpu::ExchangeCaptureMode(static_cast<int>(*mode)));
    return Code::kOk;
  });
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  return Unsafe("Malloc", [&] { return fake_gpu::Malloc(bytes, out); });
}
cudaError_t cudaFree(void* memory) {
  return Unsafe("Free", [&] { return fake_gpu::Free(memory); });
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  return Unsafe("HostAlloc", [&] { return fake_gpu::HostAlloc(bytes, out); });
}
cudaError_t cudaFreeHost(void* memory) {
  return Unsafe("FreeHost", [&] { return fake_gpu::HostFree(memory); });
}
cudaError_t cudaHostGetDevicePointer(void** out, void* host, unsigned) {
  return Safe("HostGetDevicePointer", [&] { return fake_gpu::HostDevicePointer(host, out); });
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return Safe("MemcpyAsync",
              [&] { return fake_gpu::CopyAsync(dst, src, bytes, StreamOf(stream)); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned flags) {
  return Unsafe("StreamCreate", [&] {
    if (flags != cudaStreamNonBlocking)
      fake_gpu::Found("blocking-stream", "a stream that the default stream blocks");
    return fake_gpu::StreamCreate(reinterpret_cast<fake_gpu::Stream**>(out));
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Unsafe("StreamDestroy", [&] { return fake_gpu::StreamDestroy(StreamOf(stream)); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Unsafe("StreamSynchronize", [&] { return fake_gpu::StreamSynchronize(StreamOf(stream)); });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return Safe("LaunchHostFunc",
              [&] { return fake_gpu::LaunchHost(StreamOf(stream), [=] { function(argument); }); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return Unsafe("EventCreate", [&] {
    return fake_gpu::EventCreate((flags & cudaEventDisableTiming) == 0,
                                 reinterpret_cast<fake_gpu::Event**>(out));
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Unsafe("EventDestroy", [&] { return fake_gpu::EventDestroy(EventOf(event)); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Safe("EventRecord",
              [&] { return fake_gpu::EventRecord(EventOf(event), StreamOf(stream)); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Unsafe("EventQuery", [&] { return fake_gpu::EventQuery(EventOf(event)); });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return Unsafe("EventElapsedTime",
                [&] { return fake_gpu::EventElapsed(EventOf(begin), EventOf(end), ms); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return Safe("StreamWaitEvent",
              [&] { return fake_gpu::StreamWaitEvent(StreamOf(stream), EventOf(event)); });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** out, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return Safe("GetDriverEntryPoint", [&] {
    const struct {
      const char* name;
      void* function;
    } known[] = {{"cuDeviceGet", reinterpret_cast<void*>(&DeviceGet)},
                 {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&PrimaryCtxRetain)},
                 {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(&PrimaryCtxRelease)},
                 {"cuCtxPushCurrent", reinterpret_cast<void*>(&CtxPushCurrent)},
                 {"cuCtxPopCurrent", reinterpret_cast<void*>(&CtxPopCurrent)}};
    *out = nullptr;
    for (const auto& entry : known) {
      if (std::strcmp(entry.name, symbol) == 0) *out = entry.function;
    }
    if (status != nullptr) {
      *status = *out != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return *out != nullptr ? Code::kOk : Code::kInvalidValue;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Safe("StreamBeginCapture", [&] {
    return fake_gpu::StreamBeginCapture(StreamOf(stream), static_cast<int>(mode));
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  return Safe("StreamEndCapture", [&] {
    return fake_gpu::StreamEndCapture(StreamOf(stream), reinterpret_cast<fake_gpu::Graph**>(out));
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph,
                                          unsigned long long) {
  return Unsafe("GraphInstantiate", [&] {
    return fake_gpu::GraphInstantiate(reinterpret_cast<fake_gpu::Graph*>(graph),
                                      reinterpret_cast<fake_gpu::Graph**>(out));
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return Safe("GraphLaunch", [&] {
    return fake_gpu::GraphLaunch(reinterpret_cast<fake_gpu::Graph*>(graph), StreamOf(stream));
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Safe("GraphDestroy", [&] {
    return fake_gpu::GraphDestroy(reinterpret_cast<fake_gpu::Graph*>(graph), false);
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return Safe("GraphExecDestroy", [&] {
    return fake_gpu::GraphDestroy(reinterpret_cast<fake_gpu::Graph*>(graph), true);
  });
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return Launch(Registered(function), grid, block, arguments, shared, stream);
}

// ---- what nvcc's host code calls (crt/host_runtime.h, crt/device_functions.h) ----

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*, void*,
                            void*, void*, int*) {
  functions = new Function{host, name, functions};
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* function) {
  *out = reinterpret_cast<cudaKernel_t>(Registered(function));
  return *out != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return Launch(reinterpret_cast<const Function*>(kernel), grid, block, arguments, shared, stream);
}

}  // extern "C"
