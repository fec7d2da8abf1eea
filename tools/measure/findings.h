// SPDX-License-Identifier: MIT
// measure/findings.h: what a run says about where the time of an answered query goes. Ten questions, each
// answered "found", "not found" or "not measurable" with the numbers it rests on and their thresholds.
// docs/audit.md gives the reason of every threshold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/receipt.h"

namespace rankfeed::measure {

struct Evidence {
  std::string what;
  double value = 0;
  std::string unit;
  // "at least 0.5", or "" when the number only explains. The finding is there when every (or, where
  // the finding says so, any) threshold is met.
  std::string threshold;
  bool met = false;
};

enum class Verdict { kNotFound, kFound, kNotMeasurable };

struct Finding {
  std::string name;      // "tokenizer_cpu_bottleneck"
  Verdict verdict = Verdict::kNotFound;
  std::string summary;   // one sentence with the numbers
  std::string advice;    // what to do about it; empty unless found
  std::vector<Evidence> evidence;

  // Each adds a number; all but Fact with what the finding asks of it.
  void Fact(const char* what, double value, const char* unit = "") { Add(what, value, unit, "", 0, false); }
  void AtLeast(const char* what, double value, double limit, const char* unit = "") {
    Add(what, value, unit, "at least", limit, value >= limit);
  }
  void MoreThan(const char* what, double value, double limit, const char* unit = "") {
    Add(what, value, unit, "more than", limit, value > limit);
  }
  void LessThan(const char* what, double value, double limit, const char* unit = "") {
    Add(what, value, unit, "less than", limit, value < limit);
  }

 private:
  void Add(const char* what, double value, const char* unit, const char* word, double limit, bool met);
};

// Mean CPU seconds of the host's stages for a query, without the wait for a slot: what reports call CPU per
// query, and what shares of the host's work are shares of.
double HostWorkSeconds(const Run& run);

// All ten, always, in a fixed order.
std::vector<Finding> Judge(const Run& run);

const char* VerdictName(Verdict verdict);
nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings);

// Thresholds, so that documents and tests need not repeat numbers.
namespace threshold {
inline constexpr double kTokenizeShareOfBusy = 0.5;  // tokenizer_cpu_bottleneck without a forward time
inline constexpr double kUtilisation = 0.8;
inline constexpr double kAllocationsPerEncode = 0.01;
inline constexpr double kDependentAccessesPerToken = 3;  // pointer chase, cold caches
inline constexpr double kLlcMissesPerToken = 1;          // pointer chase, counted
inline constexpr double kSimulatedLlMissesPerToken = 1;  // pointer chase, cachegrind
inline constexpr double kHugeShare = 0.5;                // of resident image bytes
inline constexpr double kTlbReachBytes = 8 << 20;        // 2,048 entries of 4 KiB, a current second-level TLB
inline constexpr double kWalkShareOfCycles = 0.05;
inline constexpr double kFanoutCandidates = 20;
inline constexpr double kFanoutShare = 0.5;
inline constexpr double kAssembleShare = 0.15;
inline constexpr double kAssembleUs = 100;
inline constexpr double kBatchShare = 0.25;
inline constexpr double kBatchNsPerToken = 20;
inline constexpr double kHandoffShare = 0.1;
inline constexpr double kHandoffUs = 100;
inline constexpr double kNotPrimaryShare = 0.1;
}  // namespace threshold

}  // namespace rankfeed::measure
