// SPDX-License-Identifier: MIT
// support/faults.h: how many faults a test injected, as a line of its output that
// `fuzz/run.py --faults` adds up for fuzz/REPORT.md.
#pragma once

#include <cstdint>
#include <cstdio>

namespace rankfeed::test {

inline void ReportFaults(const char* kind, uint64_t count) {
  std::printf("faults injected: %llu %s\n", static_cast<unsigned long long>(count), kind);
}

}  // namespace rankfeed::test
