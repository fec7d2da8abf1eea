// SPDX-License-Identifier: MIT
// measure/receipt.cc: see receipt.h.
#include "measure/receipt.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "platform/files/file_calls.h"
#include "measure/machine.h"

namespace rankfeed::measure {
namespace {

using Json = nlohmann::ordered_json;

// Four significant digits: what a measurement has, and what a person reads.
double Round(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * unit) / unit;
}

Json OrReason(double value, bool valid, const std::string& reason) { return valid ? Value(value) : NoValue(reason); }

template <class Get>
Json Percentiles(const std::vector<RequestRecord>& requests, Get get) {
  std::vector<double> us;
  double sum = 0;
  for (const RequestRecord& r : requests) {
    us.push_back(static_cast<double>(std::invoke(get, r)) / 1e3);
    sum += us.back();
  }
  Json out;
  out["mean"] = Round(us.empty() ? 0 : sum / static_cast<double>(us.size()));
  out["p50"] = Round(Percentile(us, 0.50));
  out["p95"] = Round(Percentile(us, 0.95));
  out["p99"] = Round(Percentile(us, 0.99));
  return out;
}

Json CountersJson(const std::vector<rankfeed_counters_snapshot>& threads, double tokens,
                  double bytes) {
  Json out;
  double values[RANKFEED_COUNTER_COUNT] = {};
  bool valid[RANKFEED_COUNTER_COUNT] = {};
  for (uint32_t id = 0; id < RANKFEED_COUNTER_COUNT; ++id) {
    valid[id] = !threads.empty();
    double multiplex = 1;
    std::string reason = threads.empty() ? "no thread was counted" : "";
    for (const rankfeed_counters_snapshot& t : threads) {
      const rankfeed_counter& counter = t.counters[id];
      valid[id] = valid[id] && counter.valid;
      if (reason.empty()) reason = counter.reason;
      values[id] += static_cast<double>(counter.value);
      multiplex = std::max(multiplex, counter.multiplex);
    }
    Json& entry = out[rankfeed_counter_name(id)];
    if (!valid[id]) {
      entry = NoValue(reason);
      continue;
    }
    entry["value"] = std::round(values[id]);
    entry["multiplex"] = Round(multiplex);
    entry["per_token"] = tokens > 0 ? Json(Round(values[id] / tokens)) : Json();
    entry["per_byte"] = bytes > 0 ? Json(Round(values[id] / bytes)) : Json();
    if (!reason.empty()) entry["source"] = reason;
  }
  const bool ipc = valid[RANKFEED_COUNTER_CYCLES] && valid[RANKFEED_COUNTER_INSTRUCTIONS] &&
                   values[RANKFEED_COUNTER_CYCLES] > 0;
  out["instructions_per_cycle"] =
      ipc ? Value(values[RANKFEED_COUNTER_INSTRUCTIONS] / values[RANKFEED_COUNTER_CYCLES])
          : NoValue(out["cycles"].value("reason", out["instructions"].value("reason", "no cycles")));
  return out;
}

Json PartJson(const ParityPart& part) {
  Json out;
  out["compared"] = part.compared;
  out["mismatches"] = part.mismatches;
  if (part.mismatches != 0) {
    out["first_mismatch"] = {
        {"text", part.first_text}, {"ids", part.first_ids}, {"reference_ids", part.reference}};
  }
  return out;
}

Json ParityJson(const Run& run) {
  const Parity& parity = run.parity;
  Json out;
  out["mode"] = OrNull(run.engine.parity);
  if (!parity.valid) {
    out["compared"] = nullptr;
    out["reason"] = parity.reason;
    return out;
  }
  out["reference"] = {{"implementation", parity.reference.implementation},
                      {"version", parity.reference.version}};
  out["compared"] = parity.documents.compared + parity.specials.compared + parity.unicode.compared;
  out["mismatches"] = parity.mismatches();
  out["documents"] = PartJson(parity.documents);
  out["special_tokens"] = PartJson(parity.specials);
  out["unicode_stress"] = PartJson(parity.unicode);
  return out;
}

// Texts and bytes of every road, by name.
Json RoadsJson(const std::optional<RoadCounts>& roads) {
  if (!roads) return NoValue("the engine does not tell roads apart");
  Json out;
  for (uint32_t i = 0; i < roads->size(); ++i) {
    out[rankfeed_reason_name(i)] = {{"texts", (*roads)[i].texts}, {"bytes", (*roads)[i].bytes}};
  }
  return out;
}

Json PagesJson(const PageLadder& ladder) {
  Json out;
  out["asked"] = ladder.asked;
  auto steps = Json::array();
  for (const auto& step : ladder.steps) {
    steps.push_back({{"kind", step.kind}, {"outcome", step.outcome}});
  }
  out["ladder"] = std::move(steps);
  if (!ladder.obtained.valid) {
    out["obtained"] = nullptr;
    out["reason"] = ladder.obtained.reason;
    return out;
  }
  out["obtained"] = {{"kind", ladder.obtained.kind},
                     {"page_bytes", ladder.obtained.page_size},
                     {"resident_bytes", ladder.obtained.resident_bytes},
                     {"huge_bytes", ladder.obtained.huge_bytes}};
  return out;
}

Json ReplayJson(const ReplayResult& r) {
  Json out;
  out["threads"] = r.options.threads;
  out["loop"] = r.options.load > 0 ? "open" : "closed";
  out["load"] = r.options.load;
  out["requests"] = r.requests.size();
  out["seconds"] = Round(r.wall_s);
  out["queries_per_second"] = Round(static_cast<double>(r.requests.size()) / r.wall_s);
  out["worker_utilisation"] = Round(r.busy_s / (r.wall_s * r.options.threads));
  out["gpu_forward_ms"] = r.options.gpu_forward_ms >= 0 ? Json(r.options.gpu_forward_ms) : Json();
  out["device_utilisation"] =
      r.options.gpu_forward_ms > 0 ? Json(Round(r.forward_s / r.wall_s)) : Json();
  out["latency_us"] = Percentiles(r.requests, &RequestRecord::latency_ns);
  out["queue_us"] = Percentiles(r.requests, &RequestRecord::queue_ns);
  return out;
}

}  // namespace

Json Value(double value) { return {{"value", Round(value)}}; }
Json NoValue(const std::string& reason) { return {{"value", nullptr}, {"reason", reason}}; }

double Run::MeanStageSeconds(Stage stage, bool cpu) const {
  return Mean(replay.requests,
              [&](auto& r) { return cpu ? r.cpu_ns[stage] : r.wall_ns[stage]; }) / 1e9;
}

double Run::MeanHostSeconds(bool cpu) const {
  return Mean(replay.requests, cpu ? &RequestRecord::host_cpu_ns : &RequestRecord::host_wall_ns) / 1e9;
}

Run Measure(const Workload& workload, const PlacedImage& image, const EngineFactory& engines,
            Engine* reference, const RunOptions& options) {
  Run run;
  run.options = options;
  run.workload_name = workload.name;
  run.workload_hash = workload.hash;
  run.workload_requests = workload.requests.size();
  run.pages = image.ladder();
  run.image_bytes = image.size();
  const std::vector<uint32_t> distinct = workload.CandidateTexts();
  run.distinct_texts = distinct.size();
  for (const Request& request : workload.requests) run.all_candidates += request.candidates.size();
  size_t lists = 0;
  for (const Request& request : workload.requests) {
    for (const Candidate& c : request.candidates) lists += c.tokenized ? 1 : 0;
  }
  run.repeated_candidates = run.all_candidates - lists - distinct.size();
  std::vector<std::string_view> texts;
  for (const uint32_t index : distinct) texts.push_back(workload.texts[index]);
  if (texts.empty()) {  // all candidates are ids: the queries are what is encoded
    for (const Request& request : workload.requests) texts.push_back(workload.texts[request.query]);
  }

  const std::unique_ptr<Engine> engine = engines();
  run.engine = engine->info();
  run.encode = MeasureEncode(*engine, texts, options.encode_seconds);
  if (options.pointer_chase) {
    run.chase = MeasurePointerChase(*engine, texts);
  } else {
    run.chase.reason = "not asked for";
  }
  run.replay = Replay(workload, image.model(), engines, options.replay);
  for (const double load : options.sweep) {
    ReplayOptions at = options.replay;
    at.load = load;
    run.sweep.push_back(Replay(workload, image.model(), engines, at));
  }
  if (reference != nullptr) {
    run.parity = CompareParity(*engine, *reference, texts, options.unicode_texts);
  } else {
    run.parity.reason = "no reference was given (--reference)";
  }
  if (!options.simulated_file.empty()) {
    files::CheckReadable(options.simulated_file, files::ReadAs::kStream);
    std::ifstream in(options.simulated_file);
    run.simulated = Json::parse(in, nullptr, false);
    if (!run.simulated.is_object()) {
      throw std::runtime_error(options.simulated_file + ": not a report of bench/callgrind.py");
    }
  }
  return run;
}

namespace {

Json TokenizerJson(const Run& run) {
  const EngineInfo& engine = run.engine;
  return {{"family", engine.family},
          {"implementation", engine.implementation},
          {"version", engine.version},
          {"config_hash", OrNull(engine.config_hash)},
          {"normalization_path", OrNull(engine.normalization)},
          {"image_bytes", engine.in_process ? Json(run.image_bytes) : Json()},
          {"fast_road", run.encode.roads ? Json(engine.off_fast_road.empty()) : Json()},
          {"off_fast_road", OrNull(engine.off_fast_road)},
          {"isa", OrNull(engine.isa)}};
}

Json WorkloadJson(const Run& run) {
  std::vector<double> candidates;
  for (const RequestRecord& r : run.replay.requests) candidates.push_back(r.candidates);
  return {{"name", run.workload_name},
          {"hash", run.workload_hash},
          {"requests", run.workload_requests},
          {"candidates", run.all_candidates},
          {"candidates_per_query_p50", Percentile(candidates, 0.5)},
          {"candidates_per_query_max", candidates.empty() ? 0 : candidates.back()},
          {"distinct_texts", run.distinct_texts},
          {"repeated_candidates", run.repeated_candidates}};
}

Json EncodeJson(const EncodeCost& e, const PointerChase& chase) {
  const double ns = e.rounds == 0 ? 0 : e.cpu_seconds * 1e9 / static_cast<double>(e.rounds);
  const auto per = [&](uint64_t count) { return Round(count == 0 ? 0 : ns / static_cast<double>(count)); };
  std::vector<double> each = e.round_ns;
  for (double& round : each) round = e.tokens == 0 ? 0 : round / static_cast<double>(e.tokens);
  Json cold = NoValue(chase.reason);
  if (chase.valid) {
    cold = {{"texts", chase.texts},
            {"warm_ns_per_token", Round(chase.warm_ns_per_token)},
            {"cold_ns_per_token", Round(chase.cold_ns_per_token)},
            {"memory_access_ns", Round(chase.access_ns)},
            {"dependent_accesses_per_token", Round(chase.dependent_accesses_per_token())}};
  }
  return {{"texts", e.texts},
          {"rounds", e.rounds},
          {"text_bytes", e.text_bytes},
          {"tokens", e.tokens},
          {"ids_hash", e.ids_hash},
          {"roads", RoadsJson(e.roads)},
          {"latency_us",
           {{"first_p50", Round(e.first_p50_us)},
            {"p50", Round(e.p50_us)},
            {"p95", Round(e.p95_us)},
            {"p99", Round(e.p99_us)},
            {"max", Round(e.max_us)}}},
          {"megabytes_per_second", Round(e.bytes_per_second() / 1e6)},
          {"cpu_ns_per_token", per(e.tokens)},
          {"cpu_ns_per_byte", per(e.text_bytes)},
          {"round_cpu_ns_per_token",
           {{"p25", Round(Percentile(each, 0.25))}, {"p50", Round(Percentile(each, 0.5))}, {"p75", Round(Percentile(each, 0.75))}}},
          {"allocations_per_encode", OrReason(e.allocations, e.allocations >= 0, e.allocation_reason)},
          {"allocated_bytes_per_encode",
           OrReason(e.allocated_bytes, e.allocated_bytes >= 0,
                    e.allocation_reason.empty() ? "the adapter does not report bytes" : e.allocation_reason)},
          {"energy_joules", OrReason(e.joules, e.joules >= 0, e.energy_reason)},
          {"cold_caches", std::move(cold)}};
}

Json QueryJson(const Run& run) {
  const std::vector<RequestRecord>& requests = run.replay.requests;
  const EncodeCost& e = run.encode;
  Json stages;
  double sum_wall = 0, sum_cpu = 0;
  for (int s = 0; s < kHostStages; ++s) {
    const auto stage = static_cast<Stage>(s);
    const double cpu = run.MeanStageSeconds(stage, true) * 1e6;
    stages[StageName(s)] = {{"wall_us", Percentiles(requests, [&](auto& r) { return r.wall_ns[stage]; })}, {"cpu_us", Round(cpu)}};
    sum_wall += run.MeanStageSeconds(stage, false) * 1e6;
    sum_cpu += cpu;
  }
  const double cpu_seconds = run.MeanHostSeconds(true), price = cpu_seconds / 3600 * run.options.price_per_core_hour;
  Json cost = NoValue("no price was given (--price-per-core-hour)");
  if (run.options.price_per_core_hour > 0) {
    cost = {{"value", price},
            {"per_million_queries", Round(price * 1e6)},
            {"price_per_core_hour", run.options.price_per_core_hour},
            {"currency", run.options.currency}};
  }
  Json query;
  const auto mean = [&](const char* name, auto member) { query[name] = Round(Mean(requests, member)); };
  mean("candidates", &RequestRecord::candidates);
  mean("query_tokens", &RequestRecord::query_tokens);
  mean("document_tokens", &RequestRecord::document_tokens);
  mean("row_tokens", &RequestRecord::row_tokens);
  mean("text_bytes", &RequestRecord::text_bytes);
  query["stages"] = std::move(stages);
  query["sum_of_stages"] = {{"wall_us", Round(sum_wall)}, {"cpu_us", Round(sum_cpu)}};
  query["host"] = {{"wall_us", Percentiles(requests, &RequestRecord::host_wall_ns)}, {"cpu_us", Round(cpu_seconds * 1e6)}};
  query["allocations"] = OrReason(Mean(requests, &RequestRecord::allocations),
                                  run.engine.in_process && counters::AllocationAccountingInstalled(),
                                  run.engine.in_process ? counters::AllocationAccountingReason() : "the engine runs in another process");
  query["energy_joules"] = OrReason(e.joules / e.cpu_seconds * cpu_seconds, e.joules >= 0 && e.cpu_seconds > 0,
                                    e.energy_reason.empty() ? "not measured" : e.energy_reason);
  query["cost"] = std::move(cost);
  return query;
}

Json HandoffJson(const ReplayResult& replay) {
  const auto us = [&](auto member) { return Percentiles(replay.requests, member); };
  return {{"backend", replay.handoff_info.backend},
          {"page_locked", replay.handoff_info.page_locked != 0},
          {"slots", replay.handoff_info.slots},
          {"submit_us", us([](auto& r) { return r.wall_ns[kSubmit]; })},
          {"copy_us", us(&RequestRecord::copy_ns)},
          {"device_idle_for_copy_us", us(&RequestRecord::device_wait_ns)},
          {"slot_wait_us", us([](auto& r) { return r.wall_ns[kSlot]; })},
          {"slot_wait_device_idle_us", us(&RequestRecord::slot_idle_ns)},
          {"copies", replay.handoff.copies},
          {"bytes", replay.handoff.bytes},
          {"waits", replay.handoff.waits}};
}

}  // namespace

Json ReceiptJson(const Run& run) {
  const std::vector<RequestRecord>& requests = run.replay.requests;
  const EncodeCost& e = run.encode;
  const auto rounds = static_cast<double>(e.rounds), count = static_cast<double>(requests.size());
  const double tokens = Mean(requests, &RequestRecord::query_tokens) + Mean(requests, &RequestRecord::document_tokens);
  Json out;
  out["schema"] = "rankfeed-receipt";
  out["schema_version"] = kSchemaVersion;
  out["created"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  out["tokenizer"] = TokenizerJson(run);
  out["workload"] = WorkloadJson(run);
  out["encode"] = EncodeJson(e, run.chase);
  out["counters"] = {
      {"encode", CountersJson({e.counters}, static_cast<double>(e.tokens) * rounds, static_cast<double>(e.text_bytes) * rounds)},
      {"replay", CountersJson(run.replay.counters, tokens * count, Mean(requests, &RequestRecord::text_bytes) * count)}};
  out["simulated"] = run.simulated.is_null() ? NoValue("no report of bench/callgrind.py was given (--simulated)") : run.simulated;
  out["pages"] = PagesJson(run.pages);
  out["parity"] = ParityJson(run);
  out["per_query"] = QueryJson(run);
  out["batch"] = {{"construction_us", Percentiles(requests, [](auto& r) { return r.wall_ns[kBatch]; })},
                  {"bytes", Round(Mean(requests, &RequestRecord::batch_bytes))}};
  out["handoff"] = HandoffJson(run.replay);
  out["replay"] = ReplayJson(run.replay);
  auto points = Json::array();
  for (const ReplayResult& point : run.sweep) points.push_back(ReplayJson(point));
  out["latency_over_load"] = std::move(points);
  out["machine"] = MachineJson();
  out["build"] = BuildJson();
  return out;
}

}  // namespace rankfeed::measure
