// SPDX-License-Identifier: MIT
// examples/service.cc: see service.h.
#include "service.h"

#include <fmt/format.h>

#include <map>

namespace example {

void Metrics::Observe(Clock::duration elapsed) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  size_t i = 0;
  while (i < kEdges.size() && seconds > kEdges[i]) ++i;
  ++latency[i];
  latency_ns += static_cast<uint64_t>(std::chrono::nanoseconds(elapsed).count());
}

// One thread's rerankers and workspace, for one set of assets at a time.
class Service::Worker {
 public:
  Worker(const ServiceOptions& options, Metrics* metrics) : options_(options), metrics_(metrics) {}

  rankfeed::Error Do(Job* job, std::shared_ptr<const Assets> assets) {
    if (Clock::now() >= job->deadline) {
      return rankfeed::Error::From(RANKFEED_E_DEADLINE, "waited in the queue");
    }
    if (assets != assets_) {
      rerankers_.clear();  // before the vocabulary that they point into
      assets_ = std::move(assets);
    }
    job->generation = assets_->generation;
    auto reranker = For(job->policy);
    if (!reranker) return reranker.error();

    std::vector<rankfeed_source> sources(job->documents.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      const Document& document = job->documents[i];
      if (!document.id.empty() && assets_->corpus &&
          assets_->corpus->Find(document.id, &sources[i])) {
        continue;
      }
      if (document.text.empty() && !document.id.empty()) {
        return rankfeed::Error::From(RANKFEED_E_NOT_FOUND, "document " + document.id);
      }
      sources[i].text = rankfeed::Text(document.text);
    }
    rankfeed_source query{};
    query.text = rankfeed::Text(job->query);
    rankfeed_control control{};
    control.struct_size = sizeof(control);
    control.deadline_ns = static_cast<uint64_t>(
        std::chrono::nanoseconds(job->deadline.time_since_epoch()).count());  // CLOCK_MONOTONIC

    rankfeed::Reranker& r = **reranker;
    if (auto error = r.Begin(query, sources, nullptr, &control)) return error;
    rankfeed_batch batch;
    for (;;) {
      if (auto error = r.Next(&batch)) return error;
      if (batch.rows == 0) break;
      if (auto error = Score(batch, job->raw_scores, &r)) return error;
      job->tokens += batch.tokens;
      ++metrics_->batches;
      if (Clock::now() >= job->deadline) return rankfeed::Error::From(RANKFEED_E_DEADLINE);
    }
    for (size_t i = 0; i < sources.size(); ++i) {
      if (r.status()[i] != RANKFEED_OK) {
        return rankfeed::Error::From(r.status()[i], fmt::format("document {}", i));
      }
    }
    rankfeed_rank_options rank{};
    rank.struct_size = sizeof(rank);
    rank.top_n = job->top_n;
    return r.Rank(rank, &job->ranked);
  }

 private:
  rankfeed::Result<rankfeed::Reranker*> For(const RowPolicy& policy) {
    if (const auto found = rerankers_.find(policy); found != rerankers_.end()) return &found->second;
    if (rerankers_.size() >= 16) rerankers_.clear();  // clients choose policies: keep memory bounded
    rankfeed_rerank_options o = rankfeed::RerankOptions();
    o.layout = RANKFEED_PACKED;
    o.tensors = RANKFEED_TENSOR_TOKEN_TYPE_IDS;
    o.max_length = std::min(options_.max_length, assets_->model_info.max_row_tokens);
    o.max_tokens_per_batch = std::max(options_.max_tokens_per_batch, o.max_length);
    o.sort = RANKFEED_SORT_DESCENDING;
    o.max_tokens_per_doc = policy.max_tokens_per_doc;
    o.truncation_side = policy.left ? RANKFEED_LEFT : RANKFEED_RIGHT;
    if (policy.max_chunks > 1) {
      o.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
      o.overflow = RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST;
      o.max_chunks_per_doc = policy.max_chunks;
      o.max_query_tokens = o.max_length / 4;  // leaves room for the document and the overlap
      o.stride = o.max_length / 16;
    } else {
      o.truncation = policy.truncate ? RANKFEED_TRUNCATE_LONGEST_FIRST : RANKFEED_TRUNCATE_NONE;
    }
    rankfeed_rerank_limits limits{};
    limits.max_documents = 64;
    limits.max_rows = 64 * policy.max_chunks;
    limits.max_text_bytes = 16 << 10;
    limits.max_tokens = 64 * o.max_length;
    auto made = rankfeed::Reranker::Create(assets_->vocabulary.model(), limits, o);
    if (!made) return made.error();
    return &rerankers_.emplace(policy, std::move(*made)).first->second;
  }

  rankfeed::Error Score(const rankfeed_batch& batch, bool raw, rankfeed::Reranker* r) {
    auto packed = rankfeed::PackedBatchOf(batch, batch.arena);
    if (!packed) return packed.error();
    if (auto error = assets_->model.Score(*packed, &workspace_, &logits_)) return error;
    return r->PutScores(batch, logits_, raw ? RANKFEED_SCORE_RAW : RANKFEED_SCORE_SIGMOID);
  }

  const ServiceOptions& options_;
  Metrics* metrics_;
  std::shared_ptr<const Assets> assets_;
  std::map<RowPolicy, rankfeed::Reranker> rerankers_;
  rankfeed::AlignedBytes workspace_;
  std::vector<float> logits_;
};

Service::Service(AssetBox* assets, const ServiceOptions& options) : assets_(assets), options_(options) {
  for (uint32_t i = 0; i < options.workers; ++i) threads_.emplace_back([this] { Run(); });
}

Service::Admission Service::Submit(std::shared_ptr<Job> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Admission::kStopping;
    if (queue_.size() >= options_.queue) return Admission::kFull;
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return Admission::kQueued;
}

size_t Service::depth() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Service::Run() {
  Worker worker(options_, &metrics_);
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;  // stopping, and nothing left to do
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    ++metrics_.running;
    try {
      job->error = worker.Do(job.get(), assets_->Get());
    } catch (const std::bad_alloc&) {
      job->error = rankfeed::Error::From(RANKFEED_E_NO_MEMORY);
    }
    metrics_.documents += job->documents.size();
    metrics_.tokens += job->tokens;
    --metrics_.running;
    job->done.set_value();
  }
}

void Service::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::string Service::PrometheusText() const {
  std::string out;
  const auto metric = [&](const char* name, const char* type, const char* help, auto value) {
    out += fmt::format("# HELP rankfeed_{0} {2}\n# TYPE rankfeed_{0} {1}\nrankfeed_{0} {3}\n", name,
                       type, help, value);
  };
  const Metrics& m = metrics_;
  metric("requests_total", "counter", "Rerank requests received.", m.requests.load());
  out += "# HELP rankfeed_responses_total Rerank responses by outcome.\n# TYPE rankfeed_responses_total counter\n";
  for (const auto& [name, value] : {std::pair{"ok", m.ok.load()}, {"overloaded", m.rejected.load()},
                                    {"deadline", m.expired.load()}, {"invalid", m.invalid.load()},
                                    {"failed", m.failed.load()}}) {
    out += fmt::format("rankfeed_responses_total{{outcome=\"{}\"}} {}\n", name, value);
  }
  metric("documents_total", "counter", "Documents of processed requests.", m.documents.load());
  metric("tokens_total", "counter", "Tokens scored.", m.tokens.load());
  metric("batches_total", "counter", "Batches scored.", m.batches.load());
  metric("swaps_total", "counter", "Vocabulary, corpus and model sets loaded after the first.", m.swaps.load());
  metric("generation", "gauge", "Number of the current set.", assets_->Get()->generation);
  metric("queue_depth", "gauge", "Requests waiting.", depth());
  metric("running", "gauge", "Requests being processed.", m.running.load());
  out += "# HELP rankfeed_request_seconds Time from arrival to answer.\n# TYPE rankfeed_request_seconds histogram\n";
  uint64_t total = 0;
  for (size_t i = 0; i < m.latency.size(); ++i) {
    total += m.latency[i].load();
    out += fmt::format("rankfeed_request_seconds_bucket{{le=\"{}\"}} {}\n",
                       i < Metrics::kEdges.size() ? fmt::format("{}", Metrics::kEdges[i]) : "+Inf", total);
  }
  out += fmt::format("rankfeed_request_seconds_sum {}\nrankfeed_request_seconds_count {}\n",
                     static_cast<double>(m.latency_ns.load()) * 1e-9, total);
  return out;
}

}  // namespace example
