// SPDX-License-Identifier: MIT
// backends/host/host_stream.h: a stream of the host backend: one worker thread that runs copies,
// event records, waits and functions in the order they were queued, as a device's queue would.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_HOST_HOST_STREAM_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_HOST_HOST_STREAM_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "backends/host/host_script.h"

namespace rankfeed::handoff {

// Copies queued and not done yet, so that freeing memory can wait for those that touch it, as
// cudaFreeHost and cudaFree do.
class PendingCopies {
 public:
  struct Range {
    const void *dst, *src;
    size_t bytes;
  };
  using Handle = std::list<Range>::iterator;
  Handle Add(const void* dst, const void* src, size_t bytes);
  void Done(Handle handle);
  void WaitFor(const void* memory, size_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Range> ranges_;
};

// Stands for the latest record, as cudaEvent_t does. No record yet: complete.
class HostEvent {
 public:
  void Set(std::shared_ptr<HostRecord> record);
  std::shared_ptr<HostRecord> Get() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<HostRecord> record_;
};

// Throws std::bad_alloc and std::system_error; the table's functions turn them into results.
class HostStream {
 public:
  HostStream(PendingCopies* pending, HostScript* script);
  ~HostStream();  // finishes what is queued

  void Copy(void* dst, const void* src, size_t bytes, int32_t work_error);
  void Record(std::shared_ptr<HostRecord> record, uint64_t number);
  void WaitFor(std::shared_ptr<HostRecord> record);
  void Call(void (*function)(void*), void* argument);
  void Synchronize();

 private:
  enum class Kind { kCopy, kRecord, kWait, kCall };
  struct Operation {
    Kind kind;
    void* dst = nullptr;  // kCall: the argument
    const void* src = nullptr;
    size_t bytes = 0;
    int32_t work_error = 0;
    PendingCopies::Handle pending{};
    std::shared_ptr<HostRecord> record;
    uint64_t number = 0;
    void (*function)(void*) = nullptr;
  };
  void Push(Operation operation);
  void Work();
  void Run(Operation& operation);

  PendingCopies* const pending_;
  HostScript* const script_;
  std::mutex mutex_;
  std::condition_variable work_, idle_;
  std::deque<Operation> queue_;
  bool busy_ = false, stop_ = false;
  int32_t error_ = 0;  // worker only: of a failed copy, until the next event takes it
  std::thread thread_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_HOST_HOST_STREAM_H_
