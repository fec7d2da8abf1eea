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

// Answer to what a reader asks first: are ids the same, and is one faster?
struct DiffVerdict {
  std::string ids = "not comparable";   // or "same", "different"
  std::string time = "not comparable";  // or "same" (as far as the noise tells), "faster", "slower"
  double percent = 0;                   // by which b takes less, or more, CPU time a token
  std::string sentence;                 // both, and what they rest on
};

struct Diff {
  DiffVerdict verdict;
  std::vector<DiffLine> changed;
  // Reasons why the numbers cannot be compared: another workload, machine, build or tokenizer.
  std::vector<std::string> warnings;
};

// Numbers that differ by more than tolerance (0.05: 5 %), and everything else that differs. Throws
// std::runtime_error, with its name, when either is not a receipt of this schema version.
Diff Compare(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b, double tolerance,
             const std::string& name_a = "the first", const std::string& name_b = "the second");

}  // namespace rankfeed::measure
