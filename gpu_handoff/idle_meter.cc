// SPDX-License-Identifier: MIT
// idle_meter.cc: see idle_meter.h.
#include "idle_meter.h"

#include <chrono>

namespace rankfeed::handoff {
namespace {

// A batch is bound by launches from (kSlack - 1) / kSlack of its busy time on: the last kernel runs
// on when the host has queued it.
constexpr uint64_t kSlack = 9;

uint64_t HostNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

// Enters a track, or finds another thread there and does not wait.
class IdleMeter::Entry {
 public:
  explicit Entry(Track* track)
      : track_(track != nullptr && !track->taken.exchange(true, std::memory_order_acquire)
                   ? track
                   : nullptr) {}
  ~Entry() {
    if (track_ != nullptr) track_->taken.store(false, std::memory_order_release);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  explicit operator bool() const { return track_ != nullptr; }

 private:
  Track* track_;
};

int32_t IdleMeter::Open(const rankfeed_gpu_backend* backend, void* ctx) {
  backend_ = backend;
  ctx_ = ctx;
  for (Track& track : tracks_) {
    for (auto* events : {&track.begin, &track.end}) {
      for (void*& event : *events) {
        const int32_t rc = backend->event_create_timed(ctx, &event);
        if (rc != RANKFEED_GPU_OK) {
          event = nullptr;
          Close();
          return rc;
        }
      }
    }
  }
  return RANKFEED_GPU_OK;
}

void IdleMeter::Close() {
  if (backend_ == nullptr) return;
  for (Track& track : tracks_) {
    for (auto* events : {&track.begin, &track.end}) {
      for (void*& event : *events) {
        if (event != nullptr) backend_->event_destroy(ctx_, event);
        event = nullptr;
      }
    }
  }
  backend_ = nullptr;
}

void IdleMeter::Skip() {
  unmeasured_.fetch_add(1, std::memory_order_relaxed);
}

IdleMeter::Track* IdleMeter::Find(void* stream, bool claim) {
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(stream) + 1;
  for (Track& track : tracks_) {
    uintptr_t owner = track.owner.load(std::memory_order_relaxed);
    if (owner == wanted) return &track;
    if (owner != 0) continue;
    if (!claim) return nullptr;
    if (track.owner.compare_exchange_strong(owner, wanted, std::memory_order_relaxed) ||
        owner == wanted) {
      return &track;
    }
  }
  return nullptr;
}

void IdleMeter::Begin(void* stream) {
  Track* track = Find(stream, true);
  const Entry entry(track);
  if (!entry) return Skip();
  Harvest(*track);
  // An open pair: a wait for a second slot before the first was released, or a lease that ended
  // without its stream. The pair goes on until the next end.
  if (track->open) return Skip();
  // The end of pair measured - 1 is still needed, for the idle time after it.
  if (track->next - track->measured >= kDepth - 1) {
    track->gap_ahead = true;
    return Skip();
  }
  const uint64_t at = track->next % kDepth;
  if (backend_->event_record(ctx_, track->begin[at], stream) != RANKFEED_GPU_OK) {
    track->gap_ahead = true;
    return Skip();
  }
  track->gap[at] = track->gap_ahead || track->next == 0;
  track->gap_ahead = false;
  track->open = true;
  track->began_ns[at] = HostNs();
}

void IdleMeter::End(void* stream) {
  Track* track = Find(stream, false);
  if (track == nullptr) return;  // never began
  const Entry entry(track);
  if (!entry) return;  // the pair stays open; Begin counts it
  if (!track->open) {
    // More work after the last end: a second slot that was waited for together with the first.
    if (track->next != 0) {
      (void)backend_->event_record(ctx_, track->end[(track->next - 1) % kDepth], stream);
    }
    return;
  }
  track->open = false;
  const uint64_t at = track->next % kDepth;
  track->queueing_ns[at] = HostNs() - track->began_ns[at];
  if (backend_->event_record(ctx_, track->end[at], stream) != RANKFEED_GPU_OK) {
    track->gap_ahead = true;  // the pair's number goes to the next begin
    track->begin_counted = false;
    return Skip();
  }
  ++track->next;
}

// Counts what has completed, in order.
void IdleMeter::Harvest(Track& track) {
  for (;;) {
    if (track.measured == track.next && !track.open) return;
    const uint64_t at = track.measured % kDepth;
    uint64_t ns = 0;
    if (!track.begin_counted) {
      const int32_t rc = backend_->event_query(ctx_, track.begin[at]);
      if (rc == RANKFEED_GPU_NOT_READY) return;
      if (rc == RANKFEED_GPU_OK && !track.gap[at]) {
        void* before = track.end[(track.measured + kDepth - 1) % kDepth];
        if (backend_->event_elapsed(ctx_, before, track.begin[at], &ns) == RANKFEED_GPU_OK) {
          idle_ns_.fetch_add(ns, std::memory_order_relaxed);
        } else {
          Skip();
        }
      }
      track.begin_counted = true;
    }
    if (track.measured == track.next) return;  // still open
    const int32_t rc = backend_->event_query(ctx_, track.end[at]);
    if (rc == RANKFEED_GPU_NOT_READY) return;
    if (rc == RANKFEED_GPU_OK &&
        backend_->event_elapsed(ctx_, track.begin[at], track.end[at], &ns) == RANKFEED_GPU_OK) {
      busy_ns_.fetch_add(ns, std::memory_order_relaxed);
      batches_.fetch_add(1, std::memory_order_relaxed);
      if (track.queueing_ns[at] >= ns - ns / kSlack)
        launch_bound_.fetch_add(1, std::memory_order_relaxed);
    } else {
      Skip();
    }
    ++track.measured;
    track.begin_counted = false;
  }
}

IdleMeter::Totals IdleMeter::Collect() {
  for (Track& track : tracks_) {
    if (!on() || track.owner.load(std::memory_order_relaxed) == 0) continue;
    const Entry entry(&track);
    if (entry) Harvest(track);
  }
  return {batches_.load(std::memory_order_relaxed), busy_ns_.load(std::memory_order_relaxed),
          idle_ns_.load(std::memory_order_relaxed), unmeasured_.load(std::memory_order_relaxed),
          launch_bound_.load(std::memory_order_relaxed)};
}

}  // namespace rankfeed::handoff
