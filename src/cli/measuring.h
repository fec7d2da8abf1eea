// SPDX-License-Identifier: MIT
// cli/measuring.h: what `rankfeed receipt run`, `audit` and `trace` share: where requests come from, what is
// measured, and running it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "cli/cli.h"
#include "receipt/receipt.h"

namespace rankfeed::cli {

// Requests of a trace, or made of queries and documents.
struct WorkloadOptions {
  std::string trace, docs, queries, corpus;
  receipt::SyntheticOptions synthetic;
  // trace: whether --trace is an input (not for `trace make`).
  void Add(CLI::App& command, bool with_trace);
  // model is needed with --corpus only.
  receipt::Workload Load(const rankfeed_model* model) const;
};

struct MeasureOptions {
  VocabOptions vocab;
  WorkloadOptions workload;
  receipt::RunOptions run;
  std::string adapter, reference, currency = "USD";
  uint32_t cache_kib = 1024;
  void Add(CLI::App& command);
  receipt::Run Run();
};

nlohmann::ordered_json ReadJsonFile(const std::string& path);
// "-" and "": standard output. Written beside and renamed.
void WriteTextFile(const std::string& path, const std::string& text);

}  // namespace rankfeed::cli
