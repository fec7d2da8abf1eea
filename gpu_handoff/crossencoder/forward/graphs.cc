// SPDX-License-Identifier: MIT
// crossencoder/forward/graphs.cc: see graphs.h.
#include "crossencoder/forward/graphs.h"

#include <algorithm>
#include <bit>

namespace rankfeed::handoff {
namespace {

constexpr uint32_t kRowStep = 8;  // rows above it; below, powers of two

uint32_t RoundUp(uint32_t value, uint32_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

Bucket BucketOf(uint32_t rows, uint32_t tokens) {
  return {rows <= kRowStep ? std::bit_ceil(rows) : RoundUp(rows, kRowStep),
          RoundUp(tokens, RANKFEED_GPU_GEMM_ROWS)};
}

// The arguments of one RunLayers.
struct GraphCache::Call {
  const rankfeed_gpu_ops& ops;
  const DeviceModel& model;
  const rankfeed_packed_batch& batch;
  const Bucket& bucket;
  const WorkspacePlan& plan;
  void* workspace;
  void* stream;
};

int32_t GraphCache::Open(const rankfeed_gpu_backend* backend, void* ctx, uint32_t most_tokens) {
  if (most_tokens == 0 || backend->capture_begin == nullptr) return RANKFEED_GPU_OK;
  backend_ = backend;
  ctx_ = ctx;
  most_tokens_ = most_tokens;
  return backend->stream_create(ctx, &stream_);
}

void GraphCache::Close() {
  for (Entry& entry : entries_) {
    if (entry.graph != nullptr) backend_->graph_destroy(ctx_, entry.graph);
    if (entry.done != nullptr) backend_->event_destroy(ctx_, entry.done);
    entry.graph = entry.done = nullptr;
    entry.state.store(kEmpty, std::memory_order_relaxed);
  }
  if (stream_ != nullptr) backend_->stream_destroy(ctx_, stream_);
  stream_ = nullptr;
}

GraphCache::Counts GraphCache::counts() const {
  return {graphs_.load(std::memory_order_relaxed), launches_.load(std::memory_order_relaxed),
          failures_.load(std::memory_order_relaxed)};
}

bool GraphCache::Failed() {
  failures_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool GraphCache::RunLayers(const rankfeed_gpu_ops& ops, const DeviceModel& model,
                           const rankfeed_packed_batch& batch, const WorkspacePlan& plan,
                           void* workspace, void* stream) noexcept {
  const Bucket bucket = BucketOf(batch.rows, batch.tokens);
  const Call call{ops, model, batch, bucket, plan, workspace, stream};
  const Key key{bucket, workspace};
  uint64_t tag = reinterpret_cast<uintptr_t>(workspace);
  for (const uint32_t part : {bucket.rows, bucket.tokens})
    tag = (tag ^ part) * 0x9e3779b97f4a7c15u;  // wraps: a hash
  State was = kEmpty;
  Entry* const entry = Find(key, tag, &was);
  if (entry == nullptr) {
    if (was == kEmpty) Claim(key, tag);
    return false;
  }
  entry->used.store(calls_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  State next = was;
  bool ran = false;
  if (was == kSeen && !recording_.exchange(true, std::memory_order_acquire)) {
    next = Record(call, entry) ? kReady : kRefused;
    recording_.store(false, std::memory_order_release);
  }
  if (next == kReady) {
    ran = Launch(call, entry);
    if (!ran) next = kRefused;
  }
  entry->state.store(next, std::memory_order_release);
  return ran;
}

// The key's entry, taken; *was: its state before. Null: there is none (*was: kEmpty), or another
// thread has it (kTaken).
GraphCache::Entry* GraphCache::Find(const Key& key, uint64_t tag, State* was) {
  *was = kEmpty;
  for (Entry& entry : entries_) {
    if (entry.tag.load(std::memory_order_relaxed) != tag) continue;
    uint32_t state = entry.state.load(std::memory_order_relaxed);
    if (state == kEmpty) continue;
    if (state == kTaken ||
        !entry.state.compare_exchange_strong(state, kTaken, std::memory_order_acquire)) {
      *was = kTaken;
      return nullptr;
    }
    if (entry.key == key) {
      *was = static_cast<State>(state);
      return &entry;
    }
    entry.state.store(state, std::memory_order_release);
  }
  return nullptr;
}

// Gives the key the entry that was not used for longest, if its graph has run. Two threads that
// meet the same bucket at the same time may each give it one; the second is never found and is the
// next to go.
void GraphCache::Claim(const Key& key, uint64_t tag) {
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    if (oldest == nullptr ||
        entry.used.load(std::memory_order_relaxed) < oldest->used.load(std::memory_order_relaxed))
      oldest = &entry;
  }
  uint32_t state = oldest->state.load(std::memory_order_relaxed);
  if (state == kTaken ||
      !oldest->state.compare_exchange_strong(state, kTaken, std::memory_order_acquire)) {
    return;
  }
  oldest->used.store(calls_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (oldest->graph != nullptr) {
    if (oldest->lost || backend_->event_query(ctx_, oldest->done) != RANKFEED_GPU_OK) {
      oldest->state.store(state, std::memory_order_release);
      return;
    }
    backend_->graph_destroy(ctx_, oldest->graph);
    oldest->graph = nullptr;
    graphs_.fetch_sub(1, std::memory_order_relaxed);
  }
  oldest->key = key;
  oldest->tag.store(tag, std::memory_order_relaxed);
  oldest->state.store(kSeen, std::memory_order_release);
}

bool GraphCache::Record(const Call& call, Entry* entry) {
  if (entry->done == nullptr && backend_->event_create(ctx_, &entry->done) != RANKFEED_GPU_OK)
    return Failed();
  rankfeed_packed_batch widest = call.batch;
  widest.rows = call.bucket.rows;
  widest.tokens = call.bucket.tokens;
  widest.input_ids = widest.cu_seqlens = widest.token_type_ids = nullptr;  // not of this part
  if (backend_->capture_begin(ctx_, stream_) != RANKFEED_GPU_OK) return Failed();
  const int32_t rc = Forward(call.ops, ctx_, stream_, call.model, widest, call.plan, call.workspace,
                             nullptr, kForwardLayers);
  void* graph = nullptr;
  const int32_t ended = backend_->capture_end(ctx_, stream_, rc == 0 ? &graph : nullptr);
  if (rc != RANKFEED_GPU_OK || ended != RANKFEED_GPU_OK || graph == nullptr) return Failed();
  entry->graph = graph;
  graphs_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool GraphCache::Launch(const Call& call, Entry* entry) {
  if (backend_->graph_launch(ctx_, entry->graph, call.stream) != RANKFEED_GPU_OK) return Failed();
  launches_.fetch_add(1, std::memory_order_relaxed);
  if (backend_->event_record(ctx_, entry->done, call.stream) != RANKFEED_GPU_OK) entry->lost = true;
  return true;
}

}  // namespace rankfeed::handoff
