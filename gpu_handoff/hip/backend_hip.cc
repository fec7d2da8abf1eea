// SPDX-License-Identifier: MIT
// hip/backend_hip.cc: the backend over the HIP runtime. Plain C++; the kernels are in
// ops_hip.hip.cc. cuda/backend_cuda.cc is the same file over CUDA: a change belongs in both.
//
// The runtime (libamdhip64) is a dependency of this library alone, which programs load when they
// are asked for a HIP device; a machine without a device gets NO_DEVICE.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "backend.h"
#include "hip/ops_hip.h"

namespace rankfeed::handoff {
namespace {

struct Context {
  int device;
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
    case hipErrorInsufficientDriver:
    case hipErrorInvalidDevice:
      return RANKFEED_GPU_NO_DEVICE;
    default:
      return static_cast<int32_t>(error);
  }
}

// The device is a property of the calling thread; every entry selects its own.
int32_t Select(void* ctx) {
  return ResultOf(hipSetDevice(static_cast<Context*>(ctx)->device));
}

// Clears the error that the runtime keeps for the next caller, unless it is one that sticks.
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
  const int32_t rc = Finish(hipGetDeviceCount(&devices));
  *count = rc == RANKFEED_GPU_OK ? devices : 0;
  return rc == RANKFEED_GPU_OK && devices == 0 ? int32_t{RANKFEED_GPU_NO_DEVICE} : rc;
}

int32_t DeviceOpen(void* self, int32_t device, void** ctx) {
  *ctx = nullptr;
  int32_t count = 0;
  if (const int32_t rc = DeviceCount(self, &count)) return rc;
  if (device < 0 || device >= count) return RANKFEED_GPU_NO_DEVICE;
  auto* context = new (std::nothrow) Context{device};
  if (context == nullptr) return RANKFEED_GPU_NO_MEMORY;
  // The first call that needs the device makes the runtime's own context: here, not in a batch.
  int32_t rc = Select(context);
  if (rc == RANKFEED_GPU_OK) rc = Finish(hipFree(nullptr));
  if (rc != RANKFEED_GPU_OK) {
    delete context;
    return rc;
  }
  *ctx = context;
  return RANKFEED_GPU_OK;
}

void DeviceClose(void* ctx) {
  delete static_cast<Context*>(ctx);
}

void Describe(void* ctx, char* out, size_t capacity) {
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, static_cast<Context*>(ctx)->device) != hipSuccess) {
    std::snprintf(out, capacity, "unknown device");
    return;
  }
  std::snprintf(out, capacity, "%.40s, capability %d.%d", properties.name, properties.major,
                properties.minor);
}

int32_t PageLock(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out) {
  *out = {};
  if (flags != 0 || bytes == 0) return RANKFEED_GPU_INVALID;
  if (const int32_t rc = Select(ctx)) return rc;
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
  if (Select(ctx) == RANKFEED_GPU_OK) (void)Finish(hipHostFree(block->host));
  *block = {};
}

int32_t DeviceAlloc(void* ctx, size_t bytes, void** out) {
  *out = nullptr;
  if (bytes == 0) return RANKFEED_GPU_INVALID;
  if (const int32_t rc = Select(ctx)) return rc;
  return Finish(hipMalloc(out, bytes));
}
void DeviceFree(void* ctx, void* memory) {
  if (memory != nullptr && Select(ctx) == RANKFEED_GPU_OK) (void)Finish(hipFree(memory));
}

int32_t StreamCreate(void* ctx, void** stream) {
  *stream = nullptr;
  if (const int32_t rc = Select(ctx)) return rc;
  hipStream_t made = nullptr;
  const int32_t rc = Finish(hipStreamCreateWithFlags(&made, hipStreamNonBlocking));
  *stream = made;
  return rc;
}
void StreamDestroy(void* ctx, void* stream) {
  if (stream != nullptr && Select(ctx) == RANKFEED_GPU_OK)
    (void)Finish(hipStreamDestroy(StreamOf(stream)));
}
int32_t StreamSynchronize(void* ctx, void* stream) {
  if (const int32_t rc = Select(ctx)) return rc;
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
  if (const int32_t rc = Select(ctx)) return rc;
  auto* call = new (std::nothrow) HostCall{function, argument};
  if (call == nullptr) return RANKFEED_GPU_NO_MEMORY;
  const int32_t rc = Finish(hipStreamAddCallback(StreamOf(stream), RunHostCall, call, 0));
  if (rc != RANKFEED_GPU_OK) delete call;
  return rc;
}

int32_t CopyAsync(void* ctx, void* dst, const void* src, size_t bytes, void* stream) {
  if (dst == nullptr || src == nullptr) return RANKFEED_GPU_INVALID;
  if (const int32_t rc = Select(ctx)) return rc;
  return Finish(hipMemcpyAsync(dst, src, bytes, hipMemcpyDefault, StreamOf(stream)));
}

int32_t EventCreate(void* ctx, void** event) {
  *event = nullptr;
  if (const int32_t rc = Select(ctx)) return rc;
  hipEvent_t made = nullptr;
  const int32_t rc = Finish(hipEventCreateWithFlags(&made, hipEventDisableTiming));
  *event = made;
  return rc;
}
int32_t EventCreateTimed(void* ctx, void** event) {
  *event = nullptr;
  if (const int32_t rc = Select(ctx)) return rc;
  hipEvent_t made = nullptr;
  const int32_t rc = Finish(hipEventCreateWithFlags(&made, hipEventDefault));
  *event = made;
  return rc;
}
void EventDestroy(void* ctx, void* event) {
  if (event != nullptr && Select(ctx) == RANKFEED_GPU_OK)
    (void)Finish(hipEventDestroy(EventOf(event)));
}
int32_t EventRecord(void* ctx, void* event, void* stream) {
  if (const int32_t rc = Select(ctx)) return rc;
  return Finish(hipEventRecord(EventOf(event), StreamOf(stream)));
}
// Needs no current device, and is what a full ring does most.
int32_t EventQuery(void*, void* event) {
  return Finish(hipEventQuery(EventOf(event)));
}
int32_t StreamWaitEvent(void* ctx, void* stream, void* event) {
  if (const int32_t rc = Select(ctx)) return rc;
  return Finish(hipStreamWaitEvent(StreamOf(stream), EventOf(event), 0));
}
// Milliseconds in a float: good to half a microsecond within seconds, which batches stay below.
int32_t EventElapsed(void*, void* begin, void* end, uint64_t* ns) {
  float ms = 0;
  const hipError_t error = hipEventElapsedTime(&ms, EventOf(begin), EventOf(end));
  *ns = error == hipSuccess && ms > 0 ? static_cast<uint64_t>(static_cast<double>(ms) * 1e6) : 0;
  // Never recorded: the vendor calls the handle invalid.
  return error == hipErrorInvalidHandle ? (void(hipGetLastError()), int32_t{RANKFEED_GPU_NOT_READY})
                                        : Finish(error);
}

}  // namespace

int32_t HipSelect(void* ctx) {
  return Select(ctx);
}
int HipDevice(void* ctx) {
  return static_cast<Context*>(ctx)->device;
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
