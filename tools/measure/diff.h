// SPDX-License-Identifier: MIT
// measure/diff.h: two receipts side by side.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rankfeed::measure {

struct DiffLine {
  std::string field;  // path such as "encode.latency_us.p50"
  nlohmann::ordered_json a, b;
  double ratio = 0;   // b / a of two numbers, 0 otherwise
  bool worse = false; // b costs more, by more than the tolerance
};

struct Diff {
  std::vector<DiffLine> changed;
  // Reasons why the numbers cannot be compared: another workload, machine, build or tokenizer.
  std::vector<std::string> warnings;
};

// Numbers that differ by more than tolerance (0.05: 5 %), and everything else that differs. Throws
// std::runtime_error when either is not a receipt of this schema version.
Diff Compare(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b, double tolerance);

}  // namespace rankfeed::measure
