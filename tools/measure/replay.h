// SPDX-License-Identifier: MIT
// measure/replay.h: runs a workload through the whole CPU path of a reranker, stage by stage, over N
// threads, and times each stage by the wall and by the thread's CPU clock.
//
//   arrival -> queue -> query -> documents -> assemble -> slot -> batch -> submit | copy -> forward
//
//   query, documents  tokenization by the engine under test
//   assemble          prompts: the request is begun with those ids: template, query part, limits
//   slot              a free slot of the ring is waited for
//   batch             rows are planned, cut and written into the slot as tensors
//   submit            the copy is queued
//   copy, forward     on the device: a thread that waits for each copy to land, then sleeps for as long
//                     as a forward pass is said to take, one request after the other, as a GPU would
//
// Stages of the host follow one another without a gap, and the request as a whole is timed separately, so
// that their sum can be compared with the total. Open loop: a request is due at its arrival time over `load`
// whether or not earlier ones are done, so latency holds the time in the queue (no coordinated
// omission). Closed loop (load 0): every thread takes the next request when it is done.
#pragma once

#include <functional>
#include <vector>

#include "counters/allocation.h"
#include "rankfeed/counters.h"
#include "rankfeed/handoff.h"
#include "measure/engine.h"
#include "measure/workload.h"

namespace rankfeed::measure {

enum Stage { kQuery, kDocuments, kAssemble, kSlot, kBatch, kSubmit, kHostStages };
const char* StageName(int stage);  // "query" ...

struct ReplayOptions {
  uint32_t threads = 1;
  double load = 0;             // arrivals this much faster than recorded; 0: closed loop
  double gpu_forward_ms = -1;  // per request; negative: not known, nothing is slept
  uint32_t slots = 3;
  uint32_t max_length = 512;
  double max_seconds = 0;  // requests due later than this (of the replay's clock) are left out; 0: all
  const rankfeed_gpu_backend* backend = nullptr;  // null: host
  // Work of the caller's own inside a stage, on the worker's thread: a prompt builder, for example.
  std::function<void()> in_assemble, in_batch;
};

struct RequestRecord {
  uint64_t due_ns = 0, start_ns = 0, host_end_ns = 0, end_ns = 0;  // since the replay began
  uint64_t wall_ns[kHostStages] = {}, cpu_ns[kHostStages] = {};
  uint64_t host_wall_ns = 0, host_cpu_ns = 0;  // measured around all stages
  uint64_t device_wait_ns = 0;  // the device was idle and waited for this copy, from submit on
  uint64_t slot_idle_ns = 0;    // part of the wait for a slot in which the device was idle
  uint64_t copy_ns = 0;         // submit to landed
  uint64_t batch_bytes = 0;
  uint32_t query_tokens = 0, document_tokens = 0, row_tokens = 0, candidates = 0, tokenized = 0;
  uint64_t text_bytes = 0;
  uint64_t allocations = 0, allocated_bytes = 0;  // in query and documents
  double foreign_allocations = -1;
  uint64_t latency_ns() const { return end_ns - due_ns; }
  uint64_t queue_ns() const { return start_ns - due_ns; }
};

struct ReplayResult {
  ReplayOptions options;
  EngineInfo engine;
  std::vector<RequestRecord> requests;
  double wall_s = 0, busy_s = 0;  // busy: of all workers together
  double forward_s = 0;           // the device's, together
  std::vector<rankfeed_counters_snapshot> counters;  // one per worker
  rankfeed_handoff_stats handoff{};
  rankfeed_handoff_info handoff_info{};
  std::string error;  // of the first request that failed; the replay ends there
};

// Throws std::runtime_error for options or a workload that cannot be run.
ReplayResult Replay(const Workload& workload, const rankfeed_model* model,
                    const EngineFactory& engines, const ReplayOptions& options);

// Returns the mean over requests of what get, a member or a function, has of each; 0 of none.
template <class Get>
double Mean(const std::vector<RequestRecord>& requests, Get get) {
  double sum = 0;
  for (const RequestRecord& r : requests) sum += static_cast<double>(std::invoke(get, r));
  return requests.empty() ? 0 : sum / static_cast<double>(requests.size());
}

// Nearest rank; p in [0, 1]. Sorts. 0 for none.
double Percentile(std::vector<double>& values, double p);

}  // namespace rankfeed::measure
