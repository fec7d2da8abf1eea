// SPDX-License-Identifier: MIT
// test_backend.h: the backend under the ring's tests, steered by a HostScript: the host's, or with
// RANKFEED_RING_TEST_BACKEND=cuda (hip) the vendor's library in RANKFEED_GPU_LIBRARIES, which
// tests/fake_gpu puts there.
#ifndef RANKFEED_TESTS_GPU_HANDOFF_TEST_BACKEND_H_
#define RANKFEED_TESTS_GPU_HANDOFF_TEST_BACKEND_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "backends/backend_library.h"
#include "backends/host/backend_host.h"
#include "backends/host/host_script.h"

namespace rankfeed::handoff {

// A vendor's backend whose copies and events a script can fail and hold. Everything else is the
// vendor's. An event has completed when the vendor says so and the script does: the script is told
// by a function on the stream, before the event. One at a time in a process.
class ScriptedBackend {
 public:
  ScriptedBackend(const rankfeed_gpu_backend* vendor, HostScript* script)
      : vendor_(vendor), script_(script), table_(*vendor) {
    EXPECT_EQ(current_, nullptr);
    current_ = this;
    table_.copy_async = Copy;
    table_.event_create = [](void* ctx, void** event) {
      return Create(current_->vendor_->event_create, ctx, event);
    };
    table_.event_create_timed = [](void* ctx, void** event) {
      return Create(current_->vendor_->event_create_timed, ctx, event);
    };
    table_.event_destroy = Destroy;
    table_.event_record = Record;
    table_.event_query = Query;
    table_.stream_wait_event = Wait;
    table_.event_elapsed = [](void* ctx, void* begin, void* end, uint64_t* ns) {
      return current_->vendor_->event_elapsed(ctx, Of(begin)->event, Of(end)->event, ns);
    };
    // The fake devices make no progress of their own, and a script may wait for some.
    pump_ = std::thread([this] { Pump(); });
  }
  ~ScriptedBackend() {
    stop_ = true;
    pump_.join();
    current_ = nullptr;
  }
  ScriptedBackend(const ScriptedBackend&) = delete;
  ScriptedBackend& operator=(const ScriptedBackend&) = delete;
  const rankfeed_gpu_backend* table() const { return &table_; }

  // Until the vendor too says that this record is done: what orders the calling thread after the
  // work before it. The script's lock is not a vendor's promise.
  void Await(uint64_t number) {
    Recorded recorded{};
    {
      const std::lock_guard lock(mutex_);
      const auto found = recorded_.find(number);
      if (found == recorded_.end()) return;
      recorded = found->second;
      recorded_.erase(found);
    }
    while (vendor_->event_query(recorded.ctx, recorded.event) == RANKFEED_GPU_NOT_READY) {
    }
  }

 private:
  struct Recorded {
    void *ctx, *event;
  };
  struct Event {
    void* event;
    HostEvent latest;
  };
  struct Reached {
    HostScript* script;
    uint64_t number;
    int32_t error;
    std::shared_ptr<HostRecord> record;
  };
  static Event* Of(void* event) { return static_cast<Event*>(event); }

  static int32_t Create(int32_t (*create)(void*, void**), void* ctx, void** event) {
    *event = nullptr;
    void* made = nullptr;
    const int32_t rc = create(ctx, &made);
    if (rc == RANKFEED_GPU_OK) *event = new Event{made, {}};
    return rc;
  }
  static void Destroy(void* ctx, void* event) {
    current_->vendor_->event_destroy(ctx, Of(event)->event);
    delete Of(event);
  }
  static int32_t Copy(void* ctx, void* dst, const void* src, size_t bytes, void* stream) {
    int32_t work_error = RANKFEED_GPU_OK;
    if (const int32_t rc = current_->script_->OnCopyCall(&work_error)) return rc;
    if (work_error != RANKFEED_GPU_OK) {
      bytes /= 2;
      const std::lock_guard lock(current_->mutex_);
      current_->errors_[stream] = work_error;
    }
    return current_->vendor_->copy_async(ctx, dst, src, bytes, stream);
  }
  static int32_t Record(void* ctx, void* event, void* stream) {
    uint64_t number = 0;
    if (const int32_t rc = current_->script_->OnRecordCall(&number)) return rc;
    int32_t error = RANKFEED_GPU_OK;
    {
      const std::lock_guard lock(current_->mutex_);
      const auto found = current_->errors_.find(stream);
      if (found != current_->errors_.end()) error = found->second;
      current_->errors_.erase(stream);
    }
    auto record = std::make_shared<HostRecord>();
    auto* const reached = new Reached{current_->script_, number, error, record};
    int32_t rc = current_->vendor_->launch_host(
        ctx, stream,
        [](void* argument) {
          const std::unique_ptr<Reached> owned(static_cast<Reached*>(argument));
          owned->script->OnRecordReached(owned->number, owned->error, owned->record);
        },
        reached);
    if (rc != RANKFEED_GPU_OK) {
      delete reached;
      return rc;
    }
    rc = current_->vendor_->event_record(ctx, Of(event)->event, stream);
    if (rc != RANKFEED_GPU_OK) return rc;
    Of(event)->latest.Set(std::move(record));
    const std::lock_guard lock(current_->mutex_);
    current_->recorded_[number] = {ctx, Of(event)->event};
    return RANKFEED_GPU_OK;
  }
  static int32_t Query(void* ctx, void* event) {
    const auto record = Of(event)->latest.Get();
    const int32_t said = record == nullptr ? int32_t{RANKFEED_GPU_OK}
                                           : record->result.load(std::memory_order_acquire);
    int32_t rc = RANKFEED_GPU_OK;
    // What the script has been told of has only the event itself left to do.
    do {
      rc = current_->vendor_->event_query(ctx, Of(event)->event);
    } while (record != nullptr && said != RANKFEED_GPU_NOT_READY && rc == RANKFEED_GPU_NOT_READY);
    return rc != RANKFEED_GPU_OK ? rc : said;
  }
  static int32_t Wait(void* ctx, void* stream, void* event) {
    if (const int32_t rc = current_->script_->OnWaitCall()) return rc;
    return current_->vendor_->stream_wait_event(ctx, stream, Of(event)->event);
  }

  void Pump() {
    void *ctx = nullptr, *event = nullptr;
    EXPECT_EQ(vendor_->device_open(vendor_->self, 0, &ctx), RANKFEED_GPU_OK);
    EXPECT_EQ(vendor_->event_create(ctx, &event), RANKFEED_GPU_OK);
    while (!stop_) {
      (void)vendor_->event_query(ctx, event);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    vendor_->event_destroy(ctx, event);
    vendor_->device_close(ctx);
  }

  inline static ScriptedBackend* current_ = nullptr;
  const rankfeed_gpu_backend* vendor_;
  HostScript* script_;
  rankfeed_gpu_backend table_;
  std::mutex mutex_;
  std::map<void*, int32_t> errors_;  // of a stream's copies, until the next event takes them
  std::map<uint64_t, Recorded> recorded_;
  std::atomic<bool> stop_{false};
  std::thread pump_;
};

class TestBackend {
 public:
  TestBackend(int32_t devices, HostScript* script) : host_(devices, script) {
    if (Name() == std::string("host")) return;
    const char* folder = std::getenv("RANKFEED_GPU_LIBRARIES");
    const FoundBackend found = FindBackend(Name(), {folder != nullptr ? folder : ""});
    EXPECT_NE(found.backend, nullptr) << found.message;
    if (found.backend != nullptr)
      scripted_ = std::make_unique<ScriptedBackend>(found.backend, script);
  }
  static const char* Name() {
    const char* vendor = std::getenv("RANKFEED_RING_TEST_BACKEND");
    return vendor != nullptr ? vendor : "host";
  }
  const rankfeed_gpu_backend* table() const {
    return scripted_ != nullptr ? scripted_->table() : host_.table();
  }
  // The calling thread comes after the work before that record, which the script has let complete.
  void Await(uint64_t number) {
    if (scripted_ != nullptr) scripted_->Await(number);
  }

 private:
  HostBackend host_;
  std::unique_ptr<ScriptedBackend> scripted_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_GPU_HANDOFF_TEST_BACKEND_H_
