// SPDX-License-Identifier: MIT
// fuzz/load_cost.h: what reading one hostile file cost, against the promise of SECURITY.md
// (tests/support/load_budget.h). Over it, the property does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "support/heap_peak.h"

namespace rankfeed::fuzz {

// The dearest files so far, in shares of what they may cost.
struct WorstLoads {
  double time_share = 0, seconds = 0;
  uint64_t time_file_bytes = 0;
  double memory_share = 0;
  uint64_t memory_bytes = 0, memory_file_bytes = 0;
};
extern WorstLoads worst_loads;

// For the last line of a run: "; dearest load ...", or nothing when no file was loaded.
void PrintWorstLoads();

// Processor time and heap of this thread from construction to Done(). What is worked out once in a
// process (Unicode tables) counts for the first file.
class LoadCost {
 public:
  explicit LoadCost(size_t file_bytes);
  void Done(uint64_t image_bytes = 0);

 private:
  const size_t file_bytes_;
  std::optional<test::HeapPeak> heap_;
  double start_;
};

}  // namespace rankfeed::fuzz
