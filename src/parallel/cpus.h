// SPDX-License-Identifier: MIT
// parallel/cpus.h: how many processors this process may keep busy. Whoever makes threads by that
// number asks here, so that all of the program counts alike.
#pragma once

#include <cstdint>
#include <string>

namespace rankfeed {

// The processors that the calling thread may run on (affinity), of which a control group may let it
// use less: the quota of its group and of all groups around it, in whole processors, rounded up
// (cgroup v2 cpu.max; v1 cpu.cfs_quota_us over cpu.cfs_period_us). At least 1. Reads a few files under
// /proc and /sys; other systems than Linux tell all processors. Any thread.
uint32_t UsableCpus();

// The quota by the files under root, which is empty but for tests; 0 where there is none.
uint32_t QuotaCpus(const std::string& root);

}  // namespace rankfeed
