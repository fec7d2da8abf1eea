// SPDX-License-Identifier: MIT
// pages_test.cc: page sizes out of smaps: written ones, and of memory of this process.
#include "counters/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "counters/energy.h"

namespace rankfeed::counters {
namespace {

constexpr const char* kSmaps =
    "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \nRss: 4096 kB\nAnonHugePages: 4096 kB\n"
    "KernelPageSize: 4 kB\n"
    "7f0000400000-7f0000800000 r--s 00000000 08:01 7 /a-b\nRss: 1000 kB\nAnonHugePages: 0 kB\n"
    "KernelPageSize: 4 kB\n"
    "7f0000800000-7f0000c00000 rw-p 00000000 00:0f 0 /anon_hugepage (deleted)\nRss: 0 kB\n"
    "Private_Hugetlb: 4096 kB\nKernelPageSize: 2048 kB\n";

PageStatus At(uintptr_t begin, uintptr_t end) {
  std::istringstream in(kSmaps);
  return PagesIn(in, begin, end);
}

TEST(Pages, KindsAreToldApart) {
  const PageStatus huge = At(0x7f0000000000, 0x7f0000100000);
  EXPECT_TRUE(huge.valid);
  EXPECT_EQ(huge.kind, "transparent huge");
  EXPECT_EQ(huge.page_size, 2u << 20);
  EXPECT_EQ(huge.huge_bytes, 4u << 20);
  const PageStatus base = At(0x7f0000400000, 0x7f0000500000);
  EXPECT_EQ(base.kind, "base");
  EXPECT_EQ(base.huge_bytes, 0u);
  EXPECT_EQ(base.resident_bytes, 1000u << 10);
  const PageStatus tlb = At(0x7f0000800000, 0x7f0000900000);
  EXPECT_EQ(tlb.kind, "hugetlb");
  EXPECT_EQ(tlb.page_size, 2u << 20);
  const PageStatus nothing = At(0x1000, 0x2000);
  EXPECT_FALSE(nothing.valid);
  EXPECT_NE(nothing.reason, "");
}

TEST(Pages, OfOwnMemory) {
  constexpr size_t kSize = 16 << 20;
  char* memory = static_cast<char*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kSize, MADV_NOHUGEPAGE);
  std::memset(memory, 1, kSize);
  const PageStatus status = PagesOf(memory, kSize);
  ASSERT_TRUE(status.valid) << status.reason;
  EXPECT_EQ(status.kind, "base");
  EXPECT_GE(status.resident_bytes, kSize);
  munmap(memory, kSize);
}

TEST(Energy, PackagesAreSummedAndWrapsPutRight) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("energy_test." + std::to_string(getpid()));
  const auto write = [&](const char* zone, const char* file, uint64_t value) {
    fs::create_directories(root / zone);
    std::ofstream(root / zone / file) << value;
  };
  write("intel-rapl:0", "energy_uj", 900);
  write("intel-rapl:0", "max_energy_range_uj", 1000);
  write("intel-rapl:1", "energy_uj", 5000000);
  write("intel-rapl:1", "max_energy_range_uj", 9000000);
  write("intel-rapl:0:0", "energy_uj", 1);
  EnergyMeter meter(root);
  ASSERT_TRUE(meter.valid()) << meter.reason();
  meter.Start();
  write("intel-rapl:0", "energy_uj", 100);
  write("intel-rapl:1", "energy_uj", 7000000);
  EXPECT_NEAR(meter.Joules(), 2.0002, 1e-9);
  fs::remove_all(root);
  EnergyMeter none(root);
  EXPECT_FALSE(none.valid());
  EXPECT_NE(none.reason(), "");
}

}  // namespace
}  // namespace rankfeed::counters
