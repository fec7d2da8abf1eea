// SPDX-License-Identifier: MIT
// fuzz/handoff_states.cc: the slot ring under interleavings of its calls with events that complete
// late, out of order, or with an error, and with calls that fail: every answer, state and total is
// that of the reference machine, and a slot's bytes land as they were filled
// (tests/gpu_handoff/ring_machine.h). An execution is one call or event.
#include "engine.h"
#include "input.h"
#include "ring_machine.h"

namespace rankfeed::fuzz {
namespace {

// Decisions out of the input, and out of a generator seeded by it where numbers are wide.
class Decisions {
 public:
  explicit Decisions(Input* in) : in_(in), wide_(in->U32()) {}
  uint64_t Next() { return wide_.Next(); }
  uint64_t Below(uint64_t bound) { return in_->Below(bound); }

 private:
  Input* in_;
  Random wide_;
};

void Run(std::span<const uint8_t> bytes) {
  // A failed comparison ends the process: no test is running that it could be reported to.
  testing::FLAGS_gtest_throw_on_failure = true;
  Input in(bytes);
  const auto slots = static_cast<uint32_t>(1 + in.Below(5));
  const bool device_slots = in.OneIn(2);
  handoff::Machine<Decisions> machine(Decisions(&in), slots, device_slots);
  for (size_t step = 0; step < 4096 && !in.empty(); ++step) {
    machine.Step();
    machine.Check();
    ++counters.executions;
  }
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 256 + random.Below(12 << 10));
}

const Register registered({"handoff_states", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
