// SPDX-License-Identifier: MIT
// backends/hip/hip_runtime.cc: the libamdhip64 that is there, and the functions of it that hipcc's
// objects call on their own, passed on to it.
//
// The library's list of exports (cmake/RankfeedInstall.cmake) keeps these names inside, or they
// would stand before the runtime's own in a program that links both.
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

}  // namespace

namespace rankfeed::handoff {
void* HipSymbol(const char* name) {
  void* const library = Loaded().library;
  return library == nullptr ? nullptr : dlsym(library, name);
}
}  // namespace rankfeed::handoff

using rankfeed::handoff::HipSymbol;

// A function of the runtime: found when it is first called; `absent` without a runtime.
#define RANKFEED_HIP_FUNCTION(type, name, parameters, arguments, absent)        \
  extern "C" type name parameters {                                             \
    using Function = type(*) parameters;                                        \
    static const auto passed_on = reinterpret_cast<Function>(HipSymbol(#name)); \
    if (passed_on == nullptr) return absent;                                    \
    return passed_on arguments;                                                 \
  }
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
RANKFEED_HIP_FUNCTION(hipError_t, __hipPushCallConfiguration,
                      (dim3 grid, dim3 block, size_t shared, hipStream_t stream),
                      (grid, block, shared, stream), hipErrorNoDevice)
RANKFEED_HIP_FUNCTION(hipError_t, __hipPopCallConfiguration,
                      (dim3 * grid, dim3* block, size_t* shared, hipStream_t* stream),
                      (grid, block, shared, stream), hipErrorNoDevice)
RANKFEED_HIP_FUNCTION(hipError_t, hipLaunchKernel,
                      (const void* function_address, dim3 grid, dim3 block, void** arguments,
                       size_t shared, hipStream_t stream),
                      (function_address, grid, block, arguments, shared, stream), hipErrorNoDevice)

namespace rankfeed::handoff {

void HipArchitecture(int device, char* out, size_t capacity) {
  std::snprintf(out, capacity, "ROCm %d", Loaded().rocm);
  // The structure has grown in ROCm 6: only its own runtime is asked.
  if (Loaded().rocm != 5) return;
  using Function = hipError_t (*)(hipDeviceProp_t*, int);
  const auto function = reinterpret_cast<Function>(HipSymbol("hipGetDeviceProperties"));
  hipDeviceProp_t properties;
  if (function != nullptr && function(&properties, device) == hipSuccess)
    std::snprintf(out, capacity, "%.31s", properties.gcnArchName);
}

}  // namespace rankfeed::handoff

#endif
