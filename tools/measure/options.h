// SPDX-License-Identifier: MIT
// measure/options.h: what `rankfeed receipt run`, `audit` and `trace` share: where requests come from, what is
// measured, and running it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "cli/cli.h"
#include "cli/json_file.h"
#include "cli/oracle.h"
#include "measure/receipt.h"

namespace rankfeed::cli {

// Requests of a trace, or made of queries and documents.
struct WorkloadOptions {
  std::string trace, docs, queries, corpus;
  measure::SyntheticOptions synthetic;
  // trace: whether --trace is an input (not for `trace make`).
  void Add(CLI::App& command, bool with_trace);
  // model is needed with --corpus only.
  measure::Workload Load(const rankfeed_model* model) const;
};

struct MeasureOptions {
  VocabOptions vocab;
  WorkloadOptions workload;
  measure::RunOptions run;
  std::string adapter, currency = "USD";
  ReferenceOptions reference{.library_option = "--reference", .path_option = "--reference-file"};  // or a command as library
  uint32_t cache_kib = 1024;
  void Add(CLI::App& command);
  measure::Run Run();
};

// Reads a receipt, or the one in a statement. Throws Failure for a file that holds neither.
nlohmann::ordered_json ReadReceipt(const std::string& path);

// Each adds a subcommand of `rankfeed receipt`.
void AddStatement(CLI::App& receipt);
void AddShow(CLI::App& receipt);

}  // namespace rankfeed::cli
