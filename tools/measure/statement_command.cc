// SPDX-License-Identifier: MIT
// measure/statement_command.cc: `rankfeed receipt statement`: a receipt as the predicate of an in-toto Statement, about the
// files that were measured (in-toto attestation framework, spec/v1/statement.md). Tools that sign and verify such
// statements then vouch for a receipt without knowing it.

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "measure/options.h"
#include "cli/sha256.h"

namespace rankfeed::cli {

using namespace measure;

namespace {

constexpr const char* kStatementType = "https://in-toto.io/Statement/v1";

struct StatementCommand {
  std::string receipt, output;
  VocabOptions vocab;
  WorkloadOptions workload;
};

// The fast checks that a receipt holds: what is signed is about these files.
void CheckSubjects(const nlohmann::ordered_json& receipt, const StatementCommand& c) {
  const Vocabulary vocabulary = c.vocab.Load(VocabOptions::Reading::kAsWritten);
  const rankfeed_model_info info = Info(vocabulary.model());
  std::string hash;
  for (const uint8_t byte : info.config_hash) hash += fmt::format("{:02x}", byte);
  const auto& measured = receipt.at("tokenizer").at("config_hash");
  if (measured.is_string() && measured != hash) {
    throw Failure("{}: not the vocabulary of the receipt: its hash is {}, not {}",
                  c.vocab.path, hash, measured.get<std::string>());
  }
  const Workload workload = c.workload.Load(vocabulary.model());
  const auto& replayed = receipt.at("workload").at("hash");
  if (replayed != workload.hash) {
    throw Failure("{}: not the workload of the receipt: its hash is {}, not {}",
                  c.workload.trace.empty() ? c.workload.docs : c.workload.trace,
                  workload.hash, replayed.dump());
  }
}

void RunStatement(const StatementCommand& c) {
  const nlohmann::ordered_json receipt = ReadJsonFile(c.receipt);
  if (receipt.value("schema", "") != "rankfeed-receipt") {
    throw Failure(c.receipt + ": not a receipt");
  }
  CheckSubjects(receipt, c);
  nlohmann::ordered_json statement;
  statement["_type"] = kStatementType;
  statement["subject"] = nlohmann::ordered_json::array();
  const WorkloadOptions& w = c.workload;
  std::vector<std::string> files = folder::VocabularyFiles(c.vocab.path, c.vocab.preset);
  files.insert(files.end(), {w.trace, w.docs, w.queries, w.corpus});
  for (const std::string& path : files) {
    if (path.empty()) continue;
    statement["subject"].push_back({{"name", std::filesystem::path(path).filename().string()},
                                    {"digest", {{"sha256", Sha256(path)}}}});
  }
  statement["predicateType"] =
      fmt::format("urn:rankfeed:receipt:v{}", receipt.at("schema_version").dump());
  statement["predicate"] = receipt;
  WriteTextFile(c.output,
                statement.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (c.output.empty() || c.output == "-") return;
  fmt::print("{}: {} files vouched for\n", c.output, statement["subject"].size());
}

}  // namespace

void AddStatement(CLI::App& receipt) {
  auto* command = receipt.add_subcommand(
      "statement",
      "Make a receipt the predicate of an in-toto Statement v1 about the files measured; refuses other files "
      "(docs/receipts.md)");
  auto c = std::make_shared<StatementCommand>();
  command->add_option("RECEIPT", c->receipt, "Receipt of `rankfeed receipt run`")->required();
  c->vocab.Add(*command);
  c->workload.Add(*command, true);
  command->add_option("-o,--output", c->output, "File to write; standard output when absent or -");
  command->callback([c] { RunStatement(*c); });
}

}  // namespace rankfeed::cli
