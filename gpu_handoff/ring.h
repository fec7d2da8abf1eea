// SPDX-License-Identifier: MIT
// ring.h: the slot ring of rankfeed/handoff.h (internal).
//
// One control block holds the ring, its counters and two cache lines per slot; page-locked memory
// for all slots is one block of the backend. ring_open.cc makes and destroys both and is the only
// part that allocates; ring.cc moves slots through their states with atomics alone (a test looks
// for locks and allocation in its object file).
#ifndef RANKFEED_GPU_HANDOFF_RING_H_
#define RANKFEED_GPU_HANDOFF_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "idle_meter.h"
#include "latency_histogram.h"
#include "numa.h"
#include "ranges.h"
#include "rankfeed/handoff.h"
#include "slot_state.h"

namespace rankfeed::handoff {

struct alignas(64) Slot {
  std::atomic<uint64_t> word{PackWord(0, SlotState::kFree)};
  // Written by the submitter before it publishes kInFlight; readers check the word afterwards.
  std::atomic<uint64_t> submit_ns{0};
  std::atomic<uint64_t> last_failed_use{0};
  std::atomic<void*> data{nullptr};  // where the device reads this use's bytes
  void* landed = nullptr;            // event after the copy
  // Events after the consumer's work, one for each of its streams; how many of them this use has.
  void* released[RANKFEED_HANDOFF_MAX_STREAMS] = {};
  std::atomic<uint32_t> released_count{0};
  Range range;  // of the tool that draws them: from acquire until the slot is FILLING no more
};

struct Counters {
  std::atomic<uint64_t> acquires{0}, acquires_busy{0}, waits{0}, wait_ns{0};
  std::atomic<uint64_t> copies{0}, bytes{0}, submits{0}, mapped{0}, landed{0}, abandoned{0};
  std::atomic<uint64_t> device_errors{0};
  std::atomic<int32_t> last_device_error{0};
  std::atomic<uint32_t> in_flight{0}, in_flight_high_water{0};
};

class alignas(64) Ring {
 public:
  // ring_open.cc. Open checks everything in options but its struct_size.
  static rankfeed_status Open(const rankfeed_handoff_options& options, Ring** out,
                              rankfeed_error_detail* detail);
  static void Close(Ring* ring);

  // ring.cc; contracts in rankfeed/handoff.h.
  rankfeed_status Acquire(uint64_t* ticket);
  rankfeed_status WaitAcquire(uint64_t timeout_ns, uint64_t* ticket);
  rankfeed_status Submit(uint64_t ticket, uint64_t bytes, void* stream, void* device_dst,
                         uint32_t flags);
  rankfeed_status Abandon(uint64_t ticket);
  rankfeed_status Poll(uint64_t ticket);
  rankfeed_status StreamWait(uint64_t ticket, void* consumer_stream);
  rankfeed_status Release(uint64_t ticket, void* consumer_stream);
  rankfeed_status ReleaseStreams(uint64_t ticket, void* const* streams, uint32_t count);
  rankfeed_status ReleaseNow(uint64_t ticket);
  rankfeed_status Reset(uint64_t ticket);
  rankfeed_status State(uint64_t ticket, uint32_t* state) const;
  rankfeed_status Data(uint64_t ticket, void** data) const;
  void View(uint64_t ticket, rankfeed_handoff_view* view) const;
  void Stats(rankfeed_handoff_stats* stats);

  // ring_calibrate.cc
  rankfeed_status Calibrate(void* stream, rankfeed_handoff_consume consume, void* context,
                            uint64_t* limit);

  void* HostOf(uint32_t index) const;
  void* DeviceOf(uint32_t index) const;  // null without RANKFEED_HANDOFF_DEVICE_SLOTS
  void* MappedOf(uint32_t index) const;

  const rankfeed_gpu_backend* backend = nullptr;
  void* ctx = nullptr;
  rankfeed_gpu_host_block block{};
  void* device_block = nullptr;
  uint64_t slot_bytes = 0, stride = 0;
  std::atomic<uint64_t> mapped_limit{0};
  uint32_t slot_count = 0;
  int32_t device = 0;
  int32_t device_node = kUnknownNode, node = kUnknownNode;  // NUMA: of the device, of the slots

 private:
  Ring() = default;
  ~Ring() = default;

  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  const Slot* slots() const { return reinterpret_cast<const Slot*>(this + 1); }
  // Null when the ticket names no slot of any ring of this size.
  Slot* Find(uint64_t ticket);
  const Slot* Find(uint64_t ticket) const { return const_cast<Ring*>(this)->Find(ticket); }

  // Polls a slot's events; moves the word when they are over. On return *word is the word that
  // was acted on, or the newer one that another thread put there (then ask again).
  enum class Progress { kPending, kLanded, kFreed, kFailed, kMoved };
  Progress Advance(Slot& slot, uint64_t* word);
  void CountLanded(uint64_t submit_ns);
  void CountInFlight();
  // kLeased (or, where said, kFilling) -> kDraining after the streams.
  rankfeed_status Drain(uint64_t ticket, void* const* streams, uint32_t count, bool filling_too);
  Progress Quarantine(Slot& slot, uint64_t* word, int32_t error);
  void NoteError(int32_t error);
  rankfeed_status OverStatus(const Slot& slot, uint64_t use) const;
  // Swaps *word for the same use in another state; false, with *word renewed, when it had changed.
  static bool Move(Slot& slot, uint64_t* word, SlotState to);
  bool Reclaim(Slot& slot);
  rankfeed_status ResetSlot(Slot& slot, uint64_t word);
  static Ring* Place(void* memory, uint32_t slots);
  static void Destroy(Ring* ring);

  std::atomic<uint32_t> next_{0};  // where the next acquire starts to look
  Counters counters_;
  LatencyHistogram landed_ns_;
  IdleMeter idle_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_RING_H_
