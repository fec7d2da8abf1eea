// SPDX-License-Identifier: MIT
// counters/allocation.h: how much a phase of a program allocates: calls, bytes, peak.
//
// Two parts. allocation.cc (library rankfeed_counters) holds the numbers and may be linked anywhere.
// allocation_override.cc (target rankfeed_accounting) replaces malloc, free and operator new of the
// whole process by mimalloc's and feeds the numbers; only programs link it: the command line, the
// benchmarks, some tests. A library must not replace its caller's allocator, so in a program
// that does not link it everything works on whatever allocator the program has, and accounting
// says that it is not there.
//
// Cost: while no phase is open one relaxed load per call; while one is, two updates of thread-local
// numbers and two of shared ones. Only between Begin and End are sizes looked up.
#pragma once

#include <cstdint>

namespace rankfeed::counters {

struct AllocationCounts {
  uint64_t count = 0;      // malloc, calloc, realloc, aligned forms and operator new
  uint64_t bytes = 0;      // usable bytes handed out by them
  uint64_t frees = 0;
  uint64_t peak_bytes = 0; // most bytes alive at once above the level at the phase's start
};

// False in programs without rankfeed_accounting, sanitizer builds among them.
bool AllocationAccountingInstalled();
// Why not, or "".
const char* AllocationAccountingReason();

// Allocations of the whole process from construction to Counts(). Phases of one process may not
// overlap (the second would reset the first's peak).
class AllocationPhase {
 public:
  AllocationPhase();
  ~AllocationPhase();
  AllocationPhase(const AllocationPhase&) = delete;
  AllocationPhase& operator=(const AllocationPhase&) = delete;
  AllocationCounts Counts() const;
};

// The calling thread's own calls while any phase is open, since the thread started. Two reads
// around a piece of work say what that work allocated, whatever other threads do.
struct ThreadAllocations {
  uint64_t count, bytes;
};
ThreadAllocations AllocationsOfThisThread();

// For allocation_override.cc.
namespace accounting {
bool On();
void Allocated(uint64_t bytes);
void Freed(uint64_t bytes);
void SetInstalled();
}  // namespace accounting

}  // namespace rankfeed::counters
