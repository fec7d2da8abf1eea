// SPDX-License-Identifier: MIT
// backends/host/host_script.h: TEST SURFACE of the host backend. A script decides what goes wrong
// and when: late and out-of-order events, failing calls, failing work, the k-th allocation.
// Production code never makes one; a backend without a script takes none of these paths.
//
// Numbers: copies, records and waits are counted from 1 in the order of the calls, over all streams
// of the backend; allocations likewise (contexts, control blocks, page-locked and device memory,
// streams and events). Rules may be set before or between calls. Internally synchronised.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_HOST_HOST_SCRIPT_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_HOST_HOST_SCRIPT_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace rankfeed::handoff {

// The outcome of one event_record: NOT_READY until its stream has come by, then 0 or an error.
struct HostRecord {
  std::atomic<int32_t> result;
  uint64_t time_ns = 0;  // of the steady clock; written before result
  HostRecord();
  void Complete(int32_t rc);
  int32_t Wait();  // blocks
};

class HostScript {
 public:
  // ---- calls that fail at once ----
  void FailAllocation(uint64_t k);  // the k-th from now; 0 = none any more
  void FailCopyCall(uint64_t n, int32_t error);
  void FailRecordCall(uint64_t n, int32_t error);
  void FailWaitCall(uint64_t n, int32_t error);

  // ---- work that fails when the stream comes to it ----
  // Copies only the first half of the bytes; the next event on that stream ends with the error.
  void FailCopy(uint64_t n, int32_t error);
  void FailEvent(uint64_t n, int32_t error);

  // ---- when events complete ----
  // From now on an event stays not ready after its stream has reached and passed it, until
  // CompleteEvent is called for it: in any order, as late as wanted.
  void HoldEvents(bool hold);
  // Waits for the stream to reach event n if need be, then lets it complete.
  void CompleteEvent(uint64_t n);
  // Completes what is held, in order; events still on their way are completed on arrival.
  void CompleteAll();
  std::vector<uint64_t> held() const;
  // Streams sleep before some operations, 0 .. max_us microseconds, pseudo-randomly.
  void DelayWork(uint64_t seed, uint32_t max_us);

  uint64_t allocations() const;  // tried so far
  int64_t live() const;          // allocations not yet freed
  uint64_t copies() const;
  uint64_t records() const;

  // ---- called by the backend ----
  int32_t OnAllocation();
  void OnFree();
  int32_t OnCopyCall(int32_t* work_error);
  int32_t OnRecordCall(uint64_t* number);
  int32_t OnWaitCall();
  // The stream has reached record `number`; error is what its work ended with so far.
  void OnRecordReached(uint64_t number, int32_t error, const std::shared_ptr<HostRecord>& record);
  uint32_t NextDelayUs();

 private:
  struct Held {
    std::shared_ptr<HostRecord> record;
    int32_t result;
  };
  static int32_t Take(std::map<uint64_t, int32_t>& rules, uint64_t n);

  mutable std::mutex mutex_;
  std::condition_variable reached_;
  uint64_t allocations_ = 0, fail_allocation_ = 0, copies_ = 0, records_ = 0, waits_ = 0;
  int64_t live_ = 0;
  std::map<uint64_t, int32_t> copy_calls_, record_calls_, wait_calls_, copy_work_, event_work_;
  bool hold_ = false;
  std::map<uint64_t, bool> on_hold_;  // records called while holding and not completed yet
  std::map<uint64_t, Held> held_;     // those whose stream has reached them
  uint64_t delay_state_ = 0;
  uint32_t delay_max_us_ = 0;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_HOST_HOST_SCRIPT_H_
