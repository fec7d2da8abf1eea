/* SPDX-License-Identifier: MIT
 * rankfeed/counters.h: what one thread's work costs, as the CPU and the kernel count it. Library
 * rankfeed_counters; nothing of the runtime calls it, so an encoder without counters costs what it
 * costs. A null rankfeed_counters is "off": start, stop and read do nothing and answer OK.
 *
 * Hardware events are opened with perf_event_open in small groups, user mode only, and scaled
 * when the kernel had to take turns between groups; `multiplex` says by how much. A counter that
 * the kernel, the CPU or the hypervisor does not offer is never 0: `valid` is 0 and `reason` says
 * why.
 *
 * rankfeed_counters: one thread, the one that opened it. */
#ifndef RANKFEED_COUNTERS_H_
#define RANKFEED_COUNTERS_H_

#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_counters rankfeed_counters;

/* Numbers are stable; new ones are appended. */
enum {
  RANKFEED_COUNTER_CYCLES = 0,
  RANKFEED_COUNTER_INSTRUCTIONS = 1,
  RANKFEED_COUNTER_BRANCH_MISSES = 2,
  RANKFEED_COUNTER_L1D_MISSES = 3,
  RANKFEED_COUNTER_L2_MISSES = 4,
  RANKFEED_COUNTER_LLC_MISSES = 5,
  RANKFEED_COUNTER_DTLB_LOAD_MISSES = 6,
  RANKFEED_COUNTER_PAGE_WALK_CYCLES = 7, /* cycles with a page walk for a load under way */
  RANKFEED_COUNTER_PAGE_FAULTS = 8,
  RANKFEED_COUNTER_CONTEXT_SWITCHES = 9,
  RANKFEED_COUNTER_TASK_CLOCK_NS = 10,
  RANKFEED_COUNTER_PAGE_WALKS = 11, /* for loads; AMD, Arm: for any data access */
  RANKFEED_COUNTER_COUNT = 12
};

typedef struct {
  uint64_t value;   /* between start and stop, scaled; meaningless unless valid */
  double multiplex; /* time enabled over time counted: 1 = counted all the time */
  uint32_t valid;
  uint32_t reserved;
  char reason[104]; /* NUL-terminated; why not valid, or where the value is from when not perf */
} rankfeed_counter;

typedef struct {
  uint32_t struct_size;
  uint32_t count; /* counters filled */
  rankfeed_counter counters[RANKFEED_COUNTER_COUNT];
} rankfeed_counters_snapshot;

/* Name such as "dtlb_load_misses"; null for unknown numbers. Static storage. O(1), any thread. */
RANKFEED_API const char* rankfeed_counter_name(uint32_t counter);

/* Opens what can be opened for the calling thread; counters that cannot be had do not make it
 * fail. Errors: ARGUMENT, NO_MEMORY. O(counters): a few system calls for each. */
RANKFEED_API rankfeed_status rankfeed_counters_open(rankfeed_counters** out);
/* Zeroes and starts all counters. Errors: none, also for null. O(groups): a system call for each
 * (three of hardware, one of software). */
RANKFEED_API rankfeed_status rankfeed_counters_start(rankfeed_counters* counters);
/* Stops all counters; what they hold stays readable. Errors: none, also for null. O(groups), as
 * start. */
RANKFEED_API rankfeed_status rankfeed_counters_stop(rankfeed_counters* counters);
/* The counts from start to stop (or to now). With null counters every entry is invalid with
 * the reason "off". Errors: ARGUMENT, STRUCT_SIZE. O(counters): a system call for each. */
RANKFEED_API rankfeed_status rankfeed_counters_read(rankfeed_counters* counters,
                                                    rankfeed_counters_snapshot* out);
/* Null is a no-op. O(counters). */
RANKFEED_API void rankfeed_counters_close(rankfeed_counters* counters);

RANKFEED_END_C

#endif /* RANKFEED_COUNTERS_H_ */
