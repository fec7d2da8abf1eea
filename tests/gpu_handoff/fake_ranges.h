// SPDX-License-Identifier: MIT
// fake_ranges.h: what the timeline tools of ranges_test.cc have seen.
#ifndef RANKFEED_TESTS_GPU_HANDOFF_FAKE_RANGES_H_
#define RANKFEED_TESTS_GPU_HANDOFF_FAKE_RANGES_H_

#include <cstdint>

struct SeenRanges {
  uint32_t started, ended, pushed, popped;
  uint32_t bad;  // ended and never started, ended twice, or popped on a thread that had pushed none
  char last[64];  // the name of the last one
};
using SeenRangesFunction = void (*)(SeenRanges*);  // rankfeed_seen_ranges of each tool

#endif  // RANKFEED_TESTS_GPU_HANDOFF_FAKE_RANGES_H_
