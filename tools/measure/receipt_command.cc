// SPDX-License-Identifier: MIT
// measure/receipt_command.cc: `rankfeed receipt run` and `rankfeed receipt diff`; show and statement are in files of their own.
#include <fmt/format.h>

#include <memory>

#include "measure/findings.h"
#include "measure/options.h"
#include "measure/diff.h"

namespace rankfeed::cli {

using namespace measure;

namespace {

struct RunCommand {
  MeasureOptions measure;
  std::string output;
};

struct DiffCommand {
  std::string a, b;
  double tolerance = 0.05;
  bool json = false, gate = false;
};

void RunReceipt(RunCommand& c) {
  const Run run = c.measure.Run();
  const nlohmann::ordered_json receipt = ReceiptJson(run);
  WriteTextFile(c.output,
                receipt.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (c.output.empty() || c.output == "-") return;
  const auto& query = receipt["per_query"];
  fmt::print("{}: {} {}, {:.1f} MB/s on one thread, p50 {} us per text; CPU per answered query of {} "
             "candidates: {:.4g} us\n",
             c.output, run.engine.implementation, run.engine.version,
             run.encode.bytes_per_second() / 1e6, receipt["encode"]["latency_us"]["p50"].dump(),
             query["candidates"].dump(), HostWorkSeconds(run) * 1e6);
}

void RunDiff(const DiffCommand& c) {
  const Diff diff = Compare(ReadReceipt(c.a), ReadReceipt(c.b), c.tolerance, c.a, c.b);
  const DiffVerdict& v = diff.verdict;
  size_t worse = 0;
  for (const auto& line : diff.changed) worse += line.worse ? 1 : 0;
  if (c.json) {
    nlohmann::ordered_json out;
    out["verdict"] = {{"ids", v.ids}, {"time", v.time}, {"percent", v.percent}, {"sentence", v.sentence}};
    out["warnings"] = diff.warnings;
    out["changed"] = nlohmann::ordered_json::array();
    for (const auto& line : diff.changed) {
      nlohmann::ordered_json entry = {{"field", line.field}, {"a", line.a}, {"b", line.b}};
      if (line.ratio != 0) entry["ratio"] = line.ratio;
      entry["worse"] = line.worse;
      out["changed"].push_back(std::move(entry));
    }
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}\n", v.sentence);
    for (const std::string& warning : diff.warnings) fmt::print("! {}\n", warning);
    for (const auto& line : diff.changed) {
      const std::string change = line.ratio == 0 ? "" : fmt::format("x{:.3f}", line.ratio);
      fmt::print("{} {:<56} {:>18} {:>18} {}\n", line.worse ? "-" : line.ratio != 0 ? "+" : " ",
                 line.field, line.a.dump().substr(0, 18), line.b.dump().substr(0, 18), change);
    }
    fmt::print("{} fields differ by more than {:g} %, {} of them for the worse\n", diff.changed.size(),
               c.tolerance * 100, worse);
  }
  if (c.gate && v.ids == "different") throw Failure("the ids differ");
  if (c.gate && worse != 0) throw Failure("{} fields are worse", worse);
}

}  // namespace

void AddReceipt(CLI::App& app) {
  auto* command = app.add_subcommand("receipt", "Measure a tokenizer on a workload and write it down");
  command->require_subcommand(1);
  auto* run = command->add_subcommand(
      "run", "Encode and replay a workload; write one JSON document (docs/receipts.md)");
  auto r = std::make_shared<RunCommand>();
  r->measure.Add(*run);
  run->add_option("-o,--output", r->output, "File to write; standard output when absent or -");
  run->callback([r] { RunReceipt(*r); });

  auto* diff = command->add_subcommand("diff", "Compare two receipts");
  auto d = std::make_shared<DiffCommand>();
  diff->add_option("A", d->a, "Receipt before")->required();
  diff->add_option("B", d->b, "Receipt after")->required();
  diff->add_option("--tolerance", d->tolerance, "Relative difference that does not count")
      ->capture_default_str();
  diff->add_flag("--json", d->json, "Print one JSON object");
  diff->add_flag("--gate", d->gate, "Exit with 1 when anything is worse, or ids differ");
  diff->callback([d] { RunDiff(*d); });
  AddShow(*command);
  AddStatement(*command);
}

}  // namespace rankfeed::cli
