// SPDX-License-Identifier: MIT
// tests/support/heap_peak.h: most bytes that a thread held at once on the heap, above what it held
// when the count began.
//
// A program links heap_peak.cc, which counts in malloc and its kin (of glibc), or in the hooks that
// the sanitizers' allocators call.
#pragma once

#include <cstdint>

namespace rankfeed::test {

// Counts on the calling thread while it lives; one at a time. What another thread frees stays
// counted.
class HeapPeak {
 public:
  HeapPeak();
  ~HeapPeak();
  HeapPeak(const HeapPeak&) = delete;
  uint64_t bytes() const;
};

}  // namespace rankfeed::test
