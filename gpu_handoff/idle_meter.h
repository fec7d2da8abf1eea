// SPDX-License-Identifier: MIT
// idle_meter.h: how long a consumer's stream had work and how long it waited for the next batch, by
// the backend's own clock: timed events around each batch on the stream itself.
//
//   stream_wait(slot) ............ release(slot)        stream_wait(next) ........ release(next)
//            [begin      busy        end]      idle          [begin     busy     end]
//
// A begin is recorded after the wait for the copy, so it completes when the batch's work may
// start: what lies between the end of one batch and the begin of the next is time in which the
// stream had nothing to do, whatever it waited for (the host, the copy). Events are made when the
// ring is opened; recording and collecting allocate nothing and never wait. Where two threads meet
// at one stream, or a stream is further ahead than kDepth batches, a batch goes unmeasured and is
// counted as that.
//
// Where the host took as long to queue a batch's work as the stream needed for it, the device
// waited for launches: such batches are counted as bound by them.
//
// Cost: two event records per batch, and the queries and time differences of batches that have
// completed since the last call.
#ifndef RANKFEED_GPU_HANDOFF_IDLE_METER_H_
#define RANKFEED_GPU_HANDOFF_IDLE_METER_H_

#include <atomic>
#include <cstdint>

#include "backend.h"

namespace rankfeed::handoff {

class IdleMeter {
 public:
  static constexpr uint32_t kStreams = 4;  // consumer streams of one ring that are measured
  static constexpr uint32_t kDepth = 32;   // batches of one stream that may be under way

  struct Totals {
    uint64_t batches, busy_ns, idle_ns, unmeasured, launch_bound;
  };

  // Makes all events; on failure those made so far are destroyed.
  int32_t Open(const rankfeed_gpu_backend* backend, void* ctx);
  void Close();
  bool on() const { return backend_ != nullptr; }

  // The stream's next batch may start here; the batch's work ends here. Any thread.
  void Begin(void* stream);
  void End(void* stream);
  Totals Collect();

 private:
  struct Track {
    std::atomic<uintptr_t> owner{0};  // stream + 1, so that the default stream has a number too
    std::atomic<bool> taken{false};   // a thread is in here; others do not wait for it
    // Guarded by taken. Pairs are numbered from 0; those below measured have been counted.
    uint64_t next = 0, measured = 0;
    bool open = false;           // pair `next` has a begin and no end yet
    bool begin_counted = false;  // of pair `measured`
    bool gap[kDepth] = {};       // what came before this pair was not measured
    bool gap_ahead = false;
    void *begin[kDepth] = {}, *end[kDepth] = {};
    // Times by the host's clock: when a pair began and how long its work took to queue.
    uint64_t began_ns[kDepth] = {}, queueing_ns[kDepth] = {};
  };
  class Entry;  // try-lock of a track

  Track* Find(void* stream, bool claim);
  void Harvest(Track& track);
  void Skip();

  const rankfeed_gpu_backend* backend_ = nullptr;
  void* ctx_ = nullptr;
  Track tracks_[kStreams];
  std::atomic<uint64_t> batches_{0}, busy_ns_{0}, idle_ns_{0}, unmeasured_{0}, launch_bound_{0};
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_IDLE_METER_H_
