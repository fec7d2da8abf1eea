// SPDX-License-Identifier: MIT
// perf_events_test.cc: scaling, validity and reasons against a scripted kernel; software events against
// work of known size on the real one.
#include "counters/perf_events.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace rankfeed::counters {
namespace {

// Hands out descriptors and answers reads with what the test sets.
class FakeKernel final : public PerfKernel {
 public:
  int Open(perf_event_attr* attr, int group) override {
    if (attr->type != PERF_TYPE_SOFTWARE && hardware_error != 0) return -hardware_error;
    if (attr->type == PERF_TYPE_SOFTWARE && software_error != 0) return -software_error;
    const int fd = next_++;
    leader_[fd] = group < 0 ? fd : group;
    ++members_[leader_[fd]];
    configs[fd] = attr->config;
    kernel_excluded[fd] = attr->exclude_kernel;
    return fd;
  }
  int Ioctl(int, unsigned long) override { return 0; }
  ssize_t Read(int fd, void* out, size_t size) override {
    uint64_t words[8] = {static_cast<uint64_t>(members_[fd]), enabled, running, 1000, 2000, 3000, 4000};
    const size_t bytes = std::min(size, (3 + static_cast<size_t>(members_[fd])) * sizeof(uint64_t));
    std::memcpy(out, words, bytes);
    return short_read ? 8 : static_cast<ssize_t>(bytes);
  }
  void Close(int) override { ++closed; }
  RawEvents Raw() override { return {raw, raw, raw}; }
  std::string CpuName() override { return "TestCPU"; }
  int opened() const { return next_ - 100; }

  int hardware_error = 0, software_error = 0, closed = 0;
  bool short_read = false;
  uint64_t enabled = 100, running = 100, raw = 0x1234;
  std::map<int, uint64_t> configs;
  std::map<int, bool> kernel_excluded;

 private:
  int next_ = 100;
  std::map<int, int> leader_, members_;
};

rankfeed_counters_snapshot ReadAll(PerfCounters& counters) {
  rankfeed_counters_snapshot out{};
  out.struct_size = sizeof(out);
  counters.Read(&out);
  return out;
}

TEST(PerfEvents, ValuesAreScaledByTheShareOfTimeCounted) {
  FakeKernel kernel;
  kernel.enabled = 400;
  kernel.running = 100;
  {
    PerfCounters counters(kernel);
    EXPECT_EQ(kernel.opened(), RANKFEED_COUNTER_COUNT);
    counters.Start();
    counters.Stop();
    const auto all = ReadAll(counters);
    const rankfeed_counter& cycles = all.counters[RANKFEED_COUNTER_CYCLES];
    EXPECT_TRUE(cycles.valid);
    EXPECT_EQ(cycles.value, 4000u);
    EXPECT_EQ(cycles.multiplex, 4.0);
    EXPECT_EQ(all.counters[RANKFEED_COUNTER_INSTRUCTIONS].value, 8000u);
    EXPECT_EQ(all.counters[RANKFEED_COUNTER_PAGE_WALK_CYCLES].value, 8000u);
  }
  EXPECT_EQ(kernel.closed, RANKFEED_COUNTER_COUNT);
}

TEST(PerfEvents, AGroupThatNeverRanIsNotZero) {
  FakeKernel kernel;
  kernel.running = 0;
  PerfCounters counters(kernel);
  counters.Start();
  const auto all = ReadAll(counters);
  EXPECT_FALSE(all.counters[RANKFEED_COUNTER_CYCLES].valid);
  EXPECT_STRNE(all.counters[RANKFEED_COUNTER_CYCLES].reason, "");
}

TEST(PerfEvents, WithoutHardwareCountersTheReasonIsGivenAndSoftwareWorks) {
  for (const int error : {ENOENT, EOPNOTSUPP, EACCES, ENOSYS, EINVAL}) {
    FakeKernel kernel;
    kernel.hardware_error = error;
    PerfCounters counters(kernel);
    counters.Start();
    const auto all = ReadAll(counters);
    for (int id = 0; id <= RANKFEED_COUNTER_PAGE_WALK_CYCLES; ++id) {
      EXPECT_FALSE(all.counters[id].valid) << rankfeed_counter_name(static_cast<uint32_t>(id));
      EXPECT_STRNE(all.counters[id].reason, "");
    }
    for (int id = RANKFEED_COUNTER_PAGE_FAULTS; id <= RANKFEED_COUNTER_TASK_CLOCK_NS; ++id) {
      EXPECT_TRUE(all.counters[id].valid);
    }
    EXPECT_FALSE(all.counters[RANKFEED_COUNTER_PAGE_WALKS].valid);
    EXPECT_STRNE(all.counters[RANKFEED_COUNTER_PAGE_WALKS].reason, "");
  }
}

TEST(PerfEvents, WithoutPrivilegesSoftwareEventsComeFromTheThreadsBooks) {
  FakeKernel kernel;
  kernel.hardware_error = kernel.software_error = EACCES;
  PerfCounters counters(kernel);
  counters.Start();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // at least one switch
  counters.Stop();
  const auto all = ReadAll(counters);
  EXPECT_TRUE(all.counters[RANKFEED_COUNTER_CONTEXT_SWITCHES].valid);
  EXPECT_GE(all.counters[RANKFEED_COUNTER_CONTEXT_SWITCHES].value, 1u);
  EXPECT_STREQ(all.counters[RANKFEED_COUNTER_CONTEXT_SWITCHES].reason, "from getrusage");
  EXPECT_NE(std::string(all.counters[RANKFEED_COUNTER_CYCLES].reason).find("paranoid"),
            std::string::npos);
}

TEST(PerfEvents, AShortReadIsAReasonNotANumber) {
  FakeKernel kernel;
  kernel.short_read = true;
  PerfCounters counters(kernel);
  counters.Start();
  EXPECT_FALSE(ReadAll(counters).counters[RANKFEED_COUNTER_INSTRUCTIONS].valid);
}

TEST(PerfEvents, UnknownCpuHasNoRawEvents) {
  FakeKernel kernel;
  kernel.raw = 0;
  PerfCounters counters(kernel);
  counters.Start();
  const auto all = ReadAll(counters);
  EXPECT_FALSE(all.counters[RANKFEED_COUNTER_L2_MISSES].valid);
  EXPECT_NE(std::string(all.counters[RANKFEED_COUNTER_L2_MISSES].reason).find("TestCPU"),
            std::string::npos);
  EXPECT_TRUE(all.counters[RANKFEED_COUNTER_L1D_MISSES].valid);
}

// As /proc/cpuinfo of each begins, and its events in Linux' lists (tools/perf/pmu-events/arch).
TEST(PerfEvents, RawEventsByCpu) {
  const auto intel = [](int model) {
    return "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: " +
           std::to_string(model) + "\nmodel name\t: Xeon\n\n";
  };
  const auto amd = [](int family) {
    return "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: " + std::to_string(family) +
           "\nmodel\t\t: 17\nmodel name\t: EPYC\n\nprocessor\t: 1\ncpu family\t: 6\n";
  };
  const auto arm = [](const char* implementer, const char* part) {
    return std::string("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: ") + implementer +
           "\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: " + part + "\n\n";
  };
  struct Case {
    std::string cpuinfo, name;
    RawEvents raw;
  };
  const Case cases[] = {
      {intel(0x55), "Xeon", {0x3f24, 0x1001008, 0x0e08}},
      {intel(0x8f), "Xeon", {0x3f24, 0x1001012, 0x0e12}},
      {intel(0x01), "Xeon", {}},
      {amd(0x15), "EPYC", {}},
      {amd(0x17), "EPYC", {0x0964, 0, 0xf045}},
      {amd(0x19), "EPYC", {0x0964, 0, 0xf045}},
      {amd(0x1a), "EPYC", {0x0964, 0, 0xf045}},
      {arm("0x41", "0xd0c"), "CPU part 0xd0c", {0x17, 0, 0x34}},
      {arm("0x41", "0xd4f"), "CPU part 0xd4f", {0x17, 0, 0x34}},
      {arm("0x41", "0xd08"), "CPU part 0xd08", {}},
      {arm("0x61", "0xd0c"), "CPU part 0xd0c", {}},
      {"", "", {}},
  };
  for (const Case& c : cases) {
    std::istringstream in(c.cpuinfo);
    const CpuIdentity cpu = ReadCpuIdentity(in);
    EXPECT_EQ(cpu.name, c.name);
    const RawEvents raw = RawEventsOf(cpu);
    EXPECT_EQ(raw.l2_misses, c.raw.l2_misses) << c.cpuinfo;
    EXPECT_EQ(raw.page_walk_cycles, c.raw.page_walk_cycles) << c.cpuinfo;
    EXPECT_EQ(raw.page_walks, c.raw.page_walks) << c.cpuinfo;
  }
}

TEST(PerfEvents, OnlyHardwareEventsLeaveTheKernelOut) {
  FakeKernel kernel;
  PerfCounters counters(kernel);
  EXPECT_TRUE(kernel.kernel_excluded[100]);
  EXPECT_FALSE(kernel.kernel_excluded[100 + RANKFEED_COUNTER_CONTEXT_SWITCHES]);
}

// The machine's own kernel: fresh pages touched are faults, CPU time passes, sleeping switches.
TEST(Counters, SoftwareEventsOfKnownWork) {
  rankfeed_counters* counters = nullptr;
  ASSERT_EQ(rankfeed_counters_open(&counters), RANKFEED_OK);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), pages = 2000;
  void* memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  rusage before{}, after{};
  ASSERT_EQ(getrusage(RUSAGE_THREAD, &before), 0);
  ASSERT_EQ(rankfeed_counters_start(counters), RANKFEED_OK);
  for (size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  for (int i = 0; i < 10; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_EQ(rankfeed_counters_stop(counters), RANKFEED_OK);
  ASSERT_EQ(getrusage(RUSAGE_THREAD, &after), 0);
  rankfeed_counters_snapshot all{};
  all.struct_size = sizeof(all);
  ASSERT_EQ(rankfeed_counters_read(counters, &all), RANKFEED_OK);
  const auto& faults = all.counters[RANKFEED_COUNTER_PAGE_FAULTS];
  ASSERT_TRUE(faults.valid);
  EXPECT_GE(faults.value, pages);
  // A kernel that reclaims pages while the loop runs adds faults of its own; the thread's own books
  // around the counted stretch have them too.
  EXPECT_LE(faults.value, static_cast<uint64_t>(after.ru_minflt - before.ru_minflt + after.ru_majflt -
                                                before.ru_majflt));
  EXPECT_GE(all.counters[RANKFEED_COUNTER_CONTEXT_SWITCHES].value, 10u);
  EXPECT_GT(all.counters[RANKFEED_COUNTER_TASK_CLOCK_NS].value, 100000u);
  for (const rankfeed_counter& counter : all.counters) {
    if (!counter.valid) {
      EXPECT_STRNE(counter.reason, "");
    }
  }
  munmap(memory, pages * page);
  rankfeed_counters_close(counters);
}

TEST(Counters, NullIsOff) {
  EXPECT_EQ(rankfeed_counters_start(nullptr), RANKFEED_OK);
  EXPECT_EQ(rankfeed_counters_stop(nullptr), RANKFEED_OK);
  rankfeed_counters_snapshot all{};
  EXPECT_EQ(rankfeed_counters_read(nullptr, &all), RANKFEED_E_STRUCT_SIZE);
  all.struct_size = sizeof(all);
  EXPECT_EQ(rankfeed_counters_read(nullptr, &all), RANKFEED_OK);
  for (const rankfeed_counter& counter : all.counters) {
    EXPECT_FALSE(counter.valid);
    EXPECT_STREQ(counter.reason, "off");
  }
  EXPECT_EQ(rankfeed_counters_open(nullptr), RANKFEED_E_ARGUMENT);
  rankfeed_counters_close(nullptr);
  for (uint32_t id = 0; id < RANKFEED_COUNTER_COUNT; ++id) EXPECT_NE(rankfeed_counter_name(id), nullptr);
  EXPECT_EQ(rankfeed_counter_name(RANKFEED_COUNTER_COUNT), nullptr);
}

}  // namespace
}  // namespace rankfeed::counters
