// SPDX-License-Identifier: MIT
// measure/audit_command.cc: `rankfeed audit` and `rankfeed trace`.
#include <fmt/format.h>

#include <memory>

#include "measure/findings.h"
#include "measure/report.h"
#include "measure/options.h"

namespace rankfeed::cli {

using namespace measure;

namespace {

struct AuditCommand {
  MeasureOptions measure;
  std::string html;
  bool json = false;
};

struct TraceCommand {
  WorkloadOptions workload;
  std::string output;
};

void PrintText(const Run& run, const std::vector<Finding>& findings) {
  fmt::print("{} {}, {}, on {}: {} queries, {} thread{}, {}\n", run.engine.implementation, run.engine.version,
             run.engine.family, run.workload_name, run.replay.requests.size(), run.replay.options.threads,
             run.replay.options.threads == 1 ? "" : "s",
             run.replay.options.load > 0 ? fmt::format("open loop at load {:g}", run.replay.options.load)
                                         : "closed loop");
  const double work = HostWorkSeconds(run);
  fmt::print("CPU per answered query: {:.1f} us of tokenization, assembly, batch and submit; waiting for a slot is not in it\n",
             work * 1e6);
  for (int s = 0; s < kHostStages; ++s) {
    const double cpu = run.MeanStageSeconds(static_cast<Stage>(s), true);
    const std::string share = s == kSlot ? fmt::format("{:>7}", "-")
                                                  : fmt::format("{:>5.1f} %", work > 0 ? 100 * cpu / work : 0);
    fmt::print("  {:<10} {:>10.1f} us  {}\n", StageName(s), cpu * 1e6, share);
  }
  fmt::print("\n");
  for (const Finding& f : findings) {
    const char mark = f.verdict == Verdict::kFound      ? '!'
                      : f.verdict == Verdict::kNotFound ? ' '
                                                               : '?';
    fmt::print("{} {:<36} {:<15} {}\n", mark, f.name, VerdictName(f.verdict), f.summary);
    if (f.verdict != Verdict::kFound) continue;
    for (const Evidence& e : f.evidence) {
      fmt::print("      {}: {:g}{}{}{}\n", e.what, e.value, e.unit.empty() ? "" : " ", e.unit,
                 e.threshold.empty() ? "" : fmt::format(" (threshold: {})", e.threshold));
    }
    fmt::print("      {}\n", f.advice);
  }
}

void RunAudit(AuditCommand& c) {
  const Run run = c.measure.Run();
  const std::vector<Finding> findings = Judge(run);
  nlohmann::ordered_json out;
  out["schema"] = "rankfeed-audit";
  out["schema_version"] = 1;
  out["findings"] = FindingsJson(findings);
  out["receipt"] = ReceiptJson(run);
  if (!c.html.empty()) WriteTextFile(c.html, ReportHtml(out));
  if (c.json) {
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    PrintText(run, findings);
    if (!c.html.empty()) fmt::print("\nreport: {}\n", c.html);
  }
}

}  // namespace

void AddAudit(CLI::App& app) {
  auto* command = app.add_subcommand(
      "audit", "Replay a workload and say where an answered query's time goes (docs/audit.md)");
  auto c = std::make_shared<AuditCommand>();
  c->measure.Add(*command);
  command->add_option("--html", c->html, "Write a report: one page, no network");
  command->add_flag("--json", c->json, "Print findings and receipt as one JSON object");
  command->callback([c] { RunAudit(*c); });

  auto* trace = app.add_subcommand("trace", "Make a trace of requests for `rankfeed audit`");
  trace->require_subcommand(1);
  auto* make = trace->add_subcommand("make", "Queries and documents to requests with random arrivals");
  auto t = std::make_shared<TraceCommand>();
  t->workload.Add(*make, false);
  make->add_option("-o,--output", t->output, "Trace to write")->required();
  make->callback([t] {
    const Workload workload = t->workload.Load(nullptr);
    WriteTextFile(t->output, TraceText(workload));
    if (t->output == "-") return;
    fmt::print("{}: {} requests over {:.1f} s, {} texts\n", t->output, workload.requests.size(),
               workload.DurationSeconds(), workload.texts.size());
  });
}

}  // namespace rankfeed::cli
