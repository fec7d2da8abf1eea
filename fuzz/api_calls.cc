// SPDX-License-Identifier: MIT
// fuzz/api_calls.cc: one sequence of call_sequences.h, on a ring of its own. An execution is one call.
#include "call_sequences.h"

namespace rankfeed::fuzz {
namespace {

void Run(std::span<const uint8_t> bytes) {
  Input in(bytes);
  const Ring ring(2);
  Calls calls(in, ring.get(), InTurn);
  while (!in.empty()) calls.Step();
  CountCalls();
}

void Generate(Random& random, Bytes* input) {
  *input = RandomBytes(random, 64 + random.Below(4000));
}

const Register registered({"api_calls", Run, Generate});

}  // namespace
}  // namespace rankfeed::fuzz
