// SPDX-License-Identifier: MIT
// ring.cc: the moves of the slots. No locks, no allocation, no exceptions.
//
// Ordering: the swap that frees a slot is a release and the swap that takes it an acquire, so the
// next filler sees the device's (for the host backend: the stream thread's) reads as over; the
// store that publishes kInFlight is a release, so whoever sees it may use the slot's event.
//
// An event is only recorded by the thread that owns kSubmitting (landed) or kReleasing (released),
// and only after the event's previous record was seen complete. Other threads may query it at any
// moment: if the slot went on to another use meanwhile, their answer is about that use, and the
// compare-and-swap (or the second look at the word) throws it away.
#include "ring.h"

#include <chrono>
#include <thread>

namespace rankfeed::handoff {
namespace {

uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

void Count(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

// wait_acquire's sleeps: 2 us is near the shortest sleep Linux gives (50 us timer slack for
// ordinary threads unless they lowered it); 64 us bounds what a freed slot waits for a sleeper.
constexpr uint64_t kFirstSleepNs = 2'000, kLongestSleepNs = 64'000;

}  // namespace

Slot* Ring::Find(uint64_t ticket) {
  const uint32_t index = TicketIndex(ticket);
  return index < slot_count && TicketUse(ticket) != 0 ? &slots()[index] : nullptr;
}

void* Ring::HostOf(uint32_t index) const {
  return static_cast<char*>(block.host) + uint64_t{index} * stride;
}
void* Ring::DeviceOf(uint32_t index) const {
  return device_block ? static_cast<char*>(device_block) + uint64_t{index} * stride : nullptr;
}
void* Ring::MappedOf(uint32_t index) const {
  return block.mapped ? static_cast<char*>(block.mapped) + uint64_t{index} * stride : nullptr;
}

void Ring::NoteError(int32_t error) {
  Count(counters_.device_errors);
  counters_.last_device_error.store(error, std::memory_order_relaxed);
}

bool Ring::Move(Slot& slot, uint64_t* word, SlotState to) {
  return slot.word.compare_exchange_strong(*word, WithState(*word, to), std::memory_order_acq_rel,
                                           std::memory_order_acquire);
}

void Ring::CountLanded(uint64_t submit_ns) {
  Count(counters_.landed);
  const uint64_t now = NowNs();
  landed_ns_.Add(now > submit_ns ? now - submit_ns : 0);
}

Ring::Progress Ring::Quarantine(Slot& slot, uint64_t* word, int32_t error) {
  if (!Move(slot, word, SlotState::kQuarantined)) return Progress::kMoved;
  counters_.in_flight.fetch_sub(1, std::memory_order_relaxed);
  NoteError(error);
  return Progress::kFailed;
}

// word is in kInFlight, kLeased or kDraining.
Ring::Progress Ring::Advance(Slot& slot, uint64_t* word) {
  const uint64_t submit_ns = slot.submit_ns.load(std::memory_order_relaxed);
  if (!LandedOf(*word)) {
    const int32_t rc = backend->event_query(ctx, slot.landed);
    if (rc == RANKFEED_GPU_NOT_READY) {
      // Another thread may have seen the end of this use and begun the next one, whose record the
      // query saw.
      const uint64_t again = slot.word.load(std::memory_order_acquire);
      if (again == *word) return Progress::kPending;
      *word = again;
      return Progress::kMoved;
    }
    if (rc != RANKFEED_GPU_OK) return Quarantine(slot, word, rc);
    const uint64_t landed = StateOf(*word) == SlotState::kInFlight
                                ? WithState(*word, SlotState::kFree)
                                : *word | kLandedBit;
    if (!slot.word.compare_exchange_strong(*word, landed, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
      return Progress::kMoved;
    }
    *word = landed;
    CountLanded(submit_ns);
    if (StateOf(landed) == SlotState::kFree) {
      counters_.in_flight.fetch_sub(1, std::memory_order_relaxed);
      return Progress::kFreed;
    }
  }
  if (StateOf(*word) != SlotState::kDraining) return Progress::kLanded;
  const uint32_t count = slot.released_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t rc = backend->event_query(ctx, slot.released[i]);
    if (rc == RANKFEED_GPU_NOT_READY) return Progress::kLanded;
    if (rc != RANKFEED_GPU_OK) return Quarantine(slot, word, rc);
  }
  if (!Move(slot, word, SlotState::kFree)) return Progress::kMoved;
  counters_.in_flight.fetch_sub(1, std::memory_order_relaxed);
  return Progress::kFreed;
}

bool Ring::Reclaim(Slot& slot) {
  uint64_t word = slot.word.load(std::memory_order_acquire);
  const SlotState state = StateOf(word);
  if (state != SlotState::kInFlight && state != SlotState::kDraining) return false;
  return Advance(slot, &word) == Progress::kFreed;
}

rankfeed_status Ring::Acquire(uint64_t* ticket) {
  *ticket = 0;
  const uint32_t start = next_.fetch_add(1, std::memory_order_relaxed) % slot_count;
  uint32_t quarantined = 0;
  // First the slots known to be free, then, for the price of an event query each, those that may
  // have become free.
  for (const bool reclaim : {false, true}) {
    quarantined = 0;
    for (uint32_t i = 0; i < slot_count; ++i) {
      const uint32_t index = start + i < slot_count ? start + i : start + i - slot_count;
      Slot& slot = slots()[index];
      if (reclaim) Reclaim(slot);
      uint64_t word = slot.word.load(std::memory_order_relaxed);
      quarantined += StateOf(word) == SlotState::kQuarantined;
      if (StateOf(word) != SlotState::kFree) continue;
      const uint64_t use = UseOf(word) + 1;
      if (slot.word.compare_exchange_strong(word, PackWord(use, SlotState::kFilling),
                                            std::memory_order_acquire, std::memory_order_relaxed)) {
        *ticket = PackTicket(use, index);
        slot.range.Start("rankfeed: fill a slot");
        Count(counters_.acquires);
        return RANKFEED_OK;
      }
    }
  }
  if (quarantined == slot_count) return RANKFEED_E_DEVICE;
  Count(counters_.acquires_busy);
  return RANKFEED_E_BUSY;
}

rankfeed_status Ring::WaitAcquire(uint64_t timeout_ns, uint64_t* ticket) {
  rankfeed_status status = Acquire(ticket);
  if (status != RANKFEED_E_BUSY) return status;
  if (timeout_ns == 0) return RANKFEED_E_DEADLINE;
  Count(counters_.waits);
  const uint64_t begin = NowNs();
  uint64_t sleep_ns = kFirstSleepNs, waited = 0;
  do {
    const uint64_t left = timeout_ns - waited;
    std::this_thread::sleep_for(std::chrono::nanoseconds(sleep_ns < left ? sleep_ns : left));
    if (sleep_ns < kLongestSleepNs) sleep_ns *= 2;
    status = Acquire(ticket);
    waited = NowNs() - begin;
  } while (status == RANKFEED_E_BUSY && waited < timeout_ns);
  Count(counters_.wait_ns, waited);
  return status == RANKFEED_E_BUSY ? RANKFEED_E_DEADLINE : status;
}

void Ring::CountInFlight() {
  // A slot is counted out after it was freed, so a slot freed and submitted again by two threads at
  // once may be counted twice for an instant: hence the cap.
  uint32_t now = counters_.in_flight.fetch_add(1, std::memory_order_relaxed) + 1;
  if (now > slot_count) now = slot_count;
  uint32_t high = counters_.in_flight_high_water.load(std::memory_order_relaxed);
  while (now > high && !counters_.in_flight_high_water.compare_exchange_weak(
                           high, now, std::memory_order_relaxed)) {
  }
}

rankfeed_status Ring::Submit(uint64_t ticket, uint64_t bytes, void* stream, void* device_dst,
                             uint32_t flags) {
  Slot* slot = Find(ticket);
  if (slot == nullptr || bytes > slot_bytes) return RANKFEED_E_ARGUMENT;
  if (flags &
      ~uint32_t{RANKFEED_HANDOFF_LEASE | RANKFEED_HANDOFF_MAPPED | RANKFEED_HANDOFF_CHOOSE}) {
    return RANKFEED_E_ARGUMENT;
  }
  const uint32_t index = TicketIndex(ticket);
  bool mapped = (flags & RANKFEED_HANDOFF_MAPPED) != 0;
  if (flags & RANKFEED_HANDOFF_CHOOSE) {
    if (mapped || device_dst != nullptr || device_block == nullptr) return RANKFEED_E_ARGUMENT;
    mapped = block.mapped != nullptr && bytes <= mapped_limit.load(std::memory_order_relaxed);
  }
  bool leased = mapped || (flags & RANKFEED_HANDOFF_LEASE) != 0;
  if (mapped) {
    if (device_dst != nullptr || block.mapped == nullptr) return RANKFEED_E_ARGUMENT;
  } else if (device_dst == nullptr) {
    device_dst = DeviceOf(index);
    if (device_dst != nullptr) {
      leased = true;
    } else if (bytes != 0) {
      return RANKFEED_E_ARGUMENT;
    }
  }

  uint64_t word = PackWord(TicketUse(ticket), SlotState::kFilling);
  if (!Move(*slot, &word, SlotState::kSubmitting)) return RANKFEED_E_STATE;
  slot->submit_ns.store(NowNs(), std::memory_order_relaxed);
  slot->data.store(mapped ? MappedOf(index) : device_dst, std::memory_order_relaxed);
  const bool copy = !mapped && bytes != 0;
  if (copy) {
    const int32_t rc = backend->copy_async(ctx, device_dst, HostOf(index), bytes, stream);
    if (rc != RANKFEED_GPU_OK) {
      NoteError(rc);
      slot->word.store(word, std::memory_order_release);  // kFilling again
      return RANKFEED_E_DEVICE;
    }
    Count(counters_.copies);
    Count(counters_.bytes, bytes);
  }
  const int32_t rc = backend->event_record(ctx, slot->landed, stream);
  if (rc != RANKFEED_GPU_OK) {
    NoteError(rc);
    if (copy) {
      slot->range.End();
      slot->word.store(WithState(word, SlotState::kQuarantined), std::memory_order_release);
    } else {  // nothing was queued that could read the slot
      slot->word.store(word, std::memory_order_release);
    }
    return RANKFEED_E_DEVICE;
  }
  Count(counters_.submits);
  if (mapped) Count(counters_.mapped);
  CountInFlight();
  slot->range.End();
  slot->word.store(WithState(word, leased ? SlotState::kLeased : SlotState::kInFlight),
                   std::memory_order_release);
  return RANKFEED_OK;
}

rankfeed_status Ring::Abandon(uint64_t ticket) {
  Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  uint64_t word = PackWord(TicketUse(ticket), SlotState::kFilling);
  Range range = slot->range;  // before another thread may take the slot
  if (!Move(*slot, &word, SlotState::kFree)) return RANKFEED_E_STATE;
  range.End();
  Count(counters_.abandoned);
  return RANKFEED_OK;
}

// The answer to a question about a use that is over.
rankfeed_status Ring::OverStatus(const Slot& slot, uint64_t use) const {
  return slot.last_failed_use.load(std::memory_order_acquire) == use ? RANKFEED_E_DEVICE
                                                                     : RANKFEED_OK;
}

rankfeed_status Ring::Poll(uint64_t ticket) {
  Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  const uint64_t use = TicketUse(ticket);
  uint64_t word = slot->word.load(std::memory_order_acquire);
  for (;;) {  // once more only after another thread has moved the slot
    if (UseOf(word) < use) return RANKFEED_E_ARGUMENT;
    if (UseOf(word) > use) return OverStatus(*slot, use);
    switch (StateOf(word)) {
      case SlotState::kFree:
        return OverStatus(*slot, use);
      case SlotState::kFilling:
      case SlotState::kSubmitting:
        return RANKFEED_E_STATE;
      case SlotState::kQuarantined:
      case SlotState::kResetting:
        return RANKFEED_E_DEVICE;
      case SlotState::kReleasing: {
        // The releaser owns the word; look without moving it.
        if (LandedOf(word)) return RANKFEED_OK;
        const int32_t rc = backend->event_query(ctx, slot->landed);
        const uint64_t again = slot->word.load(std::memory_order_acquire);
        if (again != word) {
          word = again;
          continue;
        }
        if (rc == RANKFEED_GPU_NOT_READY) return RANKFEED_E_BUSY;
        return rc == RANKFEED_GPU_OK ? RANKFEED_OK : RANKFEED_E_DEVICE;
      }
      case SlotState::kInFlight:
      case SlotState::kLeased:
      case SlotState::kDraining:
        switch (Advance(*slot, &word)) {
          case Progress::kPending:
            return RANKFEED_E_BUSY;
          case Progress::kLanded:
          case Progress::kFreed:
            return RANKFEED_OK;
          case Progress::kFailed:
            return RANKFEED_E_DEVICE;
          case Progress::kMoved:
            continue;
        }
    }
  }
}

rankfeed_status Ring::StreamWait(uint64_t ticket, void* consumer_stream) {
  Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  const uint64_t use = TicketUse(ticket);
  const uint64_t word = slot->word.load(std::memory_order_acquire);
  if (UseOf(word) < use) return RANKFEED_E_ARGUMENT;
  if (UseOf(word) > use) return OverStatus(*slot, use);
  switch (StateOf(word)) {
    case SlotState::kFree:
      return OverStatus(*slot, use);
    case SlotState::kFilling:
    case SlotState::kSubmitting:
      return RANKFEED_E_STATE;
    case SlotState::kQuarantined:
    case SlotState::kResetting:
      return RANKFEED_E_DEVICE;
    case SlotState::kInFlight:
    case SlotState::kLeased:
    case SlotState::kReleasing:
    case SlotState::kDraining:
      break;
  }
  // A lease will say where the consumer's work ends; without one there is nothing to measure.
  const bool measured = idle_.on() && StateOf(word) == SlotState::kLeased;
  if (LandedOf(word)) {
    if (measured) idle_.Begin(consumer_stream);
    return RANKFEED_OK;
  }
  // If the slot lands and is submitted again before the next line, the consumer waits for the later
  // copy too: more than needed, never less.
  const int32_t rc = backend->stream_wait_event(ctx, consumer_stream, slot->landed);
  if (rc == RANKFEED_GPU_OK) {
    if (measured) idle_.Begin(consumer_stream);
    return RANKFEED_OK;
  }
  NoteError(rc);
  return RANKFEED_E_DEVICE;
}

rankfeed_status Ring::Drain(uint64_t ticket, void* const* streams, uint32_t count,
                            bool filling_too) {
  Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  uint64_t word = slot->word.load(std::memory_order_acquire);
  uint64_t releasing = 0;
  do {
    if (UseOf(word) != TicketUse(ticket)) return RANKFEED_E_STATE;
    const SlotState from = StateOf(word);
    if (from == SlotState::kQuarantined) return RANKFEED_E_DEVICE;
    releasing = WithState(word, SlotState::kReleasing);
    if (from == SlotState::kFilling && filling_too) {
      releasing |= kLandedBit;  // nothing was sent: there is no landing to wait for
    } else if (from != SlotState::kLeased) {
      return RANKFEED_E_STATE;
    }
  } while (!slot->word.compare_exchange_strong(word, releasing, std::memory_order_acq_rel,
                                               std::memory_order_acquire));
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t rc = backend->event_record(ctx, slot->released[i], streams[i]);
    if (rc != RANKFEED_GPU_OK) {
      NoteError(rc);
      slot->word.store(word, std::memory_order_release);  // what it was
      return RANKFEED_E_DEVICE;
    }
  }
  for (uint32_t i = 0; idle_.on() && i < count; ++i) idle_.End(streams[i]);
  slot->released_count.store(count, std::memory_order_relaxed);
  if (StateOf(word) == SlotState::kFilling) {
    slot->data.store(nullptr, std::memory_order_relaxed);
    CountInFlight();
    slot->range.End();
  }
  slot->word.store(WithState(releasing, SlotState::kDraining), std::memory_order_release);
  return RANKFEED_OK;
}

rankfeed_status Ring::Release(uint64_t ticket, void* consumer_stream) {
  return Drain(ticket, &consumer_stream, 1, false);
}

rankfeed_status Ring::ReleaseStreams(uint64_t ticket, void* const* streams, uint32_t count) {
  if (streams == nullptr || count == 0 || count > RANKFEED_HANDOFF_MAX_STREAMS) {
    return RANKFEED_E_ARGUMENT;
  }
  return Drain(ticket, streams, count, true);
}

rankfeed_status Ring::ReleaseNow(uint64_t ticket) {
  Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  uint64_t word = slot->word.load(std::memory_order_acquire);
  for (;;) {
    if (UseOf(word) != TicketUse(ticket)) return RANKFEED_E_STATE;
    if (StateOf(word) == SlotState::kQuarantined) return RANKFEED_E_DEVICE;
    if (StateOf(word) != SlotState::kLeased) return RANKFEED_E_STATE;
    if (!LandedOf(word)) {  // the copy alone holds it from here
      if (Move(*slot, &word, SlotState::kInFlight)) return RANKFEED_OK;
    } else if (Move(*slot, &word, SlotState::kFree)) {
      counters_.in_flight.fetch_sub(1, std::memory_order_relaxed);
      return RANKFEED_OK;
    }
  }
}

rankfeed_status Ring::ResetSlot(Slot& slot, uint64_t word) {
  if (StateOf(word) != SlotState::kQuarantined || !Move(slot, &word, SlotState::kResetting)) {
    return RANKFEED_E_STATE;
  }
  slot.last_failed_use.store(UseOf(word), std::memory_order_release);
  slot.word.store(WithState(word, SlotState::kFree), std::memory_order_release);
  return RANKFEED_OK;
}

rankfeed_status Ring::Reset(uint64_t ticket) {
  if (ticket == RANKFEED_HANDOFF_ALL_SLOTS) {
    for (uint32_t i = 0; i < slot_count; ++i) {
      ResetSlot(slots()[i], slots()[i].word.load(std::memory_order_acquire));
    }
    return RANKFEED_OK;
  }
  Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  const uint64_t word = slot->word.load(std::memory_order_acquire);
  return UseOf(word) == TicketUse(ticket) ? ResetSlot(*slot, word) : RANKFEED_E_STATE;
}

namespace {
uint32_t PublicState(SlotState state) {
  switch (state) {
    case SlotState::kFree:
      return RANKFEED_SLOT_FREE;
    case SlotState::kFilling:
    case SlotState::kSubmitting:
      return RANKFEED_SLOT_FILLING;
    case SlotState::kInFlight:
    case SlotState::kDraining:
      return RANKFEED_SLOT_IN_FLIGHT;
    case SlotState::kLeased:
    case SlotState::kReleasing:
      return RANKFEED_SLOT_LEASED;
    case SlotState::kQuarantined:
    case SlotState::kResetting:
      break;
  }
  return RANKFEED_SLOT_QUARANTINED;
}
}  // namespace

rankfeed_status Ring::State(uint64_t ticket, uint32_t* state) const {
  const Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  const uint64_t word = slot->word.load(std::memory_order_acquire);
  if (UseOf(word) < TicketUse(ticket)) return RANKFEED_E_ARGUMENT;
  *state =
      UseOf(word) > TicketUse(ticket) ? uint32_t{RANKFEED_SLOT_FREE} : PublicState(StateOf(word));
  return RANKFEED_OK;
}

void Ring::View(uint64_t ticket, rankfeed_handoff_view* view) const {
  const uint32_t index = TicketIndex(ticket);
  view->index = index;
  view->host = HostOf(index);
  view->device = DeviceOf(index);
  view->mapped = MappedOf(index);
  view->bytes = slot_bytes;
}

// Relaxed is enough: a thread with the ticket submitted the slot, or got it from one that did.
rankfeed_status Ring::Data(uint64_t ticket, void** data) const {
  const Slot* slot = Find(ticket);
  if (slot == nullptr) return RANKFEED_E_ARGUMENT;
  const uint64_t word = slot->word.load(std::memory_order_acquire);
  if (UseOf(word) != TicketUse(ticket)) return RANKFEED_E_STATE;
  const uint32_t state = PublicState(StateOf(word));
  if (state != RANKFEED_SLOT_IN_FLIGHT && state != RANKFEED_SLOT_LEASED) return RANKFEED_E_STATE;
  *data = slot->data.load(std::memory_order_relaxed);
  return RANKFEED_OK;
}

void Ring::Stats(rankfeed_handoff_stats* stats) {
  const auto load = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  uint32_t states[5] = {};
  for (uint32_t i = 0; i < slot_count; ++i) ++states[PublicState(StateOf(load(slots()[i].word)))];
  stats->slots_free = states[RANKFEED_SLOT_FREE];
  stats->slots_filling = states[RANKFEED_SLOT_FILLING];
  stats->slots_in_flight = states[RANKFEED_SLOT_IN_FLIGHT];
  stats->slots_leased = states[RANKFEED_SLOT_LEASED];
  stats->slots_quarantined = states[RANKFEED_SLOT_QUARANTINED];
  stats->in_flight_high_water = load(counters_.in_flight_high_water);
  stats->last_device_error = load(counters_.last_device_error);
  stats->acquires = load(counters_.acquires);
  stats->acquires_busy = load(counters_.acquires_busy);
  stats->waits = load(counters_.waits);
  stats->wait_ns = load(counters_.wait_ns);
  stats->copies = load(counters_.copies);
  stats->bytes = load(counters_.bytes);
  stats->submits = load(counters_.submits);
  stats->landed = load(counters_.landed);
  stats->abandoned = load(counters_.abandoned);
  stats->device_errors = load(counters_.device_errors);
  stats->landed_ns_min = landed_ns_.Min();
  stats->landed_ns_p50 = landed_ns_.Quantile(500);
  stats->landed_ns_p99 = landed_ns_.Quantile(990);
  stats->landed_ns_max = landed_ns_.Max();
  stats->mapped = load(counters_.mapped);
  const IdleMeter::Totals idle = idle_.Collect();
  stats->consumer_batches = idle.batches;
  stats->consumer_busy_ns = idle.busy_ns;
  stats->consumer_idle_ns = idle.idle_ns;
  stats->consumer_unmeasured = idle.unmeasured;
  stats->consumer_launch_bound = idle.launch_bound;
}

}  // namespace rankfeed::handoff
