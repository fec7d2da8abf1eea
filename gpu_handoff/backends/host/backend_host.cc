// SPDX-License-Identifier: MIT
// backends/host/backend_host.cc: the backend that is always there: threads as streams, memcpy as
// the copy engine, ordinary memory that mlock tries to pin. A program without an accelerator gets
// the same ring with the same rules; tests get failures and delays from a HostScript
// (host_script.h).
//
// Errors are errno values. The default stream (null) is one more worker thread per device.
#include "backends/host/backend_host.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "host_memory.h"

namespace rankfeed::handoff {

namespace {

struct Context {
  HostBackend* backend;
  int32_t device;
};

// No exception crosses the C table.
template <typename Function>
int32_t Guard(Function function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return RANKFEED_GPU_NO_MEMORY;
  } catch (const std::system_error& error) {  // no more threads
    return error.code().value() == EAGAIN ? RANKFEED_GPU_NO_MEMORY : error.code().value();
  } catch (...) {
    return EIO;
  }
}

size_t RoundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

const char* LockNote(int error) {
  switch (error) {
    case ENOMEM:
    case EAGAIN:
      return "mlock refused: RLIMIT_MEMLOCK is smaller than the ring; memory is pageable";
    case EPERM:
      return "mlock refused: RLIMIT_MEMLOCK is 0 and the process lacks CAP_IPC_LOCK";
    default:
      return "mlock failed; memory is pageable";
  }
}

}  // namespace

struct HostTable {
  static HostBackend& Of(void* ctx) { return *static_cast<Context*>(ctx)->backend; }

  static int32_t CountAllocation(HostBackend& backend) {
    return backend.script_ ? backend.script_->OnAllocation() : RANKFEED_GPU_OK;
  }
  static void CountFree(HostBackend& backend) {
    if (backend.script_) backend.script_->OnFree();
  }

  static int32_t DeviceCount(void* self, int32_t* count) {
    *count = static_cast<HostBackend*>(self)->devices_;
    return RANKFEED_GPU_OK;
  }

  static int32_t DeviceOpen(void* self, int32_t device, void** ctx) {
    auto& backend = *static_cast<HostBackend*>(self);
    if (device < 0 || device >= backend.devices_) return RANKFEED_GPU_NO_DEVICE;
    if (const int32_t rc = CountAllocation(backend)) return rc;
    auto* context = new (std::nothrow) Context{&backend, device};
    if (context == nullptr) {
      CountFree(backend);
      return RANKFEED_GPU_NO_MEMORY;
    }
    *ctx = context;
    return RANKFEED_GPU_OK;
  }
  static void DeviceClose(void* ctx) {
    CountFree(Of(ctx));
    delete static_cast<Context*>(ctx);
  }

  static void Describe(void*, char* out, size_t capacity) {
    std::snprintf(out, capacity, "host memory");
  }

  static void* ControlAlloc(void* ctx, size_t bytes) {
    if (CountAllocation(Of(ctx)) != RANKFEED_GPU_OK) return nullptr;
    void* memory = AlignedAlloc(64, RoundUp(bytes, 64));
    if (memory == nullptr) CountFree(Of(ctx));
    return memory;
  }
  static void ControlFree(void* ctx, void* memory) {
    AlignedFree(memory);
    CountFree(Of(ctx));
  }

  static int32_t PageLock(void* ctx, size_t bytes, uint32_t flags, rankfeed_gpu_host_block* out) {
    *out = {};
    if (flags != 0 || bytes == 0) return RANKFEED_GPU_INVALID;
    // Whole pages of its own: mlock and munlock work on pages.
    const size_t page = PageSize();
    if (bytes > SIZE_MAX - page) return RANKFEED_GPU_NO_MEMORY;
    if (const int32_t rc = CountAllocation(Of(ctx))) return rc;
    const size_t rounded = RoundUp(bytes, page);
    void* memory = AlignedAlloc(page, rounded);
    if (memory == nullptr) {
      CountFree(Of(ctx));
      return RANKFEED_GPU_NO_MEMORY;
    }
    std::memset(memory, 0, rounded);  // touches every page, also where mlock is refused
    out->host = memory;
    out->mapped = memory;  // the "device" is the same machine
    out->bytes = bytes;
    out->lock_error = LockPages(memory, rounded);
    out->locked = out->lock_error == 0;
    if (!out->locked) out->note = LockNote(out->lock_error);
    return RANKFEED_GPU_OK;
  }
  static void PageUnlock(void* ctx, rankfeed_gpu_host_block* block) {
    HostBackend& backend = Of(ctx);
    backend.pending_.WaitFor(block->host, block->bytes);
    if (block->locked) {
      UnlockPages(block->host, RoundUp(block->bytes, PageSize()));
    }
    AlignedFree(block->host);
    *block = {};
    CountFree(backend);
  }

  static int32_t DeviceAlloc(void* ctx, size_t bytes, void** out) {
    HostBackend& backend = Of(ctx);
    *out = nullptr;
    if (bytes == 0) return RANKFEED_GPU_INVALID;
    if (bytes > SIZE_MAX - 255) return RANKFEED_GPU_NO_MEMORY;
    if (const int32_t rc = CountAllocation(backend)) return rc;
    const int32_t rc = Guard([&] {
      void* memory = AlignedAlloc(256, RoundUp(bytes, 256));
      if (memory == nullptr) return int32_t{RANKFEED_GPU_NO_MEMORY};
      try {
        const std::lock_guard lock(backend.mutex_);
        backend.memory_[memory] = bytes;
      } catch (...) {
        AlignedFree(memory);
        throw;
      }
      *out = memory;
      return int32_t{RANKFEED_GPU_OK};
    });
    if (rc != RANKFEED_GPU_OK) CountFree(backend);
    return rc;
  }
  static void DeviceFree(void* ctx, void* memory) {
    HostBackend& backend = Of(ctx);
    size_t bytes = 0;
    {
      const std::lock_guard lock(backend.mutex_);
      const auto found = backend.memory_.find(memory);
      if (found == backend.memory_.end()) return;  // not ours: leave it alone
      bytes = found->second;
      backend.memory_.erase(found);
    }
    backend.pending_.WaitFor(memory, bytes);
    AlignedFree(memory);
    CountFree(backend);
  }

  static int32_t StreamCreate(void* ctx, void** stream) {
    HostBackend& backend = Of(ctx);
    *stream = nullptr;
    if (const int32_t rc = CountAllocation(backend)) return rc;
    const int32_t rc = Guard([&] {
      *stream = new HostStream(&backend.pending_, backend.script_);
      return int32_t{RANKFEED_GPU_OK};
    });
    if (rc != RANKFEED_GPU_OK) CountFree(backend);
    return rc;
  }
  static void StreamDestroy(void* ctx, void* stream) {
    if (stream == nullptr) return;
    delete static_cast<HostStream*>(stream);
    CountFree(Of(ctx));
  }
  static HostStream& StreamOf(void* ctx, void* stream) {
    return *Of(ctx).StreamOf(static_cast<Context*>(ctx)->device, stream);
  }
  static int32_t StreamSynchronize(void* ctx, void* stream) {
    return Guard([&] {
      StreamOf(ctx, stream).Synchronize();
      return int32_t{RANKFEED_GPU_OK};
    });
  }
  static int32_t LaunchHost(void* ctx, void* stream, void (*function)(void*), void* argument) {
    if (function == nullptr) return RANKFEED_GPU_INVALID;
    return Guard([&] {
      StreamOf(ctx, stream).Call(function, argument);
      return int32_t{RANKFEED_GPU_OK};
    });
  }

  static int32_t CopyAsync(void* ctx, void* dst, const void* src, size_t bytes, void* stream) {
    if (dst == nullptr || src == nullptr) return RANKFEED_GPU_INVALID;
    int32_t work_error = RANKFEED_GPU_OK;
    if (HostScript* script = Of(ctx).script_) {
      if (const int32_t rc = script->OnCopyCall(&work_error)) return rc;
    }
    return Guard([&] {
      StreamOf(ctx, stream).Copy(dst, src, bytes, work_error);
      return int32_t{RANKFEED_GPU_OK};
    });
  }

  static int32_t EventCreate(void* ctx, void** event) {
    HostBackend& backend = Of(ctx);
    *event = nullptr;
    if (const int32_t rc = CountAllocation(backend)) return rc;
    *event = new (std::nothrow) HostEvent();
    if (*event != nullptr) return RANKFEED_GPU_OK;
    CountFree(backend);
    return RANKFEED_GPU_NO_MEMORY;
  }
  // Every event of this backend keeps its time.
  static int32_t EventElapsed(void*, void* begin, void* end, uint64_t* ns) {
    *ns = 0;
    uint64_t times[2];
    int at = 0;
    for (void* event : {begin, end}) {
      const auto record = static_cast<HostEvent*>(event)->Get();
      if (record == nullptr) return RANKFEED_GPU_NOT_READY;
      const int32_t result = record->result.load(std::memory_order_acquire);
      if (result != RANKFEED_GPU_OK) return result;
      times[at++] = record->time_ns;
    }
    if (times[1] > times[0]) *ns = times[1] - times[0];
    return RANKFEED_GPU_OK;
  }
  static void EventDestroy(void* ctx, void* event) {
    delete static_cast<HostEvent*>(event);
    CountFree(Of(ctx));
  }
  static int32_t EventRecord(void* ctx, void* event, void* stream) {
    uint64_t number = 0;
    if (HostScript* script = Of(ctx).script_) {
      if (const int32_t rc = script->OnRecordCall(&number)) return rc;
    }
    return Guard([&] {
      auto record = std::make_shared<HostRecord>();
      StreamOf(ctx, stream).Record(record, number);
      static_cast<HostEvent*>(event)->Set(std::move(record));
      return int32_t{RANKFEED_GPU_OK};
    });
  }
  static int32_t EventQuery(void*, void* event) {
    const auto record = static_cast<HostEvent*>(event)->Get();
    return record ? record->result.load(std::memory_order_acquire) : int32_t{RANKFEED_GPU_OK};
  }
  static int32_t StreamWaitEvent(void* ctx, void* stream, void* event) {
    if (HostScript* script = Of(ctx).script_) {
      if (const int32_t rc = script->OnWaitCall()) return rc;
    }
    return Guard([&] {
      if (auto record = static_cast<HostEvent*>(event)->Get()) {
        StreamOf(ctx, stream).WaitFor(std::move(record));
      }
      return int32_t{RANKFEED_GPU_OK};
    });
  }
};

HostBackend::HostBackend(int32_t devices, HostScript* script)
    : table_{}, script_(script), devices_(std::max(devices, 1)) {
  table_.struct_size = sizeof table_;
  table_.abi = RANKFEED_GPU_BACKEND_ABI;
  table_.name = "host";
  table_.dl_host_device_type = RANKFEED_DL_CPU;
  table_.dl_device_type = RANKFEED_DL_CPU;
  table_.self = this;
  table_.device_count = &HostTable::DeviceCount;
  table_.device_open = &HostTable::DeviceOpen;
  table_.device_close = &HostTable::DeviceClose;
  table_.describe = &HostTable::Describe;
  table_.control_alloc = &HostTable::ControlAlloc;
  table_.control_free = &HostTable::ControlFree;
  table_.page_lock = &HostTable::PageLock;
  table_.page_unlock = &HostTable::PageUnlock;
  table_.device_alloc = &HostTable::DeviceAlloc;
  table_.device_free = &HostTable::DeviceFree;
  table_.stream_create = &HostTable::StreamCreate;
  table_.stream_destroy = &HostTable::StreamDestroy;
  table_.stream_synchronize = &HostTable::StreamSynchronize;
  table_.launch_host = &HostTable::LaunchHost;
  table_.copy_async = &HostTable::CopyAsync;
  table_.event_create = &HostTable::EventCreate;
  table_.event_destroy = &HostTable::EventDestroy;
  table_.event_record = &HostTable::EventRecord;
  table_.event_query = &HostTable::EventQuery;
  table_.stream_wait_event = &HostTable::StreamWaitEvent;
  table_.event_create_timed = &HostTable::EventCreate;
  table_.event_elapsed = &HostTable::EventElapsed;
}

HostBackend::~HostBackend() = default;

HostStream* HostBackend::StreamOf(int32_t device, void* stream) {
  if (stream != nullptr) return static_cast<HostStream*>(stream);
  const std::lock_guard lock(mutex_);
  auto& slot = default_stream_[device];
  if (slot == nullptr) slot = std::make_unique<HostStream>(&pending_, script_);
  return slot.get();
}

}  // namespace rankfeed::handoff

namespace {

// Never destroyed: streams may outlive static destructors. Not on the heap: this cannot fail.
alignas(rankfeed::handoff::HostBackend) unsigned char process_backend[sizeof(rankfeed::handoff::HostBackend)];

void MakeBackend() {
  new (process_backend) rankfeed::handoff::HostBackend();
}

}  // namespace

extern "C" const rankfeed_gpu_backend* rankfeed_handoff_host_backend(void) {
  // A forked child gets a new one: a stream's thread may have held a lock of its parent's, and is not there to let it go.
  static const bool is_made = [] {
    MakeBackend();
#ifndef _WIN32
    (void)pthread_atfork(nullptr, nullptr, MakeBackend);
#endif
    return true;
  }();
  (void)is_made;
  return std::launder(reinterpret_cast<rankfeed::handoff::HostBackend*>(process_backend))->table();
}
