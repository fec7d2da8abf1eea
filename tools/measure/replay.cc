// SPDX-License-Identifier: MIT
// measure/replay.cc: see replay.h.
#include "measure/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "rankfeed/handoff.hpp"
#include "rankfeed/rerank.h"

namespace rankfeed::measure {
namespace {

void SleepUntil(uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

// Takes submitted slots in order, waits for their copies, sleeps a forward pass, gives them back.
class Device {
 public:
  Device(Handoff& ring, double forward_ms, uint64_t epoch)
      : ring_(ring),
        forward_ns_(forward_ms > 0 ? static_cast<uint64_t>(forward_ms * 1e6) : 0),
        epoch_(epoch),
        free_since_(epoch),
        thread_([this] { Run(); }) {}
  ~Device() { Finish(); }

  void Push(LeasedSlot slot, uint64_t submitted_ns, RequestRecord* record) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({std::move(slot), submitted_ns, record});
    }
    ready_.notify_one();
  }
  void Finish() {
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    ready_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  // Time spent in forward passes up to now.
  uint64_t BusyNs() const {
    const std::lock_guard lock(busy_mutex_);
    return busy_ns_ + (busy_since_ != 0 ? MonotonicNs() - busy_since_ : 0);
  }
  const std::string& error() const { return error_; }  // after Finish

 private:
  struct Job {
    LeasedSlot slot;
    uint64_t submitted_ns;
    RequestRecord* record;
  };
  void Run() {
    for (;;) {
      std::optional<Job> taken;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return finished_ || !queue_.empty(); });
        if (queue_.empty()) return;
        taken.emplace(std::move(queue_.front()));
        queue_.pop_front();
      }
      Job& job = *taken;
      rankfeed_status status;
      while ((status = ring_.Poll(job.slot.ticket())) == RANKFEED_E_BUSY) {
        const timespec nap{0, 5000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
      }
      if (status != RANKFEED_OK) {
        error_ = fmt::format("copy: {}", rankfeed_status_message(status));
      }
      const uint64_t landed = MonotonicNs();
      job.record->copy_ns = landed - job.submitted_ns;
      job.record->device_wait_ns = landed - std::min(landed, std::max(job.submitted_ns, free_since_));
      if (forward_ns_ != 0) {
        {
          const std::lock_guard lock(busy_mutex_);
          busy_since_ = landed;
        }
        SleepUntil(landed + forward_ns_);
        const std::lock_guard lock(busy_mutex_);
        busy_ns_ += MonotonicNs() - busy_since_;
        busy_since_ = 0;
      }
      free_since_ = MonotonicNs();
      job.record->end_ns = free_since_ - epoch_;
      if (const Error error = job.slot.ReleaseNow()) error_ = error.message;
    }
  }

  Handoff& ring_;
  const uint64_t forward_ns_, epoch_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Job> queue_;
  bool finished_ = false;
  mutable std::mutex busy_mutex_;
  uint64_t busy_ns_ = 0, busy_since_ = 0;
  uint64_t free_since_;
  std::string error_;
  std::thread thread_;
};

// The objects of one thread of a service, made once.
class Worker {
 public:
  Worker(const Workload& workload, const rankfeed_model* model, std::unique_ptr<Engine> engine,
         const rankfeed_rerank_options& options, size_t most_tokens)
      : workload_(workload), engine_(std::move(engine)) {
    const size_t most = workload.MostCandidates();
    rankfeed_rerank_limits limits{};
    limits.struct_size = sizeof(limits);
    limits.max_documents = static_cast<uint32_t>(most);
    limits.max_tokens = most * options.max_length;
    rankfeed_mem_req need;
    CheckStatus(rankfeed_reranker_mem_req(model, &limits, &options, &need), "reranker");
    memory_ = AlignedBytes(need);
    CheckStatus(rankfeed_reranker_init(model, &limits, &options, nullptr, memory_.data(), need.size,
                                       &reranker_),
                "reranker");
    query_.Reserve(1, most_tokens);
    documents_.Reserve(most, most_tokens);
    texts_.reserve(most);
    sources_.resize(most);
    status_.resize(most);
  }
  Engine& engine() { return *engine_; }

  void Answer(const Request& request, const ReplayOptions& o, Handoff& ring,
              const HandoffStream& stream, Device& device, uint64_t epoch, RequestRecord* r) {
    const uint64_t cpu = ThreadCpuNs(), wall = MonotonicNs();
    StageClock clock(r);
    const counters::ThreadAllocations allocated = counters::AllocationsOfThisThread();
    r->candidates = static_cast<uint32_t>(request.candidates.size());
    const std::string_view query = workload_.texts[request.query];
    engine_->Encode({&query, 1}, &query_);
    clock.End(kQuery);
    r->query_tokens = query_.tokens();
    r->text_bytes = workload_.texts[request.query].size();
    texts_.clear();
    for (const Candidate& candidate : request.candidates) {
      if (!candidate.tokenized) texts_.push_back(workload_.texts[candidate.index]);
    }
    if (!texts_.empty()) engine_->Encode(texts_, &documents_);
    size_t text = 0;
    for (size_t i = 0; i < request.candidates.size(); ++i) {
      const Candidate& candidate = request.candidates[i];
      std::span<const int32_t> ids;
      if (candidate.tokenized) {
        ids = workload_.token_lists[candidate.index];
      } else {
        ids = documents_.Of(text++);
      }
      sources_[i] = {};
      sources_[i].ids = ids.data();
      sources_[i].id_count = static_cast<uint32_t>(ids.size());
      r->document_tokens += static_cast<uint32_t>(ids.size());
    }
    clock.End(kDocuments);
    const counters::ThreadAllocations now = counters::AllocationsOfThisThread();
    r->allocations = now.count - allocated.count;
    r->allocated_bytes = now.bytes - allocated.bytes;
    rankfeed_request q{};
    q.struct_size = sizeof(q);
    q.document_count = r->candidates;
    q.query.ids = query_.ids.data();
    q.query.id_count = query_.tokens();
    q.documents = sources_.data();
    q.document_status = status_.data();
    CheckStatus(rankfeed_rerank_begin(reranker_, &q), "request");
    if (o.in_assemble) o.in_assemble();
    clock.End(kAssemble);
    const uint64_t busy = device.BusyNs();
    FillingSlot slot = Take(ring.WaitAcquire(60000000000u));
    const uint64_t overlap = device.BusyNs() - busy;
    clock.End(kSlot);
    r->slot_idle_ns = r->wall_ns[kSlot] - std::min(r->wall_ns[kSlot], overlap);
    rankfeed_batch batch{};
    batch.struct_size = sizeof(batch);
    batch.arena = slot.bytes().data();
    batch.arena_capacity = slot.bytes().size();
    CheckStatus(rankfeed_rerank_next(reranker_, &batch), "batch");
    if (o.in_batch) o.in_batch();
    clock.End(kBatch);
    const uint64_t submitted = clock.wall_ns();
    LeasedSlot lease = Take(slot.Submit(batch.arena_size, stream.get()));
    clock.End(kSubmit);
    const uint64_t end = MonotonicNs();
    r->host_cpu_ns = ThreadCpuNs() - cpu;
    r->host_wall_ns = end - wall;
    r->host_end_ns = end - epoch;
    if (batch.rows != r->candidates) throw std::runtime_error("a candidate became no row");
    r->batch_bytes = batch.arena_size;
    r->row_tokens = static_cast<uint32_t>(batch.tokens);
    r->tokenized = static_cast<uint32_t>(texts_.size()) + 1;
    for (const std::string_view document : texts_) r->text_bytes += document.size();
    if (query_.foreign_allocations >= 0) {
      r->foreign_allocations =
          query_.foreign_allocations + std::max(0.0, documents_.foreign_allocations);
    }
    // An engine in another process: its own times stand for tokenization, not the pipe's.
    if (!engine_->info().in_process) {
      TakeForeignTimes(r);
    }
    device.Push(std::move(lease), submitted, r);
  }

 private:
  // Stages follow one another without a gap: one reading of the clocks ends a stage and begins the next, so
  // that what the clocks cost is in the stages as it is in the total.
  class StageClock {
   public:
    explicit StageClock(RequestRecord* record)
        : record_(record), cpu_(ThreadCpuNs()), wall_(MonotonicNs()) {}
    void End(Stage stage) {
      const uint64_t cpu = ThreadCpuNs(), wall = MonotonicNs();
      record_->wall_ns[stage] += wall - wall_;
      record_->cpu_ns[stage] += cpu - cpu_;
      cpu_ = cpu;
      wall_ = wall;
    }
    uint64_t wall_ns() const { return wall_; }  // when the last stage ended

   private:
    RequestRecord* record_;
    uint64_t cpu_, wall_;
  };

  void TakeForeignTimes(RequestRecord* r) {
    const auto replace = [&](Stage stage, uint64_t ns) {
      r->host_wall_ns -= std::min(r->host_wall_ns, r->wall_ns[stage]);
      r->host_cpu_ns -= std::min(r->host_cpu_ns, r->cpu_ns[stage]);
      r->wall_ns[stage] = r->cpu_ns[stage] = ns;
      r->host_wall_ns += ns;
      r->host_cpu_ns += ns;
    };
    uint64_t query = 0, documents = 0;
    for (const uint32_t ns : query_.ns) query += ns;
    if (!texts_.empty()) {
      for (const uint32_t ns : documents_.ns) documents += ns;
    }
    replace(kQuery, query);
    replace(kDocuments, documents);
    const uint64_t assemble = texts_.empty() ? 0 : documents_.assemble_ns;
    const uint64_t batch = texts_.empty() ? 0 : documents_.batch_ns;
    r->wall_ns[kAssemble] += assemble;
    r->cpu_ns[kAssemble] += assemble;
    r->wall_ns[kBatch] += batch;
    r->cpu_ns[kBatch] += batch;
    r->host_wall_ns += assemble + batch;
    r->host_cpu_ns += assemble + batch;
  }

  const Workload& workload_;
  std::unique_ptr<Engine> engine_;
  AlignedBytes memory_;
  rankfeed_reranker* reranker_ = nullptr;
  EncodedTexts query_, documents_;
  std::vector<std::string_view> texts_;
  std::vector<rankfeed_source> sources_;
  std::vector<rankfeed_status> status_;
};

}  // namespace

const char* StageName(int stage) {
  static constexpr const char* kNames[kHostStages] = {"query", "documents", "assemble",
                                                      "slot",  "batch",     "submit"};
  return kNames[stage];
}

double Percentile(std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(p * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(1.0, rank)) - 1];
}

ReplayResult Replay(const Workload& workload, const rankfeed_model* model,
                    const EngineFactory& engines, const ReplayOptions& options) {
  if (options.threads == 0) throw std::runtime_error("a replay needs a thread");
  if (workload.requests.empty()) throw std::runtime_error("the workload holds no request");
  if (options.load > 0 && workload.DurationSeconds() <= 0) {
    throw std::runtime_error("the requests have no arrival times (--rate draws some for made ones): without --load they are replayed in a closed loop");
  }
  size_t count = workload.requests.size();
  if (options.max_seconds > 0 && options.load > 0) {
    count = 0;
    while (count < workload.requests.size() &&
           workload.requests[count].arrival_s / options.load <= options.max_seconds) {
      ++count;
    }
  }
  rankfeed_rerank_options rerank;
  rankfeed_rerank_options_init(&rerank);
  rerank.max_length = options.max_length;
  rerank.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  rerank.layout = RANKFEED_PACKED;
  rerank.tensors = RANKFEED_TENSOR_POSITION_IDS;
  const size_t most = workload.MostCandidates();
  size_t slot_bytes = 0;
  CheckStatus(rankfeed_batch_arena_size(&rerank, static_cast<uint32_t>(most), options.max_length,
                                        most * options.max_length, &slot_bytes),
              "slot size");
  size_t most_bytes = 0;
  for (const Request& request : workload.requests) {
    size_t bytes = workload.texts[request.query].size();
    for (const Candidate& candidate : request.candidates) {
      if (!candidate.tokenized) bytes += workload.texts[candidate.index].size() + 8;
    }
    most_bytes = std::max(most_bytes, bytes);
  }

  ReplayResult result;
  result.options = options;
  result.requests.resize(count);
  result.counters.resize(options.threads);
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < options.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(workload, model, engines(), rerank, most_bytes + 64));
  }
  result.engine = workers[0]->engine().info();

  rankfeed_handoff_options ring_options{};
  ring_options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
  ring_options.slot_bytes = slot_bytes;
  ring_options.slots = std::max(1u, options.slots);
  ring_options.backend = options.backend;
  Handoff ring = Take(Handoff::Open(ring_options));
  const HandoffStream stream = Take(ring.MakeStream());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> busy{0};
  std::mutex error_mutex;
  const uint64_t epoch = MonotonicNs() + 2000000;  // threads are up by then
  {
    const counters::AllocationPhase phase;  // thread numbers only move while one is open
    Device device(ring, options.gpu_forward_ms, epoch);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < options.threads; ++i) {
      threads.emplace_back([&, i] {
        rankfeed_counters* counters = nullptr;
        (void)rankfeed_counters_open(&counters);
        SleepUntil(epoch);
        (void)rankfeed_counters_start(counters);
        try {
          for (size_t at; !failed && (at = next.fetch_add(1)) < count;) {
            RequestRecord& record = result.requests[at];
            uint64_t due = MonotonicNs();
            if (options.load > 0) {
              due = epoch + static_cast<uint64_t>(workload.requests[at].arrival_s / options.load * 1e9);
              if (MonotonicNs() < due) SleepUntil(due);
            }
            record.due_ns = due - epoch;
            const uint64_t start = MonotonicNs();
            record.start_ns = start - epoch;
            workers[i]->Answer(workload.requests[at], options, ring, stream, device, epoch,
                               &record);
            busy += MonotonicNs() - start;
          }
        } catch (const std::exception& e) {
          failed = true;
          const std::lock_guard lock(error_mutex);
          if (result.error.empty()) result.error = e.what();
        }
        (void)rankfeed_counters_stop(counters);
        result.counters[i].struct_size = sizeof(result.counters[i]);
        (void)rankfeed_counters_read(counters, &result.counters[i]);
        rankfeed_counters_close(counters);
      });
    }
    for (std::thread& thread : threads) thread.join();
    device.Finish();
    result.forward_s = static_cast<double>(device.BusyNs()) / 1e9;
    if (result.error.empty()) result.error = device.error();
  }
  result.wall_s = static_cast<double>(MonotonicNs() - epoch) / 1e9;
  result.busy_s = static_cast<double>(busy.load()) / 1e9;
  result.handoff = ring.stats();
  result.handoff_info = ring.info();
  if (!result.error.empty()) throw std::runtime_error(result.error);
  return result;
}

}  // namespace rankfeed::measure
