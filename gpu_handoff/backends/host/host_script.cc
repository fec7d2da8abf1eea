// SPDX-License-Identifier: MIT
// backends/host/host_script.cc: the rule tables of host_script.h. TEST SURFACE, see there.
#include "backends/host/host_script.h"

#include <chrono>

#include "backend.h"

namespace rankfeed::handoff {

HostRecord::HostRecord() : result(RANKFEED_GPU_NOT_READY) {}

void HostRecord::Complete(int32_t rc) {
  time_ns = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                      std::chrono::steady_clock::now().time_since_epoch())
                                      .count());
  result.store(rc, std::memory_order_release);
  result.notify_all();
}

int32_t HostRecord::Wait() {
  int32_t rc;
  while ((rc = result.load(std::memory_order_acquire)) == RANKFEED_GPU_NOT_READY) {
    result.wait(RANKFEED_GPU_NOT_READY, std::memory_order_acquire);
  }
  return rc;
}

int32_t HostScript::Take(std::map<uint64_t, int32_t>& rules, uint64_t n) {
  const auto rule = rules.find(n);
  if (rule == rules.end()) return RANKFEED_GPU_OK;
  const int32_t error = rule->second;
  rules.erase(rule);
  return error;
}

void HostScript::FailAllocation(uint64_t k) {
  const std::lock_guard lock(mutex_);
  fail_allocation_ = k == 0 ? 0 : allocations_ + k;
}
void HostScript::FailCopyCall(uint64_t n, int32_t error) {
  const std::lock_guard lock(mutex_);
  copy_calls_[n] = error;
}
void HostScript::FailRecordCall(uint64_t n, int32_t error) {
  const std::lock_guard lock(mutex_);
  record_calls_[n] = error;
}
void HostScript::FailWaitCall(uint64_t n, int32_t error) {
  const std::lock_guard lock(mutex_);
  wait_calls_[n] = error;
}
void HostScript::FailCopy(uint64_t n, int32_t error) {
  const std::lock_guard lock(mutex_);
  copy_work_[n] = error;
}
void HostScript::FailEvent(uint64_t n, int32_t error) {
  const std::lock_guard lock(mutex_);
  event_work_[n] = error;
}
void HostScript::HoldEvents(bool hold) {
  const std::lock_guard lock(mutex_);
  hold_ = hold;
}
void HostScript::DelayWork(uint64_t seed, uint32_t max_us) {
  const std::lock_guard lock(mutex_);
  delay_state_ = seed;
  delay_max_us_ = max_us;
}

void HostScript::CompleteEvent(uint64_t n) {
  std::unique_lock lock(mutex_);
  if (!on_hold_.contains(n)) return;  // never held, or completed before
  reached_.wait(lock, [&] { return held_.contains(n); });
  const Held held = held_[n];
  held_.erase(n);
  on_hold_.erase(n);
  held.record->Complete(held.result);
}

void HostScript::CompleteAll() {
  const std::lock_guard lock(mutex_);
  for (auto& [number, held] : held_) {
    held.record->Complete(held.result);
    on_hold_.erase(number);
  }
  held_.clear();
  for (auto& [number, release_on_arrival] : on_hold_) release_on_arrival = true;
}

std::vector<uint64_t> HostScript::held() const {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> numbers;
  for (const auto& [number, held] : held_) numbers.push_back(number);
  return numbers;
}

uint64_t HostScript::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocations_;
}
int64_t HostScript::live() const {
  const std::lock_guard lock(mutex_);
  return live_;
}
uint64_t HostScript::copies() const {
  const std::lock_guard lock(mutex_);
  return copies_;
}
uint64_t HostScript::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

int32_t HostScript::OnAllocation() {
  const std::lock_guard lock(mutex_);
  if (++allocations_ == fail_allocation_) return RANKFEED_GPU_NO_MEMORY;
  ++live_;
  return RANKFEED_GPU_OK;
}
void HostScript::OnFree() {
  const std::lock_guard lock(mutex_);
  --live_;
}

int32_t HostScript::OnCopyCall(int32_t* work_error) {
  const std::lock_guard lock(mutex_);
  const uint64_t n = ++copies_;
  *work_error = Take(copy_work_, n);
  return Take(copy_calls_, n);
}

int32_t HostScript::OnRecordCall(uint64_t* number) {
  const std::lock_guard lock(mutex_);
  *number = ++records_;
  const int32_t error = Take(record_calls_, *number);
  if (error == RANKFEED_GPU_OK && hold_) on_hold_[*number] = false;
  return error;
}

int32_t HostScript::OnWaitCall() {
  const std::lock_guard lock(mutex_);
  return Take(wait_calls_, ++waits_);
}

void HostScript::OnRecordReached(uint64_t number, int32_t error,
                                 const std::shared_ptr<HostRecord>& record) {
  const std::lock_guard lock(mutex_);
  const int32_t scripted = Take(event_work_, number);
  if (scripted != RANKFEED_GPU_OK) error = scripted;
  const auto hold = on_hold_.find(number);
  if (hold == on_hold_.end() || hold->second) {
    if (hold != on_hold_.end()) on_hold_.erase(hold);
    record->Complete(error);
    return;
  }
  held_[number] = Held{record, error};
  reached_.notify_all();
}

uint32_t HostScript::NextDelayUs() {
  const std::lock_guard lock(mutex_);
  if (delay_max_us_ == 0) return 0;
  // SplitMix64 (Steele, Lea and Flood, 2014)
  uint64_t z = delay_state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  // Mostly none: what matters is that streams get out of step, not that they crawl.
  return z % 8 != 0 ? 0 : static_cast<uint32_t>((z >> 3) % (uint64_t{delay_max_us_} + 1));
}

}  // namespace rankfeed::handoff
