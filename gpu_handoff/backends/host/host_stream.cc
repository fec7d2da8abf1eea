// SPDX-License-Identifier: MIT
// backends/host/host_stream.cc: see host_stream.h. Mutexes and condition variables are fine here:
// this is the "driver" of the host backend, not the ring.
#include "backends/host/host_stream.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "backend.h"

namespace rankfeed::handoff {

PendingCopies::Handle PendingCopies::Add(const void* dst, const void* src, size_t bytes) {
  const std::lock_guard lock(mutex_);
  return ranges_.insert(ranges_.end(), Range{dst, src, bytes});
}

void PendingCopies::Done(Handle handle) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(handle);
  changed_.notify_all();
}

void PendingCopies::WaitFor(const void* memory, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
  const auto touches = [&](const void* start, size_t size) {
    const auto from = reinterpret_cast<uintptr_t>(start);
    return from < end && begin < from + size;
  };
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    for (const Range& range : ranges_) {
      if (touches(range.dst, range.bytes) || touches(range.src, range.bytes)) return false;
    }
    return true;
  });
}

void HostEvent::Set(std::shared_ptr<HostRecord> record) {
  const std::lock_guard lock(mutex_);
  record_ = std::move(record);
}

std::shared_ptr<HostRecord> HostEvent::Get() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

HostStream::HostStream(PendingCopies* pending, HostScript* script)
    : pending_(pending), script_(script), thread_(&HostStream::Work, this) {}

HostStream::~HostStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    work_.notify_one();
  }
  thread_.join();
}

void HostStream::Push(Operation operation) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(operation));
  work_.notify_one();
}

void HostStream::Copy(void* dst, const void* src, size_t bytes, int32_t work_error) {
  const auto pending = pending_->Add(dst, src, bytes);
  try {
    Push({.kind = Kind::kCopy,
          .dst = dst,
          .src = src,
          .bytes = bytes,
          .work_error = work_error,
          .pending = pending});
  } catch (...) {
    pending_->Done(pending);
    throw;
  }
}

void HostStream::Record(std::shared_ptr<HostRecord> record, uint64_t number) {
  Push({.kind = Kind::kRecord, .record = std::move(record), .number = number});
}

void HostStream::WaitFor(std::shared_ptr<HostRecord> record) {
  Push({.kind = Kind::kWait, .record = std::move(record)});
}

void HostStream::Call(void (*function)(void*), void* argument) {
  Push({.kind = Kind::kCall, .dst = argument, .function = function});
}

void HostStream::Synchronize() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

void HostStream::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Operation operation = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    Run(operation);
    operation = {};  // drops the record outside the lock
    lock.lock();
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
}

void HostStream::Run(Operation& operation) {
  if (script_ != nullptr) {
    if (const uint32_t us = script_->NextDelayUs()) {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
    }
  }
  switch (operation.kind) {
    case Kind::kCopy: {
      const bool fails = operation.work_error != RANKFEED_GPU_OK;
      std::memcpy(operation.dst, operation.src, fails ? operation.bytes / 2 : operation.bytes);
      if (fails) error_ = operation.work_error;
      pending_->Done(operation.pending);
      return;
    }
    case Kind::kRecord: {
      const int32_t result = std::exchange(error_, RANKFEED_GPU_OK);
      if (script_ != nullptr) {
        script_->OnRecordReached(operation.number, result, operation.record);
      } else {
        operation.record->Complete(result);
      }
      return;
    }
    case Kind::kWait:
      operation.record->Wait();  // a failed event ends the wait too; its poller gets the error
      return;
    case Kind::kCall:
      operation.function(operation.dst);
      return;
  }
}

}  // namespace rankfeed::handoff
