// SPDX-License-Identifier: MIT
// ranges.h: named ranges for the vendors' timeline tools: NVTX (Nsight Systems) with RANKFEED_NVTX,
// roctx (rocprof) with RANKFEED_ROCTX, both options of CMake; without them nothing is left of this.
//
//   "rankfeed: fill a slot"   acquire until the slot is FILLING no more; may end on another thread
//   "rankfeed: forward"       queueing a forward pass; nests in the thread's ranges
//
// Functions are in ranges.cc, beside what runs after open: a tool's library allocates and locks.
#ifndef RANKFEED_GPU_HANDOFF_RANGES_H_
#define RANKFEED_GPU_HANDOFF_RANGES_H_

#if defined(RANKFEED_NVTX) || defined(RANKFEED_ROCTX)

#include <atomic>
#include <cstdint>

namespace rankfeed::handoff {

// Loads the tool, so that no batch waits for it.
void OpenRanges();

// Started by who gets a slot, ended by who takes it on. Atomic, because a caller that was late with
// a ticket may look at a slot that is another's by now.
class Range {
 public:
  Range() = default;
  Range(const Range& other)
      : nvtx_(other.nvtx_.load(std::memory_order_relaxed)),
        roctx_(other.roctx_.load(std::memory_order_relaxed)) {}
  Range& operator=(const Range&) = delete;
  void Start(const char* name);
  void End();

 private:
  std::atomic<uint64_t> nvtx_{0}, roctx_{0};
};

class RangeScope {
 public:
  explicit RangeScope(const char* name);
  ~RangeScope();
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;
};

}  // namespace rankfeed::handoff

#else

namespace rankfeed::handoff {

inline void OpenRanges() {}
struct Range {
  void Start(const char*) {}
  void End() {}
};
struct RangeScope {
  explicit RangeScope(const char*) {}
  ~RangeScope() {}
};

}  // namespace rankfeed::handoff

#endif

#endif  // RANKFEED_GPU_HANDOFF_RANGES_H_
