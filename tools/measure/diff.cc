// SPDX-License-Identifier: MIT
// measure/diff.cc: see diff.h.
#include "measure/diff.h"

#include <cmath>
#include <stdexcept>

#include "measure/receipt.h"

namespace rankfeed::measure {
namespace {

using Json = nlohmann::ordered_json;

void Check(const Json& receipt, const char* which) {
  if (!receipt.is_object() || receipt.value("schema", "") != "rankfeed-receipt") {
    throw std::runtime_error(std::string(which) + " is not a receipt");
  }
  if (receipt.value("schema_version", 0) != kSchemaVersion) {
    throw std::runtime_error(std::string(which) + " has schema version " +
                             receipt.value("schema_version", Json()).dump() + ", this program reads " +
                             std::to_string(kSchemaVersion));
  }
}

// Returns whether more of the field is better; everything else that is a number is a cost or a
// size.
bool MoreIsBetter(const std::string& field) {
  for (const char* part : {"per_second", "instructions_per_cycle", "huge_bytes", "rounds"}) {
    if (field.find(part) != std::string::npos) return true;
  }
  return false;
}

// Facts about the run rather than costs: never "worse".
bool IsCost(const std::string& field) {
  for (const char* part : {"_us", "_ns", "cost", "joules", "counters.", "allocat", "mismatches", "waits",
                           "per_second", "instructions_per_cycle"}) {
    if (field.find(part) != std::string::npos) return true;
  }
  return false;
}

void Walk(const Json& a, const Json& b, const std::string& path, double tolerance, Diff* diff) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      const std::string at = path.empty() ? key : path + "." + key;
      Walk(value, b.contains(key) ? b[key] : Json(), at, tolerance, diff);
    }
    for (const auto& [key, value] : b.items()) {
      if (!a.contains(key)) Walk(Json(), value, path.empty() ? key : path + "." + key, tolerance, diff);
    }
    return;
  }
  if (a == b) return;
  DiffLine line{path, a, b, 0, false};
  if (a.is_number() && b.is_number()) {
    const double x = a.get<double>(), y = b.get<double>();
    if (std::fabs(x - y) <= tolerance * std::max(std::fabs(x), std::fabs(y))) return;
    if (x != 0) line.ratio = y / x;
    line.worse = IsCost(path) && (MoreIsBetter(path) ? y < x : y > x);
  }
  diff->changed.push_back(std::move(line));
}

}  // namespace

Diff Compare(const Json& a, const Json& b, double tolerance) {
  Check(a, "the first file");
  Check(b, "the second file");
  Diff diff;
  const auto same = [&](const char* pointer, const char* what) {
    const Json::json_pointer at(pointer);
    const Json x = a.contains(at) ? a.at(at) : Json(), y = b.contains(at) ? b.at(at) : Json();
    if (x != y) diff.warnings.push_back(std::string(what) + " differs: " + x.dump() + ", " + y.dump());
  };
  same("/workload/hash", "the workload");
  same("/machine/cpu", "the CPU");
  same("/build/compiler", "the compiler");
  same("/build/flags", "the compiler flags");
  same("/tokenizer/config_hash", "the vocabulary");
  same("/replay/threads", "the number of threads");
  same("/replay/load", "the load");
  Walk(a, b, "", tolerance, &diff);
  return diff;
}

}  // namespace rankfeed::measure
