// SPDX-License-Identifier: MIT
// counters/capi_counters.cc: rankfeed/counters.h over PerfCounters.
#include <cstddef>
#include <cstring>
#include <new>

#include "counters/perf_events.h"
#include "rankfeed/counters.h"

struct rankfeed_counters {
  rankfeed::counters::PerfCounters perf;
};

extern "C" {

const char* rankfeed_counter_name(uint32_t counter) {
  static constexpr const char* kNames[RANKFEED_COUNTER_COUNT] = {
      "cycles",        "instructions",     "branch_misses",     "l1d_misses",
      "l2_misses",     "llc_misses",       "dtlb_load_misses",  "page_walk_cycles",
      "page_faults",   "context_switches", "task_clock_ns",     "page_walks"};
  return counter < RANKFEED_COUNTER_COUNT ? kNames[counter] : nullptr;
}

rankfeed_status rankfeed_counters_open(rankfeed_counters** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  try {
    *out = new rankfeed_counters;
    return RANKFEED_OK;
  } catch (...) {
    return RANKFEED_E_NO_MEMORY;
  }
}

rankfeed_status rankfeed_counters_start(rankfeed_counters* counters) {
  if (counters != nullptr) counters->perf.Start();
  return RANKFEED_OK;
}

rankfeed_status rankfeed_counters_stop(rankfeed_counters* counters) {
  if (counters != nullptr) counters->perf.Stop();
  return RANKFEED_OK;
}

rankfeed_status rankfeed_counters_read(rankfeed_counters* counters,
                                       rankfeed_counters_snapshot* out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  if (out->struct_size != sizeof(*out)) return RANKFEED_E_STRUCT_SIZE;
  if (counters != nullptr) {
    counters->perf.Read(out);
    return RANKFEED_OK;
  }
  out->count = RANKFEED_COUNTER_COUNT;
  for (rankfeed_counter& counter : out->counters) {
    counter = {};
    counter.multiplex = 1;
    std::strcpy(counter.reason, "off");
  }
  return RANKFEED_OK;
}

void rankfeed_counters_close(rankfeed_counters* counters) { delete counters; }

}  // extern "C"
