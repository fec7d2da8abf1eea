// SPDX-License-Identifier: MIT
// serve/metrics.cc: see metrics.h.
#include "serve/metrics.h"

#include <fmt/format.h>

namespace rankfeed::serve {
namespace {

// Writes families in either format: they differ in how counters are named in the lines of their
// type.
class Writer {
 public:
  explicit Writer(bool open_metrics) : open_metrics_(open_metrics) {}
  void Counter(std::string_view name, std::string_view help, auto value) {
    Family(name, "counter", help);
    out += fmt::format("rankfeed_{}_total {}\n", name, value);
  }
  void Gauge(std::string_view name, std::string_view help, auto value) {
    Family(name, "gauge", help);
    out += fmt::format("rankfeed_{} {}\n", name, value);
  }
  void Family(std::string_view name, std::string_view type, std::string_view help) {
    const char* const suffix = type == "counter" && !open_metrics_ ? "_total" : "";
    out += fmt::format("# HELP rankfeed_{0}{1} {2}\n# TYPE rankfeed_{0}{1} {3}\n", name, suffix,
                       help, type);
  }
  std::string out;

 private:
  bool open_metrics_;
};

}  // namespace

template <size_t n>
std::string Histogram<n>::Text(const char* name, const char* help) const {
  std::string out =
      fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
  uint64_t total = 0;
  for (size_t i = 0; i <= n; ++i) {
    total += counts_[i].load();
    // OpenMetrics wants edges written as numbers with a point.
    const std::string edge = i == n ? "+Inf"
                             : edges_[i] == static_cast<int64_t>(edges_[i])
                                 ? fmt::format("{:.1f}", edges_[i])
                                 : fmt::format("{}", edges_[i]);
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, edge, total);
  }
  out += fmt::format("{0}_sum {1}\n{0}_count {2}\n", name,
                     static_cast<double>(millionths_.load()) * 1e-6, total);
  return out;
}

std::string MetricsText(const Metrics& m, const Gauges& gauges, const ListenerCounts& connections,
                        bool open_metrics) {
  Writer w(open_metrics);
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  w.Counter("requests", "Rerank requests received.", m.requests.load());
  w.Family("responses", "counter", "Rerank responses by outcome.");
  for (size_t i = 0; i < kOutcomeNames.size(); ++i) {
    w.out += fmt::format("rankfeed_responses_total{{outcome=\"{}\"}} {}\n", kOutcomeNames[i],
                         m.outcomes[i].load());
  }
  w.Counter("documents", "Documents of processed requests.", m.documents.load());
  w.Counter("rows", "Rows scored.", m.rows.load());
  w.Counter("full_rows",
            "Rows of the greatest length, where a longer document would have been cut.",
            m.cut_rows.load());
  w.Counter("tokens", "Tokens scored.", m.tokens.load());
  w.Counter("batches", "Batches scored.", m.batches.load());
  w.Counter("tokenize_cpu_seconds", "CPU time spent on tokenizing and packing.",
            seconds(m.tokenizing_cpu_ns.load()));
  w.Counter("inference_seconds", "Time spent in the forward pass.", seconds(m.scoring_ns.load()));
  w.Counter("swaps", "Vocabulary, corpus and model sets loaded after the first.", m.swaps.load());
  w.Counter("connections", "Connections accepted.", connections.accepted.load());
  w.Counter("connections_evicted", "Connections closed to make room for others.",
            connections.evicted.load());
  w.Counter("connections_timed_out", "Connections whose client took too long.",
            connections.timed_out.load());
  w.Counter("answers_dropped", "Answers that the client did not take.", connections.dropped.load());
  w.Counter("log_lines_lost", "Lines of the log that were dropped because its reader was too slow or gone.", gauges.lost_log_lines);
  w.Gauge("connections_open", "Connections open now.", connections.open.load());
  w.Gauge("generation", "Number of the current set.", gauges.generation);
  w.Gauge("queue_depth", "Requests waiting.", gauges.queue_depth);
  w.Gauge("running", "Requests being processed.", m.running.load());
  w.Gauge("draining", "1: the service is ending.", gauges.draining ? 1 : 0);
  w.Family("ids_parity", "gauge", "The reference whose ids are equalled.");
  w.out += fmt::format("rankfeed_ids_parity{{mode=\"{}\"}} 1\n", gauges.parity);
  w.Family("vocabulary_pages", "gauge", "The memory pages that the vocabulary lies on.");
  w.out += fmt::format("rankfeed_vocabulary_pages{{kind=\"{}\"}} 1\n", gauges.pages);
  if (gauges.huge_page_bytes != UINT64_MAX) {
    w.Gauge("vocabulary_huge_page_bytes", "Bytes of the vocabulary on huge pages when it was loaded.",
            gauges.huge_page_bytes);
  }
  w.out += m.seconds.Text("rankfeed_request_seconds", "Time from a request's first byte to its answer.");
  // gen_ai.rerank.candidate.count and gen_ai.rerank.top_n, as OpenTelemetry's proposal of a rerank
  // span names them (open-telemetry/semantic-conventions-genai, issue 253 of June 2026).
  w.out += m.candidates.Text("gen_ai_rerank_candidate_count", "Documents of a request.");
  w.out += m.top_n.Text("gen_ai_rerank_top_n", "Documents of an answer.");
  if (open_metrics) w.out += "# EOF\n";
  return std::move(w.out);
}

}  // namespace rankfeed::serve
