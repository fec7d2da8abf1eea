// SPDX-License-Identifier: MIT
// raw_events: the raw events that the counters program for a CPU, whose /proc/cpuinfo is standard input. For event_lists_test.py.
#include <cinttypes>
#include <cstdio>
#include <iostream>

#include "counters/perf_events.h"

int main() {
  const rankfeed::counters::RawEvents raw =
      rankfeed::counters::RawEventsOf(rankfeed::counters::ReadCpuIdentity(std::cin));
  std::printf("l2_misses %" PRIx64 "\npage_walk_cycles %" PRIx64 "\npage_walks %" PRIx64 "\n", raw.l2_misses,
              raw.page_walk_cycles, raw.page_walks);
}
