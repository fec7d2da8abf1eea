// SPDX-License-Identifier: MIT
// rerank/stop.cc: cancellation flag and deadline.
#include "rerank/stop.h"

#include <time.h>

namespace rankfeed::rerank {
namespace {

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void Stop::Raise(rankfeed_status reason) {
  rankfeed_status none = RANKFEED_OK;
  reason_.compare_exchange_strong(none, reason, std::memory_order_relaxed);
}

bool Stop::Check() {
  if (reason() != RANKFEED_OK) return true;
  if (control_ == nullptr) return false;
  // The flag is a plain integer to C callers; any thread may set it at any time.
  if (control_->cancel != nullptr && __atomic_load_n(control_->cancel, __ATOMIC_RELAXED) != 0) {
    Raise(RANKFEED_E_CANCELLED);
  } else if (control_->deadline_ns != 0) {
    const uint64_t now =
        control_->clock_ns != nullptr ? control_->clock_ns(control_->clock_context) : MonotonicNs();
    if (now >= control_->deadline_ns) Raise(RANKFEED_E_DEADLINE);
  }
  return reason() != RANKFEED_OK;
}

}  // namespace rankfeed::rerank
