// SPDX-License-Identifier: MIT
// backends/hip/hip_runtime.cc: the HIP runtime's functions that this library and hipcc's objects
// call, each passed on to the libamdhip64 that is there. Linked to a soname, the library would load
// with one major version of ROCm only, and not at all on a machine without.
//
// The library's list of exports (cmake/RankfeedInstall.cmake) keeps these names inside, or they
// would stand before the runtime's own in a program that links both. Only functions whose
// parameters are the same from ROCm 5 to 7 are here: no structures of the runtime's but dim3, and
// no numbers beyond those of hip_runtime_api.h 5.2.
#include <cstdio>
#include <cstring>

#include "backends/hip/names_hip.h"

#ifdef __HIP_PLATFORM_NVIDIA__

namespace rankfeed::handoff {
void HipArchitecture(int device, char* out, size_t capacity) {
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, device) != hipSuccess) properties = {};
  std::snprintf(out, capacity, "capability %d.%d", properties.major, properties.minor);
}
}  // namespace rankfeed::handoff

#else

#include <dlfcn.h>

namespace {

struct Runtime {
  void* library = nullptr;
  int rocm = 0;  // major version
};

// One that the program has loaded already (PyTorch brings its own) before any other: two runtimes
// in one process know nothing of each other's memory.
Runtime Find() {
  for (const int flags : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const int rocm : {7, 6, 5}) {
      char name[32];
      std::snprintf(name, sizeof name, "libamdhip64.so.%d", rocm);
      if (void* const library = dlopen(name, flags)) return {library, rocm};
    }
  }
  return {};
}

const Runtime& Loaded() {
  static const Runtime runtime = Find();
  return runtime;
}

// Null when there is no runtime, or it lacks the function.
void* Symbol(const char* name) {
  void* const library = Loaded().library;
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace

// A function of the runtime: found when it is first called; `absent` without a runtime.
#define RANKFEED_HIP_FUNCTION(type, name, parameters, arguments, absent)     \
  extern "C" type name parameters {                                          \
    using Function = type(*) parameters;                                     \
    static const auto passed_on = reinterpret_cast<Function>(Symbol(#name)); \
    if (passed_on == nullptr) return absent;                                 \
    return passed_on arguments;                                              \
  }
#define RANKFEED_HIP_CALL(name, parameters, arguments) \
  RANKFEED_HIP_FUNCTION(hipError_t, name, parameters, arguments, hipErrorNoDevice)

RANKFEED_HIP_CALL(hipGetDeviceCount, (int* count), (count))
RANKFEED_HIP_CALL(hipDriverGetVersion, (int* version), (version))
RANKFEED_HIP_CALL(hipGetDevice, (int* device), (device))
RANKFEED_HIP_CALL(hipSetDevice, (int device), (device))
RANKFEED_HIP_CALL(hipDeviceGetName, (char* name, int size, hipDevice_t device),
                  (name, size, device))
RANKFEED_HIP_CALL(hipDeviceGetPCIBusId, (char* out, int capacity, int device),
                  (out, capacity, device))
RANKFEED_HIP_FUNCTION(hipError_t, hipGetLastError, (void), (), hipSuccess)
RANKFEED_HIP_CALL(hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode * mode), (mode))
RANKFEED_HIP_CALL(hipMalloc, (void** out, size_t bytes), (out, bytes))
RANKFEED_HIP_CALL(hipFree, (void* memory), (memory))
RANKFEED_HIP_CALL(hipHostMalloc, (void** out, size_t bytes, unsigned flags), (out, bytes, flags))
RANKFEED_HIP_CALL(hipHostFree, (void* memory), (memory))
RANKFEED_HIP_CALL(hipHostGetDevicePointer, (void** out, void* host, unsigned flags),
                  (out, host, flags))
RANKFEED_HIP_CALL(hipMemcpyAsync,
                  (void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                   hipStream_t stream),
                  (to, from, bytes, kind, stream))
RANKFEED_HIP_CALL(hipStreamCreateWithFlags, (hipStream_t * out, unsigned flags), (out, flags))
RANKFEED_HIP_CALL(hipStreamDestroy, (hipStream_t stream), (stream))
RANKFEED_HIP_CALL(hipStreamSynchronize, (hipStream_t stream), (stream))
RANKFEED_HIP_CALL(hipStreamWaitEvent, (hipStream_t stream, hipEvent_t event, unsigned flags),
                  (stream, event, flags))
RANKFEED_HIP_CALL(hipStreamAddCallback,
                  (hipStream_t stream, hipStreamCallback_t function, void* data, unsigned flags),
                  (stream, function, data, flags))
RANKFEED_HIP_CALL(hipEventCreateWithFlags, (hipEvent_t * out, unsigned flags), (out, flags))
RANKFEED_HIP_CALL(hipEventDestroy, (hipEvent_t event), (event))
RANKFEED_HIP_CALL(hipEventRecord, (hipEvent_t event, hipStream_t stream), (event, stream))
RANKFEED_HIP_CALL(hipEventQuery, (hipEvent_t event), (event))
RANKFEED_HIP_CALL(hipEventElapsedTime, (float* ms, hipEvent_t begin, hipEvent_t end),
                  (ms, begin, end))
RANKFEED_HIP_CALL(hipStreamBeginCapture, (hipStream_t stream, hipStreamCaptureMode mode),
                  (stream, mode))
RANKFEED_HIP_CALL(hipStreamEndCapture, (hipStream_t stream, hipGraph_t* out), (stream, out))
RANKFEED_HIP_CALL(hipGraphInstantiateWithFlags,
                  (hipGraphExec_t * out, hipGraph_t graph, unsigned long long flags),
                  (out, graph, flags))
RANKFEED_HIP_CALL(hipGraphLaunch, (hipGraphExec_t graph, hipStream_t stream), (graph, stream))
RANKFEED_HIP_CALL(hipGraphDestroy, (hipGraph_t graph), (graph))
RANKFEED_HIP_CALL(hipGraphExecDestroy, (hipGraphExec_t graph), (graph))
RANKFEED_HIP_CALL(hipLaunchKernel,
                  (const void* function_address, dim3 grid, dim3 block, void** arguments,
                   size_t shared, hipStream_t stream),
                  (function_address, grid, block, arguments, shared, stream))

// Functions that hipcc's objects call on their own: when they are loaded, and in the functions that
// stand for kernels, which are not used to launch.
RANKFEED_HIP_FUNCTION(void**, __hipRegisterFatBinary, (const void* data), (data), nullptr)
RANKFEED_HIP_FUNCTION(void, __hipUnregisterFatBinary, (void** modules), (modules), )
RANKFEED_HIP_FUNCTION(void, __hipRegisterFunction,
                      (void** modules, const void* host, char* device_function, const char* name,
                       unsigned limit, void* thread, void* block, void* block_size, void* grid_size,
                       int* warp_size),
                      (modules, host, device_function, name, limit, thread, block, block_size,
                       grid_size, warp_size), )
RANKFEED_HIP_CALL(__hipPushCallConfiguration,
                  (dim3 grid, dim3 block, size_t shared, hipStream_t stream),
                  (grid, block, shared, stream))
RANKFEED_HIP_CALL(__hipPopCallConfiguration,
                  (dim3 * grid, dim3* block, size_t* shared, hipStream_t* stream),
                  (grid, block, shared, stream))

namespace rankfeed::handoff {

void HipArchitecture(int device, char* out, size_t capacity) {
  std::snprintf(out, capacity, "ROCm %d", Loaded().rocm);
  // The structure has grown in ROCm 6: only its own runtime is asked.
  if (Loaded().rocm != 5) return;
  using Function = hipError_t (*)(hipDeviceProp_t*, int);
  const auto function = reinterpret_cast<Function>(Symbol("hipGetDeviceProperties"));
  hipDeviceProp_t properties;
  if (function != nullptr && function(&properties, device) == hipSuccess)
    std::snprintf(out, capacity, "%.31s", properties.gcnArchName);
}

}  // namespace rankfeed::handoff

#endif
