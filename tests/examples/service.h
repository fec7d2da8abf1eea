// SPDX-License-Identifier: MIT
// examples/service.h: the rerank service behind the HTTP front: a bounded queue and worker threads.
//
//   front thread: Submit(job) -> queue full: refused at once (HTTP 429)
//   worker thread: takes a job, tokenizes, scores batch by batch, ranks; looks at the deadline
//                  between documents and batches
//   front thread: waits for job->done
//
// Stop() lets queued and running jobs finish and refuses new ones.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "assets.h"

namespace example {

using Clock = std::chrono::steady_clock;

// What may differ from request to request in how rows are made. Rerankers are kept per value.
struct RowPolicy {
  bool truncate = true;        // false: a row that is too long is an error of the request
  bool left = false;           // cut at the start
  uint32_t max_chunks = 1;     // more: windows over long documents
  uint32_t max_tokens_per_doc = 0;
  auto operator<=>(const RowPolicy&) const = default;
};

struct Document {
  std::string text, id;  // id: taken from the corpus store when it is there
};

struct Job {
  // in
  std::string query;
  std::vector<Document> documents;
  RowPolicy policy;
  uint32_t top_n = 0;
  bool raw_scores = false;
  Clock::time_point arrival, deadline;
  // out
  rankfeed::Error error;
  std::vector<rankfeed_ranked> ranked;
  uint64_t tokens = 0, generation = 0;
  std::promise<void> done;
};

struct Metrics {
  // Upper edges of latency buckets in seconds; the last one is +Inf.
  static constexpr std::array<double, 12> kEdges = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                                    0.1,   0.2,   0.5,   1.0,  2.0,  5.0};
  std::array<std::atomic<uint64_t>, kEdges.size() + 1> latency{};
  std::atomic<uint64_t> latency_ns{0}, requests{0}, ok{0}, rejected{0}, expired{0}, invalid{0},
      failed{0}, documents{0}, tokens{0}, batches{0}, swaps{0}, running{0};
  void Observe(Clock::duration elapsed);
};

struct ServiceOptions {
  uint32_t workers = 2, queue = 64, max_length = 512, max_tokens_per_batch = 8192;
};

class Service {
 public:
  Service(AssetBox* assets, const ServiceOptions& options);
  ~Service() { Stop(); }
  enum class Admission { kQueued, kFull, kStopping };
  Admission Submit(std::shared_ptr<Job> job);
  void Stop();
  size_t depth() const;
  Metrics& metrics() { return metrics_; }
  const ServiceOptions& options() const { return options_; }
  std::string PrometheusText() const;

 private:
  class Worker;
  void Run();
  AssetBox* assets_;
  ServiceOptions options_;
  Metrics metrics_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace example
