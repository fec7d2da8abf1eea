// SPDX-License-Identifier: MIT
// latency_histogram.h: nanoseconds counted in steps that grow with the value, without locks.
//
// Values below 16 have a step each; above, every octave is cut into 16 steps, so a step is at most
// 1/16 = 6.25 % of the values in it. 976 counters (7.6 KiB) cover all of uint64_t. Add is two
// shifts and relaxed atomics; Quantile walks the counters. Many writers, any readers; a reader
// beside writers sees some of them.
#ifndef RANKFEED_GPU_HANDOFF_LATENCY_HISTOGRAM_H_
#define RANKFEED_GPU_HANDOFF_LATENCY_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace rankfeed::handoff {

class LatencyHistogram {
 public:
  static constexpr int kStepBits = 4;
  static constexpr uint32_t kSteps = (64 - kStepBits + 1) << kStepBits;

  static constexpr uint32_t StepOf(uint64_t ns) {
    if (ns < (1u << kStepBits)) return static_cast<uint32_t>(ns);
    const int octave = std::bit_width(ns) - 1 - kStepBits;  // >= 0
    return static_cast<uint32_t>(octave << kStepBits) + static_cast<uint32_t>(ns >> octave);
  }
  // Largest value of a step.
  static constexpr uint64_t UpperEdge(uint32_t step) {
    if (step < (2u << kStepBits)) return step;
    const uint32_t octave = (step >> kStepBits) - 1;
    const uint64_t mantissa = (1u << kStepBits) + (step & ((1u << kStepBits) - 1));
    return ((mantissa + 1) << octave) - 1;  // the last step wraps to UINT64_MAX, as it should
  }

  void Add(uint64_t ns) {
    counts_[StepOf(ns)].fetch_add(1, std::memory_order_relaxed);
    uint64_t seen = min_.load(std::memory_order_relaxed);
    while (ns < seen && !min_.compare_exchange_weak(seen, ns, std::memory_order_relaxed)) {
    }
    seen = max_.load(std::memory_order_relaxed);
    while (ns > seen && !max_.compare_exchange_weak(seen, ns, std::memory_order_relaxed)) {
    }
  }

  uint64_t Count() const {
    uint64_t total = 0;
    for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
    return total;
  }
  uint64_t Min() const {
    const uint64_t min = min_.load(std::memory_order_relaxed);
    return min == UINT64_MAX ? 0 : min;
  }
  uint64_t Max() const { return max_.load(std::memory_order_relaxed); }

  // Upper edge of the step that holds the value of rank ceil(total * permille / 1000), never above
  // the maximum seen. 0 when empty.
  uint64_t Quantile(uint32_t permille) const {
    const uint64_t total = Count();
    if (total == 0) return 0;
    // total stays far below 2^64 / 1000
    const uint64_t rank = total * permille / 1000 + (total * permille % 1000 != 0);
    uint64_t below = 0;
    for (uint32_t step = 0; step < kSteps; ++step) {
      below += counts_[step].load(std::memory_order_relaxed);
      if (below >= rank && below != 0) {
        const uint64_t edge = UpperEdge(step), max = Max();
        return edge < max ? edge : max;
      }
    }
    return Max();
  }

 private:
  std::array<std::atomic<uint64_t>, kSteps> counts_{};
  std::atomic<uint64_t> min_{UINT64_MAX};
  std::atomic<uint64_t> max_{0};
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_LATENCY_HISTOGRAM_H_
