// SPDX-License-Identifier: MIT
#include "load_cost.h"

#include <cstdio>
#include <ctime>
#include <string>

#include "support/load_budget.h"
#include "target.h"

namespace rankfeed::fuzz {
namespace {

double ThreadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

WorstLoads worst_loads;

void PrintWorstLoads() {
  const WorstLoads& worst = worst_loads;
  if (worst.seconds == 0) return;
  std::printf(
      "; dearest load %.6f s for %llu bytes, %.4f of the bound; %llu heap bytes for %llu bytes, "
      "%.4f of the bound",
      worst.seconds, static_cast<unsigned long long>(worst.time_file_bytes), worst.time_share,
      static_cast<unsigned long long>(worst.memory_bytes),
      static_cast<unsigned long long>(worst.memory_file_bytes), worst.memory_share);
}

LoadCost::LoadCost(size_t file_bytes) : file_bytes_(file_bytes) {
  heap_.emplace();
  start_ = ThreadSeconds();
}

void LoadCost::Done(uint64_t image_bytes) {
  const double seconds = ThreadSeconds() - start_;
  const uint64_t bytes = heap_->bytes();
  heap_.reset();
  const double time_share = seconds / test::SecondsFor(file_bytes_);
  const double memory_share =
      static_cast<double>(bytes) / static_cast<double>(test::BytesFor(file_bytes_, image_bytes));
  WorstLoads& worst = worst_loads;
  if (time_share > worst.time_share) {
    worst.time_share = time_share;
    worst.seconds = seconds;
    worst.time_file_bytes = file_bytes_;
  }
  if (memory_share > worst.memory_share) {
    worst.memory_share = memory_share;
    worst.memory_bytes = bytes;
    worst.memory_file_bytes = file_bytes_;
  }
  if (time_share > 1) {
    FUZZ_FAIL("a file of " + std::to_string(file_bytes_) + " bytes took " +
              std::to_string(seconds) + " s of processor time");
  }
  if (memory_share > 1) {
    FUZZ_FAIL("a file of " + std::to_string(file_bytes_) + " bytes took " + std::to_string(bytes) +
              " bytes of heap");
  }
}

}  // namespace rankfeed::fuzz
