// SPDX-License-Identifier: MIT
// measure/diff.cc: see diff.h.
#include "measure/diff.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "measure/receipt.h"

namespace rankfeed::measure {
namespace {

using Json = nlohmann::ordered_json;

void Check(const Json& receipt, const std::string& name) {
  if (!receipt.is_object() || receipt.value("schema", "") != "rankfeed-receipt") {
    throw std::runtime_error(name + ": not a receipt");
  }
  if (receipt.value("schema_version", 0) != kSchemaVersion) {
    throw std::runtime_error(name + ": schema version " +
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

// Returns the verdict on b beside a. Times differ beyond the noise where the middle halves of both sides' rounds do not overlap.
DiffVerdict VerdictOn(const Json& a, const Json& b) {
  DiffVerdict v;
  const Json &x = a.at("encode"), &y = b.at("encode");
  if (a.at("workload").at("hash") != b.at("workload").at("hash")) {
    v.sentence = "not comparable: the receipts are of different workloads";
    return v;
  }
  v.ids = x.at("ids_hash") == y.at("ids_hash") ? "same" : "different";
  const std::string ids = v.ids == "same" ? fmt::format("the ids of {} texts, {} tokens, are the same", x.at("texts").dump(), x.at("tokens").dump())
                                          : fmt::format("the ids of {} texts differ, {} tokens before and {} after", x.at("texts").dump(),
                                                        x.at("tokens").dump(), y.at("tokens").dump());
  const char* const word = v.ids == "same" ? "same ids" : "different ids";
  if (a.at("machine").at("cpu") != b.at("machine").at("cpu")) {
    v.sentence = fmt::format("{}: {}; times of different CPUs are not compared", word, ids);
    return v;
  }
  const Json &before = x.at("round_cpu_ns_per_token"), &after = y.at("round_cpu_ns_per_token");
  const double p = before.at("p50"), q = after.at("p50");
  v.time = after.at("p75") < before.at("p25") ? "faster" : after.at("p25") > before.at("p75") ? "slower" : "same";
  v.percent = v.time == "same" || p == 0 ? 0 : 100 * std::fabs(q - p) / p;
  const std::string time = v.time == "same" ? "no difference in time beyond the noise"
                                            : fmt::format("{} by {:.1f} % beyond the noise", v.time, v.percent);
  const std::string head = v.ids == "different" ? fmt::format("different ids, {}", time) : v.time == "same" ? "same" : time;
  v.sentence = fmt::format(
      "{}: {}; a token takes {:.4g} ns of CPU before and {:.4g} after{} (middle halves of {} and {} rounds: {:.4g} to {:.4g} and {:.4g} to {:.4g})",
      head, ids, p, q, head == "same" ? ", which is within the noise" : "", x.at("rounds").dump(), y.at("rounds").dump(),
      before.at("p25").get<double>(), before.at("p75").get<double>(), after.at("p25").get<double>(), after.at("p75").get<double>());
  return v;
}

}  // namespace

Diff Compare(const Json& a, const Json& b, double tolerance, const std::string& name_a, const std::string& name_b) {
  Check(a, name_a);
  Check(b, name_b);
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
  try {
    diff.verdict = VerdictOn(a, b);
  } catch (const Json::exception& e) {
    throw std::runtime_error(fmt::format("a receipt lacks a field: {}", e.what()));
  }
  return diff;
}

}  // namespace rankfeed::measure
