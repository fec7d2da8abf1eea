// SPDX-License-Identifier: MIT
// measure/findings.cc: see findings.h. One function per finding, in the order of the report.
#include "measure/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rankfeed::measure {
void Finding::Add(const char* what, double value, const char* unit, const char* word, double limit, bool met) {
  evidence.push_back({what, value, unit, *word == 0 ? "" : fmt::format("{} {:g}", word, limit), met});
}

namespace {

std::string Us(double seconds) {
  return seconds >= 1e-3 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.1f} µs", seconds * 1e6);
}

std::string Percent(double share) { return fmt::format("{:.1f} %", share * 100); }

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

void All(Finding* finding) {
  bool found = true;
  for (const Evidence& e : finding->evidence) found = found && (e.threshold.empty() || e.met);
  finding->verdict = found ? Verdict::kFound : Verdict::kNotFound;
}
void Any(Finding* finding) {
  bool found = false;
  for (const Evidence& e : finding->evidence) found = found || e.met;
  finding->verdict = found ? Verdict::kFound : Verdict::kNotFound;
}

double TokenizeSeconds(const Run& run, bool cpu) {
  return run.MeanStageSeconds(kQuery, cpu) + run.MeanStageSeconds(kDocuments, cpu);
}

Finding CpuBottleneck(const Run& run) {
  Finding f{.name = "tokenizer_cpu_bottleneck"};
  const double tokenize = TokenizeSeconds(run, true), host = HostWorkSeconds(run);
  const double threads = run.replay.options.threads;
  f.Fact("CPU time of tokenization per query", tokenize * 1e6, "µs");
  if (run.replay.options.gpu_forward_ms > 0) {
    const double forward = run.replay.options.gpu_forward_ms / 1e3;
    const double feed = Share(threads, tokenize), need = 1 / forward;
    f.Fact("queries per second the forward pass takes", need, "1/s");
    f.LessThan("queries per second the tokenizing threads deliver", feed, need, "1/s");
    All(&f);
    f.summary = fmt::format("{} of tokenization on {} threads feed {:.0f} queries/s; a forward pass of {} takes {:.0f}",
                            Us(tokenize), threads, feed, Us(forward), need);
  } else {
    f.AtLeast("tokenization's share of the host's work", Share(tokenize, host), threshold::kTokenizeShareOfBusy);
    f.AtLeast("share of time the workers are busy", Share(run.replay.busy_s, run.replay.wall_s * threads), threshold::kUtilisation);
    if (run.replay.options.load <= 0) {
      f.verdict = Verdict::kNotMeasurable;
      f.summary = "a closed loop keeps workers busy by itself, and no --gpu-forward-ms says what they "
                  "have to keep up with";
      return f;
    }
    All(&f);
    f.summary = fmt::format("workers are busy {} of the time, with tokenization {} of it",
                            Percent(f.evidence[2].value), Percent(f.evidence[1].value));
  }
  if (f.verdict == Verdict::kFound) {
    f.advice = "The accelerator waits for ids. Add tokenizing threads, tokenize documents ahead of time "
               "(a corpus store), or use a faster tokenizer.";
  }
  return f;
}

Finding AllocHotpath(const Run& run) {
  Finding f{.name = "tokenizer_alloc_hotpath"};
  if (run.encode.allocations < 0) {
    f.verdict = Verdict::kNotMeasurable;
    f.summary = run.encode.allocation_reason;
    return f;
  }
  f.MoreThan("allocations per encode", run.encode.allocations, threshold::kAllocationsPerEncode);
  if (run.encode.allocated_bytes >= 0) {
    f.Fact("bytes allocated per encode", run.encode.allocated_bytes, "B");
  }
  f.Fact("encodes counted", static_cast<double>(run.encode.rounds * run.encode.texts));
  All(&f);
  f.summary = fmt::format("{:g} allocations per encode", std::round(run.encode.allocations * 100) / 100);
  if (f.verdict == Verdict::kFound) {
    f.advice = "Every text pays for the allocator, and threads meet in it. Keep scratch per thread and "
               "write into the caller's memory.";
  }
  return f;
}

Finding DependentAccesses(const Run& run) {
  Finding f{.name = "tokenizer_trie_pointer_chase"};
  if (run.chase.valid) {
    f.AtLeast("dependent memory accesses per token with empty caches", run.chase.dependent_accesses_per_token(), threshold::kDependentAccessesPerToken);
    f.Fact("time per token, warm", run.chase.warm_ns_per_token, "ns");
    f.Fact("time per token, empty caches", run.chase.cold_ns_per_token, "ns");
    f.Fact("one dependent access to memory", run.chase.access_ns, "ns");
  }
  const rankfeed_counter& llc = run.encode.counters.counters[RANKFEED_COUNTER_LLC_MISSES];
  const double tokens = static_cast<double>(run.encode.tokens * run.encode.rounds);
  if (llc.valid && tokens > 0) {
    f.AtLeast("last-level cache misses per token", static_cast<double>(llc.value) / tokens, threshold::kLlcMissesPerToken);
  }
  if (run.simulated.is_object() && run.simulated.contains("ll_read_misses_per_token")) {
    f.AtLeast("simulated last-level read misses per token", run.simulated["ll_read_misses_per_token"].get<double>(), threshold::kSimulatedLlMissesPerToken);
  }
  if (f.evidence.empty()) {
    f.verdict = Verdict::kNotMeasurable;
    f.summary = run.chase.reason + "; last-level misses: " + llc.reason;
    return f;
  }
  Any(&f);
  f.summary = run.chase.valid
                  ? fmt::format("{:.2f} dependent memory accesses per token when caches are empty "
                                "({:.0f} ns per token against {:.0f} warm)",
                                run.chase.dependent_accesses_per_token(), run.chase.cold_ns_per_token,
                                run.chase.warm_ns_per_token)
                  : fmt::format("{:.2f} {}", f.evidence[0].value, f.evidence[0].what);
  if (f.verdict == Verdict::kFound) {
    f.advice = "Look-ups wait for one another. A smaller trie, a table of whole words, and walking several "
               "words at once with prefetches hide the wait.";
  }
  return f;
}

Finding TlbPressure(const Run& run) {
  Finding f{.name = "tokenizer_tlb_pressure"};
  const rankfeed_counter& walks = run.encode.counters.counters[RANKFEED_COUNTER_PAGE_WALK_CYCLES];
  const rankfeed_counter& cycles = run.encode.counters.counters[RANKFEED_COUNTER_CYCLES];
  const bool counted = walks.valid && cycles.valid && cycles.value > 0;
  if (!run.engine.in_process || (!run.pages.obtained.valid && !counted)) {
    f.verdict = Verdict::kNotMeasurable;
    f.summary = run.engine.in_process ? run.pages.obtained.reason
                                      : "the engine runs in another process";
    return f;
  }
  bool found = false;
  if (run.pages.obtained.valid) {
    const double share = Share(static_cast<double>(run.pages.obtained.huge_bytes),
                               static_cast<double>(run.pages.obtained.resident_bytes));
    f.LessThan("share of the vocabulary on huge pages", share, threshold::kHugeShare);
    f.MoreThan("bytes of the vocabulary", static_cast<double>(run.image_bytes), threshold::kTlbReachBytes, "B");
    found = f.evidence[0].met && f.evidence[1].met;
    f.summary = fmt::format("{:.1f} MB of vocabulary on {} pages of {} KiB ({} on huge pages)",
                            static_cast<double>(run.image_bytes) / 1e6, run.pages.obtained.kind,
                            run.pages.obtained.page_size / 1024, Percent(share));
  }
  if (counted) {
    f.AtLeast("share of cycles with a page walk under way", Share(static_cast<double>(walks.value), static_cast<double>(cycles.value)), threshold::kWalkShareOfCycles);
    found = found || f.evidence.back().met;
  } else {
    f.summary += fmt::format("; page walks: {}", walks.valid ? cycles.reason : walks.reason);
  }
  f.verdict = found ? Verdict::kFound : Verdict::kNotFound;
  if (found) {
    std::string why;
    for (const auto& step : run.pages.steps) {
      if (step.outcome != "used") why += fmt::format(" {}: {}.", step.kind, step.outcome);
    }
    f.advice = "Put the image on huge pages (transparent_hugepage/enabled = madvise or always, or "
               "vm.nr_hugepages)." + why;
  }
  return f;
}

Finding ParityRisk(const Run& run) {
  Finding f{.name = "tokenizer_unicode_parity_risk"};
  const Parity& p = run.parity;
  if (!p.valid) {
    f.verdict = Verdict::kNotMeasurable;
    f.summary = p.reason;
    return f;
  }
  f.MoreThan("documents with other ids", static_cast<double>(p.documents.mismatches), 0);
  f.MoreThan("texts with special tokens with other ids", static_cast<double>(p.specials.mismatches), 0);
  f.MoreThan("Unicode stress texts with other ids", static_cast<double>(p.unicode.mismatches), 0);
  f.Fact("texts compared", static_cast<double>(p.documents.compared + p.specials.compared +
                                                                  p.unicode.compared));
  Any(&f);
  f.summary = fmt::format("{} of {} texts have other ids than {} {}", p.mismatches(),
                          p.documents.compared + p.specials.compared + p.unicode.compared,
                          p.reference.implementation, p.reference.version);
  if (f.verdict == Verdict::kFound) {
    const ParityPart& part = p.documents.mismatches  ? p.documents
                                      : p.specials.mismatches ? p.specials
                                                              : p.unicode;
    f.advice = "The model was trained on the reference's ids; scores of these texts are not the model's. "
               "First difference: \"" + part.first_text + "\".";
  }
  return f;
}

Finding Fanout(const Run& run) {
  Finding f{.name = "reranker_fanout_amplifies_cpu_cost"};
  std::vector<double> candidates;
  for (const RequestRecord& r : run.replay.requests) candidates.push_back(r.candidates);
  const double p50 = Percentile(candidates, 0.5);
  const double documents = run.MeanStageSeconds(kDocuments, true), host = HostWorkSeconds(run);
  const double tokenized = Mean(run.replay.requests, [](auto& r) { return r.tokenized - 1; });
  f.AtLeast("candidates per query, median", p50, threshold::kFanoutCandidates);
  f.AtLeast("documents' share of the host's work", Share(documents, host), threshold::kFanoutShare);
  f.Fact("candidates tokenized per query", tokenized);
  f.Fact("CPU time per tokenized candidate", Share(documents, tokenized) * 1e6, "µs");
  const double repeated = Share(static_cast<double>(run.repeated_candidates),
                                static_cast<double>(run.all_candidates));
  f.Fact("share of candidates tokenized before in this trace", repeated);
  All(&f);
  if (tokenized < 1) f.verdict = Verdict::kNotFound;
  f.summary = fmt::format("{:.0f} candidates per query; their texts take {} of the host's work; {} were "
                          "tokenized before", p50, Percent(f.evidence[1].value), Percent(repeated));
  if (f.verdict == Verdict::kFound) {
    f.advice = fmt::format("Every query tokenizes its candidates again. A corpus store of pretokenized "
                           "documents removes up to {} of CPU per query.", Us(documents));
  }
  return f;
}

Finding PromptAssembly(const Run& run) {
  Finding f{.name = "prompt_assembly_cpu_stall"};
  const double assemble = run.MeanStageSeconds(kAssemble, true), host = HostWorkSeconds(run);
  f.AtLeast("assembly's share of the host's work", Share(assemble, host), threshold::kAssembleShare);
  f.AtLeast("CPU time of assembly per query", assemble * 1e6, threshold::kAssembleUs, "µs");
  All(&f);
  f.summary = fmt::format("prompts take {} per query, {} of the host's work", Us(assemble),
                          Percent(f.evidence[0].value));
  if (f.verdict == Verdict::kFound) {
    f.advice = "Prompts are built as text for every pair. Tokenize the template and the query once and "
               "join ids.";
  }
  return f;
}

Finding BatchConstruction(const Run& run) {
  Finding f{.name = "batch_construction_hotpath"};
  const double batch = run.MeanStageSeconds(kBatch, true), host = HostWorkSeconds(run);
  const double tokens = Mean(run.replay.requests, &RequestRecord::row_tokens);
  f.AtLeast("batch construction's share of the host's work", Share(batch, host), threshold::kBatchShare);
  f.AtLeast("CPU time per token of the batch", Share(batch, tokens) * 1e9, threshold::kBatchNsPerToken, "ns");
  f.Fact("CPU time per query", batch * 1e6, "µs");
  All(&f);
  f.summary = fmt::format("tensors take {} per query, {:.1f} ns per token, {} of the host's work", Us(batch),
                          f.evidence[1].value, Percent(f.evidence[0].value));
  if (f.verdict == Verdict::kFound) {
    f.advice = "Batches are built token by token in the interpreter, or copied several times. Write rows "
               "straight into page-locked tensors.";
  }
  return f;
}

Finding HandoffStall(const Run& run) {
  Finding f{.name = "host_device_handoff_stall"};
  const double idle = Mean(run.replay.requests, &RequestRecord::device_wait_ns) / 1e9;
  const double slot = Mean(run.replay.requests, &RequestRecord::slot_idle_ns) / 1e9;
  const double submit = run.MeanStageSeconds(kSubmit, false);
  // The time from a query's first byte tokenized to its copy landed, and a margin.
  const double path = run.MeanHostSeconds(false) + idle +
                      std::max(0.0, run.replay.options.gpu_forward_ms) / 1e3;
  const double stall = idle + slot + submit;
  f.AtLeast("stall's share of a query's path", Share(stall, path), threshold::kHandoffShare);
  f.AtLeast("stall per query", stall * 1e6, threshold::kHandoffUs, "µs");
  f.Fact("device idle, waiting for the copy", idle * 1e6, "µs");
  f.Fact("host waiting for a slot while the device is idle", slot * 1e6, "µs");
  f.Fact("submit", submit * 1e6, "µs");
  All(&f);
  f.summary = fmt::format("the handoff stalls a query for {}, {} of its path", Us(stall),
                          Percent(f.evidence[0].value));
  if (f.verdict == Verdict::kFound) {
    f.advice = std::string("Copies do not overlap with other work. Use page-locked memory, more slots, and a "
                           "stream of their own.") +
               (run.replay.handoff_info.page_locked
                    ? ""
                    : std::string(" Slots are not page-locked: ") + run.replay.handoff_info.note + ".");
  }
  return f;
}

Finding NotPrimary(const Run& run) {
  Finding f{.name = "tokenizer_not_primary_bottleneck"};
  const double tokenize = TokenizeSeconds(run, true);
  double path = HostWorkSeconds(run) + Mean(run.replay.requests, &RequestRecord::device_wait_ns) / 1e9;
  if (run.replay.options.gpu_forward_ms > 0) path += run.replay.options.gpu_forward_ms / 1e3;
  f.LessThan("tokenization's share of a query's path", Share(tokenize, path), threshold::kNotPrimaryShare);
  f.Fact("tokenization per query", tokenize * 1e6, "µs");
  f.Fact("path per query", path * 1e6, "µs");
  All(&f);
  f.summary = fmt::format("tokenization is {} of a query's path ({} of {}{})", Percent(f.evidence[0].value),
                          Us(tokenize), Us(path),
                          run.replay.options.gpu_forward_ms > 0 ? "" : ", forward pass not known");
  if (f.verdict == Verdict::kFound) {
    f.advice = "A faster tokenizer would not be felt here. Look at the larger parts first.";
  }
  return f;
}

}  // namespace

// Sums the CPU time of the host's stages; a machine busy with other things does not shift CPU time.
double HostWorkSeconds(const Run& run) {
  double sum = 0;
  for (int s = 0; s < kHostStages; ++s) {
    if (s != kSlot) sum += run.MeanStageSeconds(static_cast<Stage>(s), true);
  }
  return sum;
}

std::vector<Finding> Judge(const Run& run) {
  return {CpuBottleneck(run), AllocHotpath(run),   DependentAccesses(run), TlbPressure(run),
          ParityRisk(run),    Fanout(run),         PromptAssembly(run), BatchConstruction(run),
          HandoffStall(run),  NotPrimary(run)};
}

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFound:
      return "found";
    case Verdict::kNotFound:
      return "not found";
    case Verdict::kNotMeasurable:
      break;
  }
  return "not measurable";
}

nlohmann::ordered_json FindingsJson(const std::vector<Finding>& findings) {
  auto out = nlohmann::ordered_json::array();
  for (const Finding& f : findings) {
    nlohmann::ordered_json entry = {{"name", f.name}, {"verdict", VerdictName(f.verdict)},
                                    {"summary", f.summary}};
    if (!f.advice.empty()) entry["advice"] = f.advice;
    auto evidence = nlohmann::ordered_json::array();
    for (const Evidence& e : f.evidence) {
      nlohmann::ordered_json item = {{"what", e.what}, {"value", e.value}, {"unit", e.unit}};
      if (!e.threshold.empty()) {
        item["threshold"] = e.threshold;
        item["met"] = e.met;
      }
      evidence.push_back(std::move(item));
    }
    entry["evidence"] = std::move(evidence);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace rankfeed::measure
