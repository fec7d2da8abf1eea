// SPDX-License-Identifier: MIT
// counters_probe.cc: touches fresh pages and computes, and prints what rankfeed_counters counted of it; run under
// `perf stat` by perf_stat_test.sh.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "rankfeed/counters.h"

int main() {
  rankfeed_counters* counters = nullptr;
  if (rankfeed_counters_open(&counters) != RANKFEED_OK) return 1;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), pages = 20000;
  (void)rankfeed_counters_start(counters);
  auto* memory = static_cast<volatile char*>(
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  (void)madvise(const_cast<char*>(memory), pages * page, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; ++i) memory[i * page] = 1;
  for (long i = 0; i < 300000000; ++i) asm volatile("" : : "r"(i));
  (void)rankfeed_counters_stop(counters);
  rankfeed_counters_snapshot all{};
  all.struct_size = sizeof(all);
  (void)rankfeed_counters_read(counters, &all);
  for (uint32_t id = 0; id < all.count; ++id) {
    const rankfeed_counter& c = all.counters[id];
    if (c.valid) std::printf("%s %llu\n", rankfeed_counter_name(id), static_cast<unsigned long long>(c.value));
  }
  rankfeed_counters_close(counters);
  return 0;
}
