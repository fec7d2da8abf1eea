// SPDX-License-Identifier: MIT
// counters/perf_events.h: the perf events of rankfeed_counters, apart from the system calls, so
// that tests decide what the kernel answers.
//
// Events are opened in groups that are counted together or not at all; ratios within a group (IPC)
// are then of the same instants. Four hardware events fit the programmable counters of every
// x86-64 CPU with hyper-threading on, beside the fixed ones.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <istream>
#include <string>

#include "rankfeed/counters.h"

namespace rankfeed::counters {

// Encodings (event | umask << 8 | cmask << 24) of the events that have no generic name; 0: none is
// known for the CPU.
struct RawEvents {
  uint64_t l2_misses = 0, page_walk_cycles = 0, page_walks = 0;
};

// perf_event_open, ioctl, read and close, as the kernel's or a test's.
struct PerfKernel {
  virtual ~PerfKernel() = default;
  virtual int Open(perf_event_attr* attr, int group) = 0;  // fd, or -errno; this thread, any CPU
  virtual int Ioctl(int fd, unsigned long request) = 0;    // 0, or -errno; on the whole group
  virtual ssize_t Read(int fd, void* out, size_t size) = 0;
  virtual void Close(int fd) = 0;
  virtual RawEvents Raw() = 0;
  virtual std::string CpuName() = 0;
};
PerfKernel& SystemPerfKernel();

// The first CPU that /proc/cpuinfo names. vendor is CPUID's; for Arm's own cores "Arm", and
// model is the part.
struct CpuIdentity {
  std::string vendor, name;
  int family = 0, model = 0;
};
CpuIdentity ReadCpuIdentity(std::istream& cpuinfo);
RawEvents RawEventsOf(const CpuIdentity& cpu);

class PerfCounters {
 public:
  explicit PerfCounters(PerfKernel& kernel = SystemPerfKernel());
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  void Start();
  void Stop();
  void Read(rankfeed_counters_snapshot* out);

 private:
  static constexpr int kGroups = 4;
  static constexpr int kPerGroup = 4;
  struct Group {
    std::array<int, kPerGroup> fds, ids;  // ids: RANKFEED_COUNTER_*
    int size = 0;
  };
  void OpenInto(Group& group, int id);
  std::string WhyNot(int id, int error) const;

  PerfKernel& kernel_;
  std::array<Group, kGroups> groups_;
  std::array<std::string, RANKFEED_COUNTER_COUNT> reasons_;  // empty: opened
  // Counts of the thread's own books, for processes without privileges, where the kernel counts
  // context switches as its own.
  struct Books {
    uint64_t page_faults = 0, context_switches = 0, task_clock_ns = 0;
  };
  static Books ReadBooks();
  Books start_, stop_;
  bool running_ = false;
};

}  // namespace rankfeed::counters
