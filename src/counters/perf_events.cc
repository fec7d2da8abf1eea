// SPDX-License-Identifier: MIT
// counters/perf_events.cc: see perf_events.h.
#include "counters/perf_events.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace rankfeed::counters {
namespace {

constexpr uint64_t Cache(uint64_t cache, uint64_t operation, uint64_t result) {
  return cache | operation << 8 | result << 16;
}

struct Event {
  int group;
  uint32_t type;
  uint64_t config;
};

// Events by RANKFEED_COUNTER_*. Config 0 of a raw event is filled in by the kernel object.
constexpr Event kEvents[RANKFEED_COUNTER_COUNT] = {
    {0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {0, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {1, PERF_TYPE_HW_CACHE,
     Cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {1, PERF_TYPE_RAW, 0},
    {1, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {2, PERF_TYPE_HW_CACHE,
     Cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {2, PERF_TYPE_RAW, 0},
    {3, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {3, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {3, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {2, PERF_TYPE_RAW, 0},
};

uint64_t RawConfig(const RawEvents& raw, int id) {
  if (id == RANKFEED_COUNTER_L2_MISSES) return raw.l2_misses;
  return id == RANKFEED_COUNTER_PAGE_WALKS ? raw.page_walks : raw.page_walk_cycles;
}

CpuIdentity ThisCpu() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return ReadCpuIdentity(cpuinfo);
}

class System final : public PerfKernel {
 public:
  int Open(perf_event_attr* attr, int group) override {
    const long fd = syscall(SYS_perf_event_open, attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : static_cast<int>(fd);
  }
  int Ioctl(int fd, unsigned long request) override {
    return ioctl(fd, request, PERF_IOC_FLAG_GROUP) < 0 ? -errno : 0;
  }
  ssize_t Read(int fd, void* out, size_t size) override {
    ssize_t got;
    do {
      got = read(fd, out, size);
    } while (got < 0 && errno == EINTR);
    return got;
  }
  void Close(int fd) override { close(fd); }
  RawEvents Raw() override { return RawEventsOf(cpu_); }
  std::string CpuName() override { return cpu_.name; }

 private:
  const CpuIdentity cpu_ = ThisCpu();
};

// Intel server and client cores by CPUID model, family 6 (Linux: arch/x86/include/asm/intel-family.h).
bool IsSkylakeToIceLake(int model) {
  static constexpr int kModels[] = {0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x6a, 0x6c, 0x7d, 0x7e};
  return std::find(std::begin(kModels), std::end(kModels), model) != std::end(kModels);
}
bool IsGoldenCoveOrLater(int model) {
  static constexpr int kModels[] = {0x8f, 0xcf, 0xad, 0xae, 0x97, 0x9a, 0xb7, 0xba, 0xbf};
  return std::find(std::begin(kModels), std::end(kModels), model) != std::end(kModels);
}

// Main ID Register, PartNum (Linux: arch/arm64/include/asm/cputype.h).
bool IsNeoverse(int part) {
  static constexpr int kParts[] = {0xd0c, 0xd40, 0xd49, 0xd4f};  // N1, V1, N2, V2
  return std::find(std::begin(kParts), std::end(kParts), part) != std::end(kParts);
}

}  // namespace

PerfKernel& SystemPerfKernel() {
  static System kernel;
  return kernel;
}

CpuIdentity ReadCpuIdentity(std::istream& cpuinfo) {
  CpuIdentity cpu;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    const auto number = [&value] { return static_cast<int>(strtol(value.c_str(), nullptr, 0)); };
    if (line.starts_with("vendor_id")) cpu.vendor = value;
    if (line.starts_with("model name")) cpu.name = value;
    if (line.starts_with("cpu family")) cpu.family = number();
    if (line.starts_with("model\t")) cpu.model = number();
    if (line.starts_with("CPU implementer") && number() == 0x41) cpu.vendor = "Arm";
    if (line.starts_with("CPU part")) {
      cpu.model = number();
      cpu.name = "CPU part " + value;
    }
  }
  return cpu;
}

// From the vendors' event lists, as Linux has them (tools/perf/pmu-events/arch); tests/counters/event_lists_test.py compares
// them with those of the perf that is installed.
//   Intel: L2_RQSTS.MISS 24/3F; DTLB_LOAD_MISSES.WALK_ACTIVE 10 with cmask 1 and WALK_COMPLETED 0E,
//     event 08 up to Ice Lake, 12 from Golden Cove on.
//   AMD Zen to Zen 5 (families 17h, 19h, 1Ah): l2_cache_req_stat.ic_dc_miss_in_l2 64/09, requests of
//     the instruction and data caches; ls_l1_d_tlb_miss.all_l2_miss 45/F0 (in older lists its four
//     parts), each a page walk. Cycles of walks are not counted there.
//   Arm Neoverse N1, V1, N2, V2: L2D_CACHE_REFILL 17, DTLB_WALK 34.
RawEvents RawEventsOf(const CpuIdentity& cpu) {
  if (cpu.vendor == "GenuineIntel" && cpu.family == 6) {
    if (IsSkylakeToIceLake(cpu.model)) return {0x3f24, 0x1001008, 0x0e08};
    if (IsGoldenCoveOrLater(cpu.model)) return {0x3f24, 0x1001012, 0x0e12};
  }
  const bool zen = cpu.family == 0x17 || cpu.family == 0x19 || cpu.family == 0x1a;
  if (cpu.vendor == "AuthenticAMD" && zen) return {0x0964, 0, 0xf045};
  if (cpu.vendor == "Arm" && IsNeoverse(cpu.model)) return {0x17, 0, 0x34};
  return {};
}

PerfCounters::PerfCounters(PerfKernel& kernel) : kernel_(kernel) {
  for (int id = 0; id < RANKFEED_COUNTER_COUNT; ++id) {
    OpenInto(groups_[static_cast<size_t>(kEvents[id].group)], id);
  }
}

PerfCounters::~PerfCounters() {
  for (const Group& group : groups_) {
    for (int i = 0; i < group.size; ++i) kernel_.Close(group.fds[static_cast<size_t>(i)]);
  }
}

void PerfCounters::OpenInto(Group& group, int id) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = kEvents[id].type;
  attr.config = kEvents[id].config;
  if (attr.type == PERF_TYPE_RAW) {
    attr.config = RawConfig(kernel_.Raw(), id);
    if (attr.config == 0) {
      reasons_[static_cast<size_t>(id)] = "no such event is known for " + kernel_.CpuName();
      return;
    }
  }
  attr.disabled = group.size == 0;  // members follow their leader
  attr.exclude_hv = 1;
  // The kernel's own work is left out, except that context switches are only ever made there.
  attr.exclude_kernel = attr.type != PERF_TYPE_SOFTWARE;
  attr.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const int leader = group.size == 0 ? -1 : group.fds[0];
  const int fd = kernel_.Open(&attr, leader);
  if (fd < 0) {
    reasons_[static_cast<size_t>(id)] = WhyNot(id, -fd);
    return;
  }
  group.fds[static_cast<size_t>(group.size)] = fd;
  group.ids[static_cast<size_t>(group.size)] = id;
  ++group.size;
}

std::string PerfCounters::WhyNot(int id, int error) const {
  const bool software = kEvents[id].type == PERF_TYPE_SOFTWARE;
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "not offered by this CPU, kernel or hypervisor (" + std::string(strerror(error)) + ")";
    case EACCES:
    case EPERM: {
      int paranoid = -9;
      std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
      return "not permitted: perf_event_paranoid is " + std::to_string(paranoid) +
             (software ? ", software events that see the kernel need 1 or less" : "");
    }
    case ENOSYS:
      return "the kernel has no perf_event_open, or a sandbox filters it";
    default:
      return std::string("perf_event_open: ") + strerror(error);
  }
}

PerfCounters::Books PerfCounters::ReadBooks() {
  Books books;
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0) {
    books.page_faults = static_cast<uint64_t>(usage.ru_minflt + usage.ru_majflt);
    books.context_switches = static_cast<uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  }
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  books.task_clock_ns =
      static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
  return books;
}

void PerfCounters::Start() {
  start_ = ReadBooks();
  running_ = true;
  for (const Group& group : groups_) {
    if (group.size == 0) continue;
    kernel_.Ioctl(group.fds[0], PERF_EVENT_IOC_RESET);
    kernel_.Ioctl(group.fds[0], PERF_EVENT_IOC_ENABLE);
  }
}

void PerfCounters::Stop() {
  for (const Group& group : groups_) {
    if (group.size != 0) kernel_.Ioctl(group.fds[0], PERF_EVENT_IOC_DISABLE);
  }
  stop_ = ReadBooks();
  running_ = false;
}

void PerfCounters::Read(rankfeed_counters_snapshot* out) {
  out->count = RANKFEED_COUNTER_COUNT;
  const auto reason = [](rankfeed_counter& counter, const std::string& text) {
    std::snprintf(counter.reason, sizeof(counter.reason), "%s", text.c_str());
  };
  for (int id = 0; id < RANKFEED_COUNTER_COUNT; ++id) {
    rankfeed_counter& counter = out->counters[id];
    counter = {};
    counter.multiplex = 1;
    reason(counter, reasons_[static_cast<size_t>(id)]);
  }
  for (const Group& group : groups_) {
    if (group.size == 0) continue;
    struct {
      uint64_t count, enabled, running, values[kPerGroup];
    } data{};
    const ssize_t got = kernel_.Read(group.fds[0], &data, sizeof(data));
    const bool whole = got >= static_cast<ssize_t>((3 + group.size) * sizeof(uint64_t)) &&
                       data.count == static_cast<uint64_t>(group.size);
    for (int i = 0; i < group.size; ++i) {
      rankfeed_counter& counter = out->counters[group.ids[static_cast<size_t>(i)]];
      if (!whole) {
        reason(counter, "reading the counter failed");
      } else if (data.running == 0) {
        reason(counter, data.enabled == 0 ? "never started"
                                          : "the kernel never got to count it (others hold the "
                                            "hardware counters)");
      } else {
        counter.multiplex = static_cast<double>(data.enabled) / static_cast<double>(data.running);
        counter.value = static_cast<uint64_t>(
            static_cast<double>(data.values[i]) * counter.multiplex + 0.5);
        counter.valid = 1;
      }
    }
  }
  const Books now = running_ ? ReadBooks() : stop_;
  const auto from_books = [&](int id, uint64_t value, const char* source) {
    rankfeed_counter& counter = out->counters[id];
    if (counter.valid) return;
    counter.value = value;
    counter.valid = 1;
    counter.multiplex = 1;
    reason(counter, source);
  };
  from_books(RANKFEED_COUNTER_PAGE_FAULTS, now.page_faults - start_.page_faults, "from getrusage");
  from_books(RANKFEED_COUNTER_CONTEXT_SWITCHES, now.context_switches - start_.context_switches,
             "from getrusage");
  from_books(RANKFEED_COUNTER_TASK_CLOCK_NS, now.task_clock_ns - start_.task_clock_ns,
             "from CLOCK_THREAD_CPUTIME_ID");
}

}  // namespace rankfeed::counters
