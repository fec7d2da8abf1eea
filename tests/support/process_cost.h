// SPDX-License-Identifier: MIT
// tests/support/process_cost.h: what a piece of work costs, measured in a process of its own.
#pragma once

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace rankfeed::test {

struct ProcessCost {
  bool measured = false;  // false: the process ended otherwise, or /proc cannot say
  double seconds = 0;     // processor time of user and system
  uint64_t bytes = 0;     // peak resident above what was resident before
  uint64_t result = 0;    // what the work returned
};

// A line "NAME: 123 kB" of /proc/self/status in bytes; 0 if there is none.
inline uint64_t StatusBytes(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, std::strlen(name), name) == 0) {
      return std::stoull(line.substr(std::strlen(name) + 1)) * 1024;
    }
  }
  return 0;
}

// Runs work, which returns a number, in a child process. Its address space begins as a copy of this
// one, with free memory handed back first, so that what the work uses again counts too.
template <class Work>
ProcessCost Measure(const Work& work) {
  int ends[2];
  ProcessCost cost;
  if (pipe(ends) != 0) return cost;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins again
    const auto seconds = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    };
    const uint64_t before = StatusBytes("VmRSS");
    const double start = seconds();
    cost.result = work();
    cost.seconds = seconds() - start;
    const uint64_t peak = StatusBytes("VmHWM");
    cost.measured = before != 0 && peak >= before;
    cost.bytes = peak - before;
    const bool told = write(ends[1], &cost, sizeof cost) == sizeof cost;
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &cost, sizeof cost) != sizeof cost) cost = {};
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) cost.measured = false;
  return cost;
}

}  // namespace rankfeed::test
