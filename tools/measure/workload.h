// SPDX-License-Identifier: MIT
// measure/workload.h: requests to replay: arrival time, query, candidates. Read from and written to
// traces (JSONL, docs/audit.md), or made from questions and passages with open-loop arrivals.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rankfeed::measure {

// A candidate: a text to tokenize, or token ids made before.
struct Candidate {
  uint32_t index = 0;    // in Workload::texts or Workload::token_lists
  bool tokenized = false;
};

struct Request {
  double arrival_s = 0;  // since the first
  uint32_t query = 0;    // in Workload::texts
  std::vector<Candidate> candidates;
};

struct Workload {
  std::string name, hash;  // of the file or of what it was made from; XXH3-128, hexadecimal
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> token_lists;
  std::vector<Request> requests;

  uint32_t AddText(std::string_view text);  // the same text gets the same index
  // Texts that are candidates of any request, each once.
  std::vector<uint32_t> CandidateTexts() const;
  double DurationSeconds() const { return requests.empty() ? 0 : requests.back().arrival_s; }
  size_t MostCandidates() const;

 private:
  std::unordered_map<std::string, uint32_t> by_text_;
};

// Finds the candidate of a document id: false if there is none. May add to the workload.
using DocumentLookup = std::function<bool(const std::string& id, Workload* workload, Candidate* out)>;

// Throws std::runtime_error with path and line on a bad trace.
Workload ReadTrace(const std::string& path, const DocumentLookup& lookup = {});
// A trace of it; throws std::runtime_error where a candidate is a list of ids.
std::string TraceText(const Workload& workload);
struct SyntheticOptions {
  uint32_t requests = 200;
  uint32_t candidates = 50;       // mean; uniform within +-50 % when spread
  bool spread = false;
  double requests_per_second = 0;  // Poisson arrivals; 0: all at once (closed loop)
  uint64_t seed = 1;
};
// Queries in turn, candidates drawn so that early passages are more popular (Zipf, exponent 1), as
// search results are.
Workload MakeSynthetic(const std::vector<std::string>& queries,
                       const std::vector<std::string>& passages, const SyntheticOptions& options);

std::string HashHex(std::string_view bytes);

}  // namespace rankfeed::measure
