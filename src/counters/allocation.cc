// SPDX-License-Identifier: MIT
// counters/allocation.cc: see allocation.h. Everything here is called from inside malloc: constant
// initialised, without locks or allocation.
#include "counters/allocation.h"

#include <atomic>

namespace rankfeed::counters {
namespace {

// initial-exec: the dynamic loader may allocate on the first access otherwise.
#if defined(__GNUC__)
#define RANKFEED_STATIC_TLS __attribute__((tls_model("initial-exec")))
#else
#define RANKFEED_STATIC_TLS
#endif
thread_local ThreadAllocations t_counts RANKFEED_STATIC_TLS = {0, 0};

constinit std::atomic<bool> g_installed{false};
constinit std::atomic<uint32_t> g_phases{0};
constinit std::atomic<uint64_t> g_count{0}, g_bytes{0}, g_frees{0};
// Signed: blocks from before the phase are freed in it.
constinit std::atomic<int64_t> g_live{0}, g_peak{0};

}  // namespace

namespace accounting {

bool On() { return g_phases.load(std::memory_order_relaxed) != 0; }

void Allocated(uint64_t bytes) {
  ++t_counts.count;
  t_counts.bytes += bytes;
  g_count.fetch_add(1, std::memory_order_relaxed);
  g_bytes.fetch_add(bytes, std::memory_order_relaxed);
  const int64_t live = g_live.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed) +
                       static_cast<int64_t>(bytes);
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (live > peak &&
         !g_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

void Freed(uint64_t bytes) {
  g_frees.fetch_add(1, std::memory_order_relaxed);
  g_live.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void SetInstalled() { g_installed.store(true, std::memory_order_relaxed); }

}  // namespace accounting

bool AllocationAccountingInstalled() { return g_installed.load(std::memory_order_relaxed); }

const char* AllocationAccountingReason() {
  return AllocationAccountingInstalled()
             ? ""
             : "the program does not link rankfeed_accounting (sanitizers bring their own allocator)";
}

AllocationPhase::AllocationPhase() {
  g_count.store(0, std::memory_order_relaxed);
  g_bytes.store(0, std::memory_order_relaxed);
  g_frees.store(0, std::memory_order_relaxed);
  g_live.store(0, std::memory_order_relaxed);
  g_peak.store(0, std::memory_order_relaxed);
  g_phases.fetch_add(1, std::memory_order_relaxed);
}

AllocationPhase::~AllocationPhase() { g_phases.fetch_sub(1, std::memory_order_relaxed); }

AllocationCounts AllocationPhase::Counts() const {
  return {g_count.load(std::memory_order_relaxed), g_bytes.load(std::memory_order_relaxed),
          g_frees.load(std::memory_order_relaxed),
          static_cast<uint64_t>(g_peak.load(std::memory_order_relaxed))};
}

ThreadAllocations AllocationsOfThisThread() { return t_counts; }

}  // namespace rankfeed::counters
