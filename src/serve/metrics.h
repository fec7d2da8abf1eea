// SPDX-License-Identifier: MIT
// serve/metrics.h: what a service counts, and the text that Prometheus and OpenMetrics collectors
// read. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "serve/http.h"

namespace rankfeed::serve {

// How a rerank request ended.
enum class Outcome { kOk, kOverloaded, kDeadline, kInvalid, kFailed };
inline constexpr std::array<const char*, 5> kOutcomeNames = {"ok", "overloaded", "deadline",
                                                             "invalid", "failed"};

// Counts by upper edge; the last bucket has none.
template <size_t n>
class Histogram {
 public:
  explicit Histogram(const std::array<double, n>& edges) : edges_(edges) {}
  void Observe(double value) {
    size_t i = 0;
    while (i < n && value > edges_[i]) ++i;
    ++counts_[i];
    // Millionths, so that sums of times and of counts are exact enough in one integer.
    millionths_ += static_cast<uint64_t>(value * 1e6);
  }
  std::string Text(const char* name, const char* help) const;

 private:
  const std::array<double, n> edges_;
  std::array<std::atomic<uint64_t>, n + 1> counts_{};
  std::atomic<uint64_t> millionths_{0};
};

struct Metrics {
  std::atomic<uint64_t> requests{0}, documents{0}, tokens{0}, rows{0}, cut_rows{0}, batches{0},
      swaps{0}, running{0}, tokenizing_cpu_ns{0}, scoring_ns{0}, busy_ns{0}, finished{0};
  std::array<std::atomic<uint64_t>, kOutcomeNames.size()> outcomes{};
  Histogram<12> seconds{{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5}};
  Histogram<7> candidates{{1, 5, 10, 50, 100, 500, 1000}};
  Histogram<7> top_n{{1, 5, 10, 50, 100, 500, 1000}};
};

// The state at this moment.
struct Gauges {
  uint64_t generation = 0, queue_depth = 0, lost_log_lines = 0;
  bool draining = false;
  std::string parity, pages;
  uint64_t huge_page_bytes = 0;  // of the vocabulary; UINT64_MAX: the kernel does not say
};

// open_metrics: OpenMetrics 1.0 instead of Prometheus' text format 0.0.4.
std::string MetricsText(const Metrics& metrics, const Gauges& gauges,
                        const ListenerCounts& connections, bool open_metrics);

}  // namespace rankfeed::serve
