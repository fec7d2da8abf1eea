// SPDX-License-Identifier: MIT
// cuda/backend_cuda.cc: the backend over the CUDA runtime. Plain C++; the kernels are in
// ops_cuda.cu. hip/backend_hip.cc is the same file over HIP: a change belongs in both.
//
// The runtime is linked statically (libcudart_static) and finds the driver when it is first asked,
// so a machine without a driver gets NO_DEVICE and nothing fails to load.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <type_traits>

#include "backend.h"
#include "cuda/ops_cuda.h"

namespace rankfeed::handoff {
namespace {

// The driver's part (cuda.h), whose results are the runtime's error numbers. Contexts are pushed
// and popped, because cudaSetDevice has no way back: restoring a device that the thread had by
// default would make a context there (CUDA 12 and later).
struct Driver {
  int (*retain)(void** context, int device);
  int (*release)(int device);
  int (*push)(void* context);
  int (*pop)(void** context);
};

struct Context {
  int device;
  Driver driver;
  void* primary;  // the device's primary context, which the runtime uses too
  void* gemm;     // gemm_cublaslt.cc
};

int32_t ResultOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return RANKFEED_GPU_OK;
    case cudaErrorNotReady:
      return RANKFEED_GPU_NOT_READY;
    case cudaErrorMemoryAllocation:
      return RANKFEED_GPU_NO_MEMORY;
    case cudaErrorNoDevice:
      return RANKFEED_GPU_NO_DEVICE;
    case cudaErrorInsufficientDriver:
      return RANKFEED_GPU_OLD_DRIVER;
    default:
      return static_cast<int32_t>(error);
  }
}

int32_t Finish(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
  return ResultOf(error);
}

cudaStream_t StreamOf(void* stream) {
  return static_cast<cudaStream_t>(stream);
}
cudaEvent_t EventOf(void* event) {
  return static_cast<cudaEvent_t>(event);
}

int32_t DeviceCount(void*, int32_t* count) {
  int devices = 0;
  int32_t rc = Finish(cudaGetDeviceCount(&devices));
  // The runtime says of no driver what it says of an old one; only the former has no version.
  int version = 0;
  if (rc == RANKFEED_GPU_OLD_DRIVER &&
      (Finish(cudaDriverGetVersion(&version)) != RANKFEED_GPU_OK || version == 0)) {
    rc = RANKFEED_GPU_NO_DEVICE;
  }
  *count = rc == RANKFEED_GPU_OK ? devices : 0;
  return rc == RANKFEED_GPU_OK && devices == 0 ? int32_t{RANKFEED_GPU_NO_DEVICE} : rc;
}

// The thread's capture mode to the one given; the one before.
int ExchangeCaptureMode(int wanted) {
  auto mode = static_cast<cudaStreamCaptureMode>(wanted);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  return static_cast<int>(mode);
}

int32_t FindDriver(Driver* driver) {
  const auto find = [](auto* function, const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    // 12000: none of these has changed since.
    const int32_t rc =
        Finish(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
    return rc != RANKFEED_GPU_OK || found != nullptr ? rc : int32_t{RANKFEED_GPU_OLD_DRIVER};
  };
  int32_t rc = find(&driver->retain, "cuDevicePrimaryCtxRetain");
  if (rc == RANKFEED_GPU_OK) rc = find(&driver->release, "cuDevicePrimaryCtxRelease");
  if (rc == RANKFEED_GPU_OK) rc = find(&driver->push, "cuCtxPushCurrent");
  if (rc == RANKFEED_GPU_OK) rc = find(&driver->pop, "cuCtxPopCurrent");
  return rc;
}

int32_t DeviceOpen(void* self, int32_t device, void** ctx) {
  *ctx = nullptr;
  int32_t count = 0;
  if (const int32_t rc = DeviceCount(self, &count)) return rc;
  if (device < 0 || device >= count) return RANKFEED_GPU_NO_DEVICE;
  auto* context = new (std::nothrow) Context{device, {}, nullptr, nullptr};
  if (context == nullptr) return RANKFEED_GPU_NO_MEMORY;
  const int mode = ExchangeCaptureMode(cudaStreamCaptureModeRelaxed);
  int32_t rc = FindDriver(&context->driver);
  // Ordinals and the driver's device handles are the same numbers (cuDeviceGet).
  if (rc == RANKFEED_GPU_OK)
    rc = ResultOf(static_cast<cudaError_t>(context->driver.retain(&context->primary, device)));
  (void)ExchangeCaptureMode(mode);
  if (rc != RANKFEED_GPU_OK) {
    delete context;
    return rc;
  }
  *ctx = context;
  return RANKFEED_GPU_OK;
}

void DeviceClose(void* ctx) {
  auto* const context = static_cast<Context*>(ctx);
  if (context->gemm != nullptr) CudaGemmClose(ctx);
  const int mode = ExchangeCaptureMode(cudaStreamCaptureModeRelaxed);
  (void)context->driver.release(context->device);
  (void)ExchangeCaptureMode(mode);
  delete context;
}

void Describe(void* ctx, char* out, size_t capacity) {
  cudaDeviceProp properties;
  const cudaError_t error =
      cudaGetDeviceProperties(&properties, static_cast<Context*>(ctx)->device);
  if (Finish(error) != RANKFEED_GPU_OK) {
    std::snprintf(out, capacity, "unknown device");
    return;
  }
  std::snprintf(out, capacity, "%.40s, sm_%d%d", properties.name, properties.major,
                properties.minor);
}

int32_t PageLock(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out) {
  *out = {};
  if (flags != 0 || bytes == 0) return RANKFEED_GPU_INVALID;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  void* host = nullptr;
  if (const int32_t rc =
          Finish(cudaHostAlloc(&host, bytes, cudaHostAllocPortable | cudaHostAllocMapped)))
    return rc;
  std::memset(host, 0, bytes);
  void* mapped = nullptr;
  if (cudaHostGetDevicePointer(&mapped, host, 0) != cudaSuccess) {
    (void)cudaGetLastError();
    mapped = nullptr;
  }
  out->host = host;
  out->mapped = mapped;
  out->bytes = bytes;
  out->locked = 1;
  return RANKFEED_GPU_OK;
}

// Waits for the device (CUDA C Programming Guide, implicit synchronization), as backend.h asks.
void PageUnlock(void* ctx, rankfeed_gpu_host_block* block) {
  const CudaScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(cudaFreeHost(block->host));
  *block = {};
}

int32_t DeviceAlloc(void* ctx, size_t bytes, void** out) {
  *out = nullptr;
  if (bytes == 0) return RANKFEED_GPU_INVALID;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(cudaMalloc(out, bytes));
}
void DeviceFree(void* ctx, void* memory) {
  if (memory == nullptr) return;
  const CudaScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(cudaFree(memory));
}

int32_t StreamCreate(void* ctx, void** stream) {
  *stream = nullptr;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  cudaStream_t made = nullptr;
  const int32_t rc = Finish(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  *stream = made;
  return rc;
}
void StreamDestroy(void* ctx, void* stream) {
  if (stream == nullptr) return;
  const CudaScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(cudaStreamDestroy(StreamOf(stream)));
}
int32_t StreamSynchronize(void* ctx, void* stream) {
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(cudaStreamSynchronize(StreamOf(stream)));
}
int32_t LaunchHost(void* ctx, void* stream, void (*function)(void*), void* argument) {
  if (function == nullptr) return RANKFEED_GPU_INVALID;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(cudaLaunchHostFunc(StreamOf(stream), function, argument));
}

int32_t CopyAsync(void* ctx, void* dst, const void* src, size_t bytes, void* stream) {
  if (dst == nullptr || src == nullptr) return RANKFEED_GPU_INVALID;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, StreamOf(stream)));
}

int32_t EventCreate(void* ctx, void** event) {
  *event = nullptr;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  cudaEvent_t made = nullptr;
  const int32_t rc = Finish(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  *event = made;
  return rc;
}
int32_t EventCreateTimed(void* ctx, void** event) {
  *event = nullptr;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  cudaEvent_t made = nullptr;
  const int32_t rc = Finish(cudaEventCreateWithFlags(&made, cudaEventDefault));
  *event = made;
  return rc;
}
void EventDestroy(void* ctx, void* event) {
  if (event == nullptr) return;
  const CudaScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(cudaEventDestroy(EventOf(event)));
}
int32_t EventRecord(void* ctx, void* event, void* stream) {
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(cudaEventRecord(EventOf(event), StreamOf(stream)));
}
// In a scope too: from a thread without a device the runtime would make a context on device 0. An
// event that a capture has recorded says nothing about the slot before the graph has run.
int32_t EventQuery(void* ctx, void* event) {
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  const cudaError_t error = cudaEventQuery(EventOf(event));
  const int32_t rc = Finish(error);
  return error == cudaErrorStreamCaptureUnsupported || error == cudaErrorCapturedEvent
             ? int32_t{RANKFEED_GPU_NOT_READY}
             : rc;
}
int32_t StreamWaitEvent(void* ctx, void* stream, void* event) {
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(cudaStreamWaitEvent(StreamOf(stream), EventOf(event), 0));
}
// Milliseconds in a float: good to half a microsecond within seconds, which batches stay below.
int32_t EventElapsed(void* ctx, void* begin, void* end, uint64_t* ns) {
  *ns = 0;
  const CudaScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  float ms = 0;
  const cudaError_t error = cudaEventElapsedTime(&ms, EventOf(begin), EventOf(end));
  *ns = error == cudaSuccess && ms > 0 ? static_cast<uint64_t>(static_cast<double>(ms) * 1e6) : 0;
  // Never recorded: the vendor calls the handle invalid.
  return error == cudaErrorInvalidResourceHandle
             ? (void(cudaGetLastError()), int32_t{RANKFEED_GPU_NOT_READY})
             : Finish(error);
}

}  // namespace

CudaScope::CudaScope(void* ctx) : ctx_(ctx), mode_(0) {
  const auto& context = *static_cast<Context*>(ctx);
  rc_ = ResultOf(static_cast<cudaError_t>(context.driver.push(context.primary)));
  if (rc_ == RANKFEED_GPU_OK) mode_ = ExchangeCaptureMode(cudaStreamCaptureModeRelaxed);
}

CudaScope::~CudaScope() {
  if (rc_ != RANKFEED_GPU_OK) return;
  (void)ExchangeCaptureMode(mode_);
  (void)static_cast<Context*>(ctx_)->driver.pop(nullptr);
}

int32_t CudaFinish(int error) {
  return Finish(static_cast<cudaError_t>(error));
}
void** CudaGemmPlace(void* ctx) {
  return &static_cast<Context*>(ctx)->gemm;
}

}  // namespace rankfeed::handoff

extern "C" RANKFEED_API const rankfeed_gpu_backend* rankfeed_handoff_cuda_backend(void) {
  using namespace rankfeed::handoff;
  static const rankfeed_gpu_backend kBackend = [] {
    rankfeed_gpu_backend b{};
    b.struct_size = sizeof(b);
    b.abi = RANKFEED_GPU_BACKEND_ABI;
    b.name = "cuda";
    b.dl_host_device_type = RANKFEED_DL_CUDA_HOST;
    b.dl_device_type = RANKFEED_DL_CUDA;
    b.device_count = DeviceCount;
    b.device_open = DeviceOpen;
    b.device_close = DeviceClose;
    b.describe = Describe;
    b.page_lock = PageLock;
    b.page_unlock = PageUnlock;
    b.device_alloc = DeviceAlloc;
    b.device_free = DeviceFree;
    b.stream_create = StreamCreate;
    b.stream_destroy = StreamDestroy;
    b.stream_synchronize = StreamSynchronize;
    b.launch_host = LaunchHost;
    b.copy_async = CopyAsync;
    b.event_create = EventCreate;
    b.event_destroy = EventDestroy;
    b.event_record = EventRecord;
    b.event_query = EventQuery;
    b.stream_wait_event = StreamWaitEvent;
    b.event_create_timed = EventCreateTimed;
    b.event_elapsed = EventElapsed;
    b.ops = CudaOps();
    return b;
  }();
  return &kBackend;
}
