// SPDX-License-Identifier: MIT
// backends/device/backend_device.cc: the backend over a vendor's runtime, compiled once for each
// vendor (vendor.h). Plain C++; the kernels are in crossencoder/kernels/ops_device.cu.
#include <cstring>
#include <new>

#include "backend.h"
#include "backends/device/device.h"
#include "backends/device/vendor.h"

namespace rankfeed::handoff {
namespace {

struct Context {
  VendorDevice device;
  Attachment attached;
};

Context& ContextOf(void* ctx) {
  return *static_cast<Context*>(ctx);
}

int32_t ResultOf(vendor::Error error) {
  switch (error) {
    case vendor::kSuccess:
      return RANKFEED_GPU_OK;
    case RANKFEED_VENDOR_NAME(ErrorNotReady):
      return RANKFEED_GPU_NOT_READY;
    case RANKFEED_VENDOR_NAME(ErrorMemoryAllocation):
      return RANKFEED_GPU_NO_MEMORY;
    case RANKFEED_VENDOR_NAME(ErrorNoDevice):
      return RANKFEED_GPU_NO_DEVICE;
    case RANKFEED_VENDOR_NAME(ErrorInsufficientDriver):
      return RANKFEED_GPU_OLD_DRIVER;
    default:
      return static_cast<int32_t>(error);
  }
}

int32_t Finish(vendor::Error error) {
  if (error != vendor::kSuccess) (void)RANKFEED_VENDOR_CALL(GetLastError)();
  return ResultOf(error);
}

// Returns the result of a call of the runtime with the context's device current.
template <class Call>
int32_t InScope(void* ctx, const Call& call) {
  const DeviceScope scope(ctx);
  return scope.rc() != RANKFEED_GPU_OK ? scope.rc() : Finish(call());
}

vendor::Stream StreamOf(void* stream) {
  return static_cast<vendor::Stream>(stream);
}
vendor::Event EventOf(void* event) {
  return static_cast<vendor::Event>(event);
}

int32_t DeviceCount(void*, int32_t* count) {
  int devices = 0;
  int32_t rc = Finish(RANKFEED_VENDOR_CALL(GetDeviceCount)(&devices));
  // The runtime says of no driver what it says of an old one; only the former has no version.
  int version = 0;
  if (rc == RANKFEED_GPU_OLD_DRIVER &&
      (Finish(RANKFEED_VENDOR_CALL(DriverGetVersion)(&version)) != RANKFEED_GPU_OK ||
       version == 0)) {
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
  auto* context = new (std::nothrow) Context{};
  if (context == nullptr) return RANKFEED_GPU_NO_MEMORY;
  if (const int32_t rc = OpenVendorDevice(device, &context->device)) {
    delete context;
    return rc;
  }
  *ctx = context;
  return RANKFEED_GPU_OK;
}

void DeviceClose(void* ctx) {
  Context& context = ContextOf(ctx);
  if (context.attached.close != nullptr) context.attached.close(ctx);
  CloseVendorDevice(context.device);
  delete &context;
}

void Describe(void* ctx, char* out, size_t capacity) {
  DescribeVendorDevice(ContextOf(ctx).device, out, capacity);
}

int32_t PciBusId(void* ctx, char* out, size_t capacity) {
  return InScope(ctx, [&] {
    return RANKFEED_VENDOR_CALL(DeviceGetPCIBusId)(out, static_cast<int>(capacity),
                                                   ContextOf(ctx).device.ordinal);
  });
}

int32_t PageLock(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out) {
  *out = {};
  if (flags != 0 || bytes == 0) return RANKFEED_GPU_INVALID;
  return InScope(ctx, [&] {
    void *host = nullptr, *mapped = nullptr;
    const vendor::Error error = vendor::HostAlloc(&host, bytes);
    if (error != vendor::kSuccess) return error;
    std::memset(host, 0, bytes);
    if (Finish(RANKFEED_VENDOR_CALL(HostGetDevicePointer)(&mapped, host, 0)) != RANKFEED_GPU_OK)
      mapped = nullptr;
    out->host = host;
    out->mapped = mapped;
    out->bytes = bytes;
    out->locked = 1;
    return error;
  });
}

// Waits for the device, as backend.h asks.
void PageUnlock(void* ctx, rankfeed_gpu_host_block* block) {
  (void)InScope(ctx, [&] { return vendor::HostFree(block->host); });
  *block = {};
}

int32_t DeviceAlloc(void* ctx, size_t bytes, void** out) {
  *out = nullptr;
  if (bytes == 0) return RANKFEED_GPU_INVALID;
  return InScope(ctx, [&] { return vendor::Malloc(out, bytes); });
}
void DeviceFree(void* ctx, void* memory) {
  if (memory == nullptr) return;
  (void)InScope(ctx, [&] { return RANKFEED_VENDOR_CALL(Free)(memory); });
}

// Makes a handle of the runtime's and gives it to *out; null where that fails.
template <class Handle, class Make>
int32_t MakeHandle(void* ctx, void** out, const Make& make) {
  Handle made = nullptr;
  const int32_t rc = InScope(ctx, [&] { return make(&made); });
  *out = made;
  return rc;
}

int32_t StreamCreate(void* ctx, void** stream) {
  return MakeHandle<vendor::Stream>(ctx, stream, [](vendor::Stream* out) {
    return RANKFEED_VENDOR_CALL(StreamCreateWithFlags)(out,
                                                       RANKFEED_VENDOR_NAME(StreamNonBlocking));
  });
}
void StreamDestroy(void* ctx, void* stream) {
  if (stream == nullptr) return;
  (void)InScope(ctx, [&] { return RANKFEED_VENDOR_CALL(StreamDestroy)(StreamOf(stream)); });
}
int32_t StreamSynchronize(void* ctx, void* stream) {
  return InScope(ctx, [&] { return RANKFEED_VENDOR_CALL(StreamSynchronize)(StreamOf(stream)); });
}
int32_t LaunchHost(void* ctx, void* stream, void (*function)(void*), void* argument) {
  if (function == nullptr) return RANKFEED_GPU_INVALID;
  return InScope(ctx, [&] { return vendor::LaunchHost(StreamOf(stream), function, argument); });
}

int32_t CopyAsync(void* ctx, void* dst, const void* src, size_t bytes, void* stream) {
  if (dst == nullptr || src == nullptr) return RANKFEED_GPU_INVALID;
  return InScope(ctx, [&] {
    return RANKFEED_VENDOR_CALL(MemcpyAsync)(dst, src, bytes, RANKFEED_VENDOR_NAME(MemcpyDefault),
                                             StreamOf(stream));
  });
}

template <unsigned flags>
int32_t EventCreate(void* ctx, void** event) {
  return MakeHandle<vendor::Event>(ctx, event, [](vendor::Event* out) {
    return RANKFEED_VENDOR_CALL(EventCreateWithFlags)(out, flags);
  });
}
void EventDestroy(void* ctx, void* event) {
  if (event == nullptr) return;
  (void)InScope(ctx, [&] { return RANKFEED_VENDOR_CALL(EventDestroy)(EventOf(event)); });
}
int32_t EventRecord(void* ctx, void* event, void* stream) {
  return InScope(
      ctx, [&] { return RANKFEED_VENDOR_CALL(EventRecord)(EventOf(event), StreamOf(stream)); });
}
// In a scope too: from a thread without a device the runtime would make a context on device 0. An
// event that a capture has recorded says nothing about the slot before the graph has run.
int32_t EventQuery(void* ctx, void* event) {
  vendor::Error error = vendor::kSuccess;
  const int32_t rc =
      InScope(ctx, [&] { return error = RANKFEED_VENDOR_CALL(EventQuery)(EventOf(event)); });
  return error == RANKFEED_VENDOR_NAME(ErrorStreamCaptureUnsupported) ||
                 error == RANKFEED_VENDOR_NAME(ErrorCapturedEvent)
             ? int32_t{RANKFEED_GPU_NOT_READY}
             : rc;
}
int32_t StreamWaitEvent(void* ctx, void* stream, void* event) {
  return InScope(ctx, [&] {
    return RANKFEED_VENDOR_CALL(StreamWaitEvent)(StreamOf(stream), EventOf(event), 0);
  });
}
// Milliseconds in a float: good to half a microsecond within seconds, which batches stay below.
int32_t EventElapsed(void* ctx, void* begin, void* end, uint64_t* ns) {
  float ms = 0;
  vendor::Error error = vendor::kSuccess;
  const int32_t rc = InScope(ctx, [&] {
    return error = RANKFEED_VENDOR_CALL(EventElapsedTime)(&ms, EventOf(begin), EventOf(end));
  });
  *ns = rc == RANKFEED_GPU_OK && ms > 0 ? static_cast<uint64_t>(static_cast<double>(ms) * 1e6) : 0;
  // Never recorded: the vendor calls the handle invalid.
  return error == RANKFEED_VENDOR_NAME(ErrorInvalidResourceHandle) ? int32_t{RANKFEED_GPU_NOT_READY}
                                                                   : rc;
}

// Thread local: other threads may go on allocating and synchronizing. This one is relaxed in every
// call besides (DeviceScope).
int32_t CaptureBegin(void* ctx, void* stream) {
  return InScope(ctx, [&] {
    return RANKFEED_VENDOR_CALL(StreamBeginCapture)(
        StreamOf(stream), RANKFEED_VENDOR_NAME(StreamCaptureModeThreadLocal));
  });
}
int32_t CaptureEnd(void* ctx, void* stream, void** graph) {
  if (graph != nullptr) *graph = nullptr;
  const DeviceScope scope(ctx);
  if (scope.rc() != RANKFEED_GPU_OK) return scope.rc();
  RANKFEED_VENDOR_NAME(Graph_t) recorded = nullptr;
  int32_t rc = Finish(RANKFEED_VENDOR_CALL(StreamEndCapture)(StreamOf(stream), &recorded));
  RANKFEED_VENDOR_NAME(GraphExec_t) executable = nullptr;
  if (rc == RANKFEED_GPU_OK && graph != nullptr) {
    rc = recorded == nullptr
             ? int32_t{RANKFEED_GPU_INVALID}
             : Finish(RANKFEED_VENDOR_CALL(GraphInstantiateWithFlags)(&executable, recorded, 0));
    if (rc == RANKFEED_GPU_OK && executable == nullptr) rc = RANKFEED_GPU_INVALID;
    *graph = executable;
  }
  if (recorded != nullptr) (void)Finish(RANKFEED_VENDOR_CALL(GraphDestroy)(recorded));
  return rc;
}

RANKFEED_VENDOR_NAME(GraphExec_t) GraphOf(void* graph) {
  return static_cast<RANKFEED_VENDOR_NAME(GraphExec_t)>(graph);
}
int32_t GraphLaunch(void* ctx, void* graph, void* stream) {
  return InScope(
      ctx, [&] { return RANKFEED_VENDOR_CALL(GraphLaunch)(GraphOf(graph), StreamOf(stream)); });
}
void GraphDestroy(void* ctx, void* graph) {
  if (graph == nullptr) return;
  (void)InScope(ctx, [&] { return RANKFEED_VENDOR_CALL(GraphExecDestroy)(GraphOf(graph)); });
}

const rankfeed_gpu_backend* Table() {
  static const rankfeed_gpu_backend kBackend = [] {
    rankfeed_gpu_backend b{};
    b.struct_size = sizeof(b);
    b.abi = RANKFEED_GPU_BACKEND_ABI;
    b.name = vendor::kName;
    b.dl_host_device_type = vendor::kDlHostDeviceType;
    b.dl_device_type = vendor::kDlDeviceType;
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
    b.event_create = EventCreate<RANKFEED_VENDOR_NAME(EventDisableTiming)>;
    b.event_destroy = EventDestroy;
    b.event_record = EventRecord;
    b.event_query = EventQuery;
    b.stream_wait_event = StreamWaitEvent;
    b.event_create_timed = EventCreate<RANKFEED_VENDOR_NAME(EventDefault)>;
    b.event_elapsed = EventElapsed;
    b.ops = DeviceOps();
    b.pci_bus_id = PciBusId;
    b.capture_begin = CaptureBegin;
    b.capture_end = CaptureEnd;
    b.graph_launch = GraphLaunch;
    b.graph_destroy = GraphDestroy;
    return b;
  }();
  return &kBackend;
}

}  // namespace

DeviceScope::DeviceScope(void* ctx) : ctx_(ctx) {
  rc_ = MakeCurrent(ContextOf(ctx).device, &before_);
  if (rc_ == RANKFEED_GPU_OK) mode_ = RelaxCapture();
}

DeviceScope::~DeviceScope() {
  if (rc_ != RANKFEED_GPU_OK) return;
  (void)ExchangeCapture(mode_);
  RestoreCurrent(ContextOf(ctx_).device, before_);
}

int ExchangeCapture(int wanted) {
  auto mode = static_cast<RANKFEED_VENDOR_NAME(StreamCaptureMode)>(wanted);
  (void)RANKFEED_VENDOR_CALL(ThreadExchangeStreamCaptureMode)(&mode);
  return static_cast<int>(mode);
}
int RelaxCapture() {
  return ExchangeCapture(RANKFEED_VENDOR_NAME(StreamCaptureModeRelaxed));
}

int32_t DeviceResult(int error) {
  return ResultOf(static_cast<vendor::Error>(error));
}
int32_t DeviceFinish(int error) {
  return Finish(static_cast<vendor::Error>(error));
}
Attachment& AttachedTo(void* ctx) {
  return ContextOf(ctx).attached;
}

}  // namespace rankfeed::handoff

extern "C" RANKFEED_API const rankfeed_gpu_backend* RANKFEED_GPU_BACKEND_FUNCTION(void) {
  return rankfeed::handoff::Table();
}
