// SPDX-License-Identifier: MIT
// rerank/stop.h: whether a request should end early. Looked at between documents, by all workers;
// the first reason found is the one reported.
#pragma once

#include <atomic>
#include <cstdint>

#include "rankfeed/rerank.h"

namespace rankfeed::rerank {

class Stop {
 public:
  void Reset(const rankfeed_control* control) {
    control_ = control;
    reason_.store(RANKFEED_OK, std::memory_order_relaxed);
  }
  // Whether the caller may end the request from outside.
  bool controlled() const { return control_ != nullptr; }
  // True when the request is to end; reads the clock when there is a deadline.
  bool Check();
  // Ends the request for another reason.
  void Raise(rankfeed_status reason);
  rankfeed_status reason() const { return reason_.load(std::memory_order_relaxed); }

 private:
  const rankfeed_control* control_ = nullptr;
  std::atomic<rankfeed_status> reason_{RANKFEED_OK};
};

}  // namespace rankfeed::rerank
