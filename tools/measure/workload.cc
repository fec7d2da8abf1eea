// SPDX-License-Identifier: MIT
// measure/workload.cc: see workload.h.
#include "measure/workload.h"

#include <fmt/format.h>
#include <simdjson.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>

#include "platform/files/file_calls.h"
#include "counters/trace_line.h"

namespace rankfeed::measure {

std::string HashHex(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint32_t Workload::AddText(std::string_view text) {
  const auto [at, added] =
      by_text_.try_emplace(std::string(text), static_cast<uint32_t>(texts.size()));
  if (added) texts.emplace_back(text);
  return at->second;
}

std::vector<uint32_t> Workload::CandidateTexts() const {
  std::vector<bool> seen(texts.size());
  std::vector<uint32_t> out;
  for (const Request& request : requests) {
    for (const Candidate& candidate : request.candidates) {
      if (candidate.tokenized || seen[candidate.index]) continue;
      seen[candidate.index] = true;
      out.push_back(candidate.index);
    }
  }
  return out;
}

size_t Workload::MostCandidates() const {
  size_t most = 0;
  for (const Request& request : requests) most = std::max(most, request.candidates.size());
  return most;
}

std::string TraceText(const Workload& workload) {
  std::string out = counters::TraceHeader();
  for (const Request& request : workload.requests) {
    std::vector<std::string_view> candidates;
    for (const Candidate& candidate : request.candidates) {
      if (candidate.tokenized) throw std::runtime_error("a trace of token ids is not written");
      candidates.push_back(workload.texts[candidate.index]);
    }
    out += counters::TraceLine(request.arrival_s, workload.texts[request.query], candidates);
  }
  return out;
}

namespace {

Candidate ParseCandidate(simdjson::dom::element element, const DocumentLookup& lookup,
                         Workload* workload) {
  std::string_view text;
  if (!element.get(text)) return {workload->AddText(text), false};
  simdjson::dom::object object;
  if (element.get(object)) throw std::runtime_error("a candidate is neither a text nor an object");
  if (!object["text"].get(text)) return {workload->AddText(text), false};
  simdjson::dom::array array;
  if (!object["ids"].get(array)) {
    std::vector<int32_t> ids;
    for (const auto value : array) {
      int64_t id;
      if (value.get(id) || id < 0 || id > INT32_MAX) throw std::runtime_error("\"ids\" holds no ids");
      ids.push_back(static_cast<int32_t>(id));
    }
    workload->token_lists.push_back(std::move(ids));
    return {static_cast<uint32_t>(workload->token_lists.size() - 1), true};
  }
  std::string id;
  int64_t number;
  if (!object["id"].get(text)) {
    id = text;
  } else if (!object["id"].get(number)) {
    id = std::to_string(number);
  } else {
    throw std::runtime_error("a candidate has none of \"text\", \"ids\", \"id\"");
  }
  Candidate found;
  if (!lookup || !lookup(id, workload, &found)) {
    throw std::runtime_error("document \"" + id + "\" is not known: give its file with --docs or its "
                             "store with --corpus");
  }
  return found;
}

}  // namespace

Workload ReadTrace(const std::string& path, const DocumentLookup& lookup) {
  files::CheckReadable(path, files::ReadAs::kStream);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": " + std::strerror(errno));
  Workload workload;
  workload.name = path.substr(path.rfind('/') + 1);
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  simdjson::dom::parser parser;
  size_t number = 0;
  double first = 0;
  try {
    for (std::string line; std::getline(in, line);) {
      if (++number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
      XXH3_128bits_update(state, line.data(), line.size());
      XXH3_128bits_update(state, "\n", 1);
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      simdjson::dom::element object;
      if (const auto error = parser.parse(line).get(object)) {
        throw std::runtime_error(simdjson::error_message(error));
      }
      int64_t version;
      if (!object["rankfeed_trace"].get(version)) {
        if (version != 1) throw std::runtime_error("this trace has a version other than 1");
        continue;
      }
      Request request;
      std::string_view query;
      simdjson::dom::array candidates;
      if (object["query"].get(query)) throw std::runtime_error("no string field \"query\"");
      if (object["candidates"].get(candidates)) throw std::runtime_error("no list \"candidates\"");
      if (object["t"].get(request.arrival_s) || !std::isfinite(request.arrival_s)) {
        throw std::runtime_error("no number \"t\" (seconds)");
      }
      request.query = workload.AddText(query);
      for (const auto candidate : candidates) {
        request.candidates.push_back(ParseCandidate(candidate, lookup, &workload));
      }
      if (request.candidates.empty()) throw std::runtime_error("\"candidates\" is empty");
      if (workload.requests.empty()) first = request.arrival_s;
      request.arrival_s -= first;
      if (!workload.requests.empty() && request.arrival_s < workload.requests.back().arrival_s) {
        throw std::runtime_error("\"t\" goes backwards");
      }
      workload.requests.push_back(std::move(request));
    }
  } catch (const std::runtime_error& e) {
    XXH3_freeState(state);
    throw std::runtime_error(fmt::format("{}:{}: {}", path, number, e.what()));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  workload.hash = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  if (workload.requests.empty()) throw std::runtime_error(path + ": holds no request");
  return workload;
}

Workload MakeSynthetic(const std::vector<std::string>& queries,
                       const std::vector<std::string>& passages, const SyntheticOptions& options) {
  if (queries.empty() || passages.empty()) throw std::runtime_error("no queries or no documents");
  Workload workload;
  workload.name = "synthetic";
  std::mt19937_64 random(options.seed);
  // The standard's distributions differ between libraries; these do not.
  const auto uniform = [&] {
    return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
  };
  std::string all;
  double now = 0;
  for (uint32_t i = 0; i < options.requests; ++i) {
    Request request;
    request.arrival_s = now;
    if (options.requests_per_second > 0) now -= std::log(uniform()) / options.requests_per_second;
    request.query = workload.AddText(queries[i % queries.size()]);
    uint32_t count = options.candidates;
    if (options.spread) count = static_cast<uint32_t>(std::lround(count * (0.5 + uniform())));
    for (uint32_t c = 0; c < std::max(1u, count); ++c) {
      // Inverse of the Zipf distribution's continuous form, exponent 1.
      const auto rank = static_cast<size_t>(
          std::pow(static_cast<double>(passages.size()) + 1, uniform())) - 1;
      const size_t passage = std::min(rank, passages.size() - 1);
      request.candidates.push_back({workload.AddText(passages[passage]), false});
      all += std::to_string(passage) + ",";
    }
    workload.requests.push_back(std::move(request));
  }
  for (const std::string& text : workload.texts) all += HashHex(text);
  workload.hash = HashHex(all);
  return workload;
}

}  // namespace rankfeed::measure
