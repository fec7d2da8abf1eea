// SPDX-License-Identifier: MIT
// fuzz/libfuzzer.cc: one target (RANKFEED_FUZZ_TARGET) as a libFuzzer program. Its mutator makes a
// new structured input now and then, and repairs checksums after each blind mutation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "load_cost.h"
#include "target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

const rankfeed::fuzz::Target& Chosen() {
  static const rankfeed::fuzz::Target* target = [] {
    const auto* found = rankfeed::fuzz::FindTarget(RANKFEED_FUZZ_TARGET);
    if (found == nullptr) std::abort();
    std::atexit([] {
      std::printf("%s: %llu executions, %llu accepted", RANKFEED_FUZZ_TARGET,
                  static_cast<unsigned long long>(rankfeed::fuzz::counters.executions),
                  static_cast<unsigned long long>(rankfeed::fuzz::counters.accepted));
      rankfeed::fuzz::PrintWorstLoads();
      std::printf("\n");
    });
    return found;
  }();
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Chosen().run({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  rankfeed::fuzz::Random random(seed);
  rankfeed::fuzz::Bytes bytes(data, data + size);
  if (random.OneIn(16)) {
    bytes.clear();
    Chosen().generate(random, &bytes);
  } else {
    bytes.resize(std::max(max_size, size));
    bytes.resize(LLVMFuzzerMutate(bytes.data(), size, max_size));
  }
  if (Chosen().repair != nullptr) Chosen().repair(&bytes);
  size = std::min(bytes.size(), max_size);
  if (size != 0) std::memcpy(data, bytes.data(), size);
  return size;
}
