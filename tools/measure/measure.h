// SPDX-License-Identifier: MIT
// measure/measure.h: what encoding a set of texts costs one thread: latencies, allocations, counters,
// and how much slower it gets when the caches hold nothing of it.
#pragma once

#include <optional>

#include "counters/energy.h"
#include "rankfeed/counters.h"
#include "measure/engine.h"

namespace rankfeed::measure {

struct EncodeCost {
  size_t texts = 0, rounds = 0;
  uint64_t text_bytes = 0, tokens = 0;  // of one round
  std::optional<RoadCounts> roads;      // of the first round
  std::string ids_hash;                 // of all ids of a round, text by text
  std::vector<double> round_ns;         // CPU time of each round after the first, ascending
  double first_p50_us = 0;              // every text for the first time, caches of the engine empty
  double p50_us = 0, p95_us = 0, p99_us = 0, max_us = 0;  // of single texts, rounds after the first
  double seconds = 0, cpu_seconds = 0;  // of all rounds after the first
  // Returns the rate by the thread's CPU clock: what other programs take from the machine is not
  // the engine's.
  double bytes_per_second() const {
    return cpu_seconds == 0 ? 0 : static_cast<double>(text_bytes * rounds) / cpu_seconds;
  }
  // Per encode; negative: not accounted for.
  double allocations = -1, allocated_bytes = -1;
  std::string allocation_reason;
  rankfeed_counters_snapshot counters{};  // of all rounds after the first
  double joules = -1;
  std::string energy_reason;
};

// Encodes every text once, then in rounds until min_seconds have passed (at least two rounds).
EncodeCost MeasureEncode(Engine& engine, const std::vector<std::string_view>& texts,
                         double min_seconds);

// How many memory accesses one after the other a token costs when nothing is cached. Texts are encoded
// once as they come and once after a large buffer was written, and the difference is set against
// the latency of a dependent access measured here.
struct PointerChase {
  bool valid = false;
  std::string reason;
  size_t texts = 0;
  double warm_ns_per_token = 0, cold_ns_per_token = 0;
  double access_ns = 0;  // of a dependent access to memory
  double dependent_accesses_per_token() const {
    return access_ns == 0 ? 0 : (cold_ns_per_token - warm_ns_per_token) / access_ns;
  }
};
PointerChase MeasurePointerChase(Engine& engine, const std::vector<std::string_view>& texts,
                                 size_t most_texts = 48);

}  // namespace rankfeed::measure
