// SPDX-License-Identifier: MIT
// models/unigram/kernels/kernels.h: the loops of the search, in one table for each instruction set
// (fast/kernels/dispatch.cc).
#pragma once

#include <cstdint>

#include "models/found.h"
#include "models/unigram/exactness.h"
#include "models/unigram/lattice.h"

namespace rankfeed::unigram {

// For fewer spans the loops of SearchKernels::few are as fast or faster.
inline constexpr uint32_t kFewSpans = 16;

struct SearchKernels {
  // Looks spans up. Those that are not in the table, whose found is void, go to searches; returns
  // how many. kVectorSlack more of both may be written.
  uint32_t (*look_up_spans)(const SpanTable& table, const SpanList& spans, Found* found,
                            uint16_t* searches);
  // Reads the codes of the spans beyond those that searches begin with, and makes the nodes after
  // these.
  Visits (*walk)(const Lattice& lattice, const Span* spans, uint32_t count);
  // Makes the nodes of visits [0, Visits::independent), eight at a time. Null where no loop can.
  void (*relax_independent)(const Lattice& lattice, uint32_t count);
  // Makes the nodes of visits [begin, end).
  void (*relax)(const Lattice& lattice, uint32_t begin, uint32_t end);
  // Finds ids and paths of the spans.
  void (*trace)(const Lattice& lattice, const ExactnessRule& rule, const Span* spans,
                uint32_t count, Path* paths);
  const SearchKernels* few;
};

}  // namespace rankfeed::unigram
