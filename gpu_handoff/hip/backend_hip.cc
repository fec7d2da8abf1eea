// SPDX-License-Identifier: MIT
// hip/backend_hip.cc: the backend over the HIP runtime. Plain C++; the kernels are in
// ops_hip.hip.cc. cuda/backend_cuda.cc is the same file over CUDA: a change belongs in both.
//
// hip_runtime.cc opens the runtime (libamdhip64) that is there; a machine without it or without a
// device gets NO_DEVICE.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "backend.h"
#include "hip/ops_hip.h"

#ifdef __HIP_PLATFORM_NVIDIA__  // missing in HIP's headers for that platform
#define hipThreadExchangeStreamCaptureMode cudaThreadExchangeStreamCaptureMode
#endif

namespace rankfeed::handoff {
namespace {

struct Context {
  int device;
  void* gemm;  // gemm_hipblaslt.cc
};

int32_t ResultOf(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return RANKFEED_GPU_OK;
    case hipErrorNotReady:
      return RANKFEED_GPU_NOT_READY;
    case hipErrorOutOfMemory:
      return RANKFEED_GPU_NO_MEMORY;
    case hipErrorNoDevice:
      return RANKFEED_GPU_NO_DEVICE;
    case hipErrorInsufficientDriver:
      return RANKFEED_GPU_OLD_DRIVER;
    default:
      return static_cast<int32_t>(error);
  }
}

int32_t Finish(hipError_t error) {
  if (error != hipSuccess) (void)hipGetLastError();
  return ResultOf(error);
}

hipStream_t StreamOf(void* stream) {
  return static_cast<hipStream_t>(stream);
}
hipEvent_t EventOf(void* event) {
  return static_cast<hipEvent_t>(event);
}

int32_t DeviceCount(void*, int32_t* count) {
  int devices = 0;
  int32_t rc = Finish(hipGetDeviceCount(&devices));
  // The runtime says of no driver what it says of an old one; only the former has no version.
  int version = 0;
  if (rc == RANKFEED_GPU_OLD_DRIVER &&
      (Finish(hipDriverGetVersion(&version)) != RANKFEED_GPU_OK || version == 0)) {
    rc = RANKFEED_GPU_NO_DEVICE;
  }
  *count = rc == RANKFEED_GPU_OK ? devices : 0;
  return rc == RANKFEED_GPU_OK && devices == 0 ? int32_t{RANKFEED_GPU_NO_DEVICE} : rc;
}

int32_t DeviceOpen(void* self, int32_t device, void** ctx) {
  *ctx = nullptr;
  int32_t count = 0;
  if (const int32_t rc = DeviceCount(self, &count)) return rc;
  if (device < 0 || device >= count) return RANKFEED_GPU_NO_DEVICE;
  auto* context = new (std::nothrow) Context{device, nullptr};
  if (context == nullptr) return RANKFEED_GPU_NO_MEMORY;
  // The first call that needs the device makes the runtime's own context: here, not in a batch.
  int32_t rc = RANKFEED_GPU_OK;
  {
    const HipScope scope(context);
    rc = scope.rc() != RANKFEED_GPU_OK ? scope.rc() : Finish(hipFree(nullptr));
  }
  if (rc != RANKFEED_GPU_OK) {
    delete context;
    return rc;
  }
  *ctx = context;
  return RANKFEED_GPU_OK;
}

void DeviceClose(void* ctx) {
  if (static_cast<Context*>(ctx)->gemm != nullptr) HipGemmClose(ctx);
  delete static_cast<Context*>(ctx);
}

void Describe(void* ctx, char* out, size_t capacity) {
  const int device = static_cast<Context*>(ctx)->device;
  char name[64] = "", architecture[32] = "";
  if (Finish(hipDeviceGetName(name, sizeof name, device)) != RANKFEED_GPU_OK) {
    std::snprintf(out, capacity, "unknown device");
    return;
  }
  HipArchitecture(device, architecture, sizeof architecture);
  std::snprintf(out, capacity, "%.40s, %s", name, architecture);
}

int32_t PageLock(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out) {
  *out = {};
  if (flags != 0 || bytes == 0) return RANKFEED_GPU_INVALID;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  void* host = nullptr;
  if (const int32_t rc =
          Finish(hipHostMalloc(&host, bytes, hipHostMallocPortable | hipHostMallocMapped)))
    return rc;
  std::memset(host, 0, bytes);
  void* mapped = nullptr;
  if (hipHostGetDevicePointer(&mapped, host, 0) != hipSuccess) {
    (void)hipGetLastError();
    mapped = nullptr;
  }
  out->host = host;
  out->mapped = mapped;
  out->bytes = bytes;
  out->locked = 1;
  return RANKFEED_GPU_OK;
}

// Waits for the device (HIP programming manual, host memory), as backend.h asks.
void PageUnlock(void* ctx, rankfeed_gpu_host_block* block) {
  const HipScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(hipHostFree(block->host));
  *block = {};
}

int32_t DeviceAlloc(void* ctx, size_t bytes, void** out) {
  *out = nullptr;
  if (bytes == 0) return RANKFEED_GPU_INVALID;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(hipMalloc(out, bytes));
}
void DeviceFree(void* ctx, void* memory) {
  if (memory == nullptr) return;
  const HipScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(hipFree(memory));
}

int32_t StreamCreate(void* ctx, void** stream) {
  *stream = nullptr;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  hipStream_t made = nullptr;
  const int32_t rc = Finish(hipStreamCreateWithFlags(&made, hipStreamNonBlocking));
  *stream = made;
  return rc;
}
void StreamDestroy(void* ctx, void* stream) {
  if (stream == nullptr) return;
  const HipScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(hipStreamDestroy(StreamOf(stream)));
}
int32_t StreamSynchronize(void* ctx, void* stream) {
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(hipStreamSynchronize(StreamOf(stream)));
}
// hipLaunchHostFunc is declared but not defined by HIP 5.2 (Debian 12), so the older callback
// stands in, whose function has another form.
struct HostCall {
  void (*function)(void*);
  void* argument;
};
void RunHostCall(hipStream_t, hipError_t, void* call) {
  const HostCall copy = *static_cast<HostCall*>(call);
  delete static_cast<HostCall*>(call);
  copy.function(copy.argument);
}
int32_t LaunchHost(void* ctx, void* stream, void (*function)(void*), void* argument) {
  if (function == nullptr) return RANKFEED_GPU_INVALID;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  auto* call = new (std::nothrow) HostCall{function, argument};
  if (call == nullptr) return RANKFEED_GPU_NO_MEMORY;
  const int32_t rc = Finish(hipStreamAddCallback(StreamOf(stream), RunHostCall, call, 0));
  if (rc != RANKFEED_GPU_OK) delete call;
  return rc;
}

int32_t CopyAsync(void* ctx, void* dst, const void* src, size_t bytes, void* stream) {
  if (dst == nullptr || src == nullptr) return RANKFEED_GPU_INVALID;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(hipMemcpyAsync(dst, src, bytes, hipMemcpyDefault, StreamOf(stream)));
}

int32_t EventCreate(void* ctx, void** event) {
  *event = nullptr;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  hipEvent_t made = nullptr;
  const int32_t rc = Finish(hipEventCreateWithFlags(&made, hipEventDisableTiming));
  *event = made;
  return rc;
}
int32_t EventCreateTimed(void* ctx, void** event) {
  *event = nullptr;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  hipEvent_t made = nullptr;
  const int32_t rc = Finish(hipEventCreateWithFlags(&made, hipEventDefault));
  *event = made;
  return rc;
}
void EventDestroy(void* ctx, void* event) {
  if (event == nullptr) return;
  const HipScope scope(ctx);
  if (scope.rc() == RANKFEED_GPU_OK) (void)Finish(hipEventDestroy(EventOf(event)));
}
int32_t EventRecord(void* ctx, void* event, void* stream) {
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(hipEventRecord(EventOf(event), StreamOf(stream)));
}
// An event that a capture has recorded says nothing about the slot before the graph has run.
int32_t EventQuery(void* ctx, void* event) {
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  const hipError_t error = hipEventQuery(EventOf(event));
  const int32_t rc = Finish(error);
  return error == hipErrorStreamCaptureUnsupported || error == hipErrorCapturedEvent
             ? int32_t{RANKFEED_GPU_NOT_READY}
             : rc;
}
int32_t StreamWaitEvent(void* ctx, void* stream, void* event) {
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  return Finish(hipStreamWaitEvent(StreamOf(stream), EventOf(event), 0));
}
// Milliseconds in a float: good to half a microsecond within seconds, which batches stay below.
int32_t EventElapsed(void* ctx, void* begin, void* end, uint64_t* ns) {
  *ns = 0;
  const HipScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  float ms = 0;
  const hipError_t error = hipEventElapsedTime(&ms, EventOf(begin), EventOf(end));
  *ns = error == hipSuccess && ms > 0 ? static_cast<uint64_t>(static_cast<double>(ms) * 1e6) : 0;
  // Never recorded: the vendor calls the handle invalid.
  return error == hipErrorInvalidHandle ? (void(hipGetLastError()), int32_t{RANKFEED_GPU_NOT_READY})
                                        : Finish(error);
}

}  // namespace

// hipSetDevice makes no context, so what was current can be set again.
HipScope::HipScope(void* ctx) : device_(0), mode_(hipStreamCaptureModeRelaxed) {
  const int device = static_cast<Context*>(ctx)->device;
  rc_ = Finish(hipGetDevice(&device_));
  if (rc_ == RANKFEED_GPU_OK && device_ != device) rc_ = Finish(hipSetDevice(device));
  if (rc_ != RANKFEED_GPU_OK) return;
  auto mode = static_cast<hipStreamCaptureMode>(mode_);
  (void)hipThreadExchangeStreamCaptureMode(&mode);
  mode_ = static_cast<int>(mode);
  changed_ = device_ != device;
}

HipScope::~HipScope() {
  if (rc_ != RANKFEED_GPU_OK) return;
  auto mode = static_cast<hipStreamCaptureMode>(mode_);
  (void)hipThreadExchangeStreamCaptureMode(&mode);
  if (changed_) (void)hipSetDevice(device_);
}

int32_t HipFinish(int error) {
  return Finish(static_cast<hipError_t>(error));
}
void** HipGemmPlace(void* ctx) {
  return &static_cast<Context*>(ctx)->gemm;
}

}  // namespace rankfeed::handoff

extern "C" RANKFEED_API const rankfeed_gpu_backend* rankfeed_handoff_hip_backend(void) {
  using namespace rankfeed::handoff;
  static const rankfeed_gpu_backend kBackend = [] {
    rankfeed_gpu_backend b{};
    b.struct_size = sizeof(b);
    b.abi = RANKFEED_GPU_BACKEND_ABI;
    b.name = "hip";
#ifdef __HIP_PLATFORM_NVIDIA__  // the same sources over CUDA, to run them where no AMD device is
    b.dl_host_device_type = RANKFEED_DL_CUDA_HOST;
    b.dl_device_type = RANKFEED_DL_CUDA;
#else
    b.dl_host_device_type = RANKFEED_DL_ROCM_HOST;
    b.dl_device_type = RANKFEED_DL_ROCM;
#endif
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
    b.ops = HipOps();
    return b;
  }();
  return &kBackend;
}
