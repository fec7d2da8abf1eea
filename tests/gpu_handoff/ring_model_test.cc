// SPDX-License-Identifier: MIT
// ring_model_test.cc: random interleavings of every call, event completion and failure, each answer
// and each slot's state compared with the reference machine of reference_ring.h.
#include "ring_machine.h"
#include "support/faults.h"

namespace rankfeed::handoff {
namespace {

TEST(RingModel, RandomInterleavingsMatchTheReference) {
  const uint64_t base = TestSeed(20260101);
  const int steps = 40000 / kSanitizerDivisor;
  uint64_t submits = 0, errors = 0, busy = 0, total = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    const uint64_t seed = base + round;
    const uint32_t slots = 1 + round % 5;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", slots " + std::to_string(slots));
    Machine<Random> machine(Random(seed), slots, round % 2 == 1);
    for (int step = 0; step < steps; ++step, ++total) {
      machine.Step();
      machine.Check();
      if (testing::Test::HasFatalFailure()) {
        FAIL() << "step " << step << " of seed " << seed;
      }
    }
    submits += machine.submits();
    errors += machine.errors();
    busy += machine.busy();
  }
  std::cout << total << " steps, " << submits << " submissions, " << errors << " errors, " << busy
            << " times busy\n";
  test::ReportFaults("device calls and events of the ring", errors);
  // The mix must reach what it is meant to reach.
  EXPECT_GT(submits, total / 50);
  EXPECT_GT(errors, total / 500);
  EXPECT_GT(busy, total / 500);
}

}  // namespace
}  // namespace rankfeed::handoff
