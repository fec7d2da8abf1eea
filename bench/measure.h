// SPDX-License-Identifier: MIT
// bench/measure.h: what benchmark programs share: a clock in nanoseconds and ends with a message.
#pragma once

#include <errno.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rankfeed/status.h"

namespace rankfeed::bench {

// The time of any clock of the system: CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, ...
inline uint64_t Clock(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// Ends the program; a benchmark that cannot compare or measure prints no figure.
[[noreturn]] inline void Die(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(1);
}

inline void Check(rankfeed_status status) {
  if (status != RANKFEED_OK) Die(rankfeed_status_message(status));
}

}  // namespace rankfeed::bench
