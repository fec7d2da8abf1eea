// SPDX-License-Identifier: MIT
// reference_ring.h: the slot cycle of rankfeed/handoff.h as a plain, sequential state machine over
// facts, for ring_model_test.cc. It shares no code with gpu_handoff.
//
// An event is pending until the test completes it, with success or an error. The ring learns of it
// only when a call looks; `noticed` below is what it has shown so far. Answers are functions of
// both, so that every status of the ring is predicted exactly.
#ifndef RANKFEED_TESTS_GPU_HANDOFF_REFERENCE_RING_H_
#define RANKFEED_TESTS_GPU_HANDOFF_REFERENCE_RING_H_

#include <cstdint>
#include <vector>

#include "rankfeed/handoff.h"

namespace rankfeed::handoff {

enum class EventFact { kNone, kPending, kDone, kFailed };

struct ReferenceSlot {
  enum class Phase { kFree, kFilling, kSent, kQuarantined };
  Phase phase = Phase::kFree;
  uint64_t use = 0, last_failed_use = 0;
  bool leased = false;  // not released yet
  EventFact landed = EventFact::kNone;
  std::vector<EventFact> released;  // one for each stream; none: not released, or without an event
  bool landing_counted = false;

  // Applies what a look at the events reveals. Returns what a poll would say.
  rankfeed_status Look(uint64_t* landed_count, uint64_t* errors) {
    if (!landing_counted) {
      if (landed == EventFact::kPending) return RANKFEED_E_BUSY;
      if (landed == EventFact::kFailed) return Quarantine(errors);
      landing_counted = true;
      ++*landed_count;
    }
    if (leased) return RANKFEED_OK;
    for (const EventFact event : released) {
      if (event == EventFact::kPending) return RANKFEED_OK;
      if (event == EventFact::kFailed) return Quarantine(errors);
    }
    phase = Phase::kFree;
    return RANKFEED_OK;
  }
  rankfeed_status Quarantine(uint64_t* errors) {
    phase = Phase::kQuarantined;
    ++*errors;
    return RANKFEED_E_DEVICE;
  }
  rankfeed_status Over(uint64_t asked_use) const {
    return asked_use == last_failed_use ? RANKFEED_E_DEVICE : RANKFEED_OK;
  }
  uint32_t PublicState() const {
    switch (phase) {
      case Phase::kFree:
        return RANKFEED_SLOT_FREE;
      case Phase::kFilling:
        return RANKFEED_SLOT_FILLING;
      case Phase::kSent:
        return leased ? RANKFEED_SLOT_LEASED : RANKFEED_SLOT_IN_FLIGHT;
      case Phase::kQuarantined:
        break;
    }
    return RANKFEED_SLOT_QUARANTINED;
  }
  bool InFlight() const { return phase == Phase::kSent; }
};

struct ReferenceRing {
  explicit ReferenceRing(uint32_t count) : slots(count) {}

  // What acquire must answer. An acquire that finds no free slot looks at those in flight, one
  // after the other from its starting point, and takes the first that proves to be over; `taken` is
  // the slot the ring took (when it took one).
  rankfeed_status Acquire(uint32_t start, uint32_t* taken) {
    const auto count = static_cast<uint32_t>(slots.size());
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t index = (start + i) % count;
      if (slots[index].phase == ReferenceSlot::Phase::kFree) return Take(index, taken);
    }
    uint32_t quarantined = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t index = (start + i) % count;
      ReferenceSlot& slot = slots[index];
      if (slot.InFlight() && !slot.leased) slot.Look(&landed, &errors);
      if (slot.phase == ReferenceSlot::Phase::kFree) return Take(index, taken);
      quarantined += slot.phase == ReferenceSlot::Phase::kQuarantined;
    }
    if (quarantined == count) return RANKFEED_E_DEVICE;
    ++busy;
    return RANKFEED_E_BUSY;
  }
  rankfeed_status Take(uint32_t index, uint32_t* taken) {
    const uint64_t use = slots[index].use + 1, failed = slots[index].last_failed_use;
    slots[index] = ReferenceSlot{};
    slots[index].use = use;
    slots[index].last_failed_use = failed;
    slots[index].phase = ReferenceSlot::Phase::kFilling;
    *taken = index;
    ++acquires;
    return RANKFEED_OK;
  }

  rankfeed_status Poll(uint32_t index, uint64_t use) {
    ReferenceSlot& slot = slots[index];
    if (use > slot.use) return RANKFEED_E_ARGUMENT;
    if (use < slot.use || slot.phase == ReferenceSlot::Phase::kFree) return slot.Over(use);
    if (slot.phase == ReferenceSlot::Phase::kFilling) return RANKFEED_E_STATE;
    if (slot.phase == ReferenceSlot::Phase::kQuarantined) return RANKFEED_E_DEVICE;
    return slot.Look(&landed, &errors);
  }

  rankfeed_status StreamWait(uint32_t index, uint64_t use) const {
    const ReferenceSlot& slot = slots[index];
    if (use > slot.use) return RANKFEED_E_ARGUMENT;
    if (use < slot.use || slot.phase == ReferenceSlot::Phase::kFree) return slot.Over(use);
    if (slot.phase == ReferenceSlot::Phase::kFilling) return RANKFEED_E_STATE;
    if (slot.phase == ReferenceSlot::Phase::kQuarantined) return RANKFEED_E_DEVICE;
    return RANKFEED_OK;
  }

  // Whether release is allowed; the caller then says what became of the call to the device.
  rankfeed_status MayRelease(uint32_t index, uint64_t use, bool filling_too = false) const {
    const ReferenceSlot& slot = slots[index];
    if (use != slot.use) return RANKFEED_E_STATE;
    if (slot.phase == ReferenceSlot::Phase::kQuarantined) return RANKFEED_E_DEVICE;
    const bool filling = filling_too && slot.phase == ReferenceSlot::Phase::kFilling;
    return filling || (slot.InFlight() && slot.leased) ? RANKFEED_OK : RANKFEED_E_STATE;
  }
  void Release(uint32_t index, size_t streams) {
    ReferenceSlot& slot = slots[index];
    if (slot.phase == ReferenceSlot::Phase::kFilling) {  // nothing was sent that could land
      slot.phase = ReferenceSlot::Phase::kSent;
      slot.landing_counted = true;
    }
    slot.leased = false;
    slot.released.assign(streams, EventFact::kPending);
  }
  void ReleaseNow(uint32_t index) {
    ReferenceSlot& slot = slots[index];
    slot.leased = false;
    if (slot.landing_counted) slot.phase = ReferenceSlot::Phase::kFree;
  }

  rankfeed_status Reset(uint32_t index, uint64_t use) {
    ReferenceSlot& slot = slots[index];
    if (use != slot.use || slot.phase != ReferenceSlot::Phase::kQuarantined) {
      return RANKFEED_E_STATE;
    }
    slot.last_failed_use = slot.use;
    slot.phase = ReferenceSlot::Phase::kFree;
    return RANKFEED_OK;
  }

  uint32_t CountInFlight() const {
    uint32_t count = 0;
    for (const auto& slot : slots) count += slot.InFlight();
    return count;
  }

  std::vector<ReferenceSlot> slots;
  uint64_t acquires = 0, busy = 0, landed = 0, errors = 0, submits = 0, copies = 0, bytes = 0;
  uint64_t abandoned = 0;
  uint32_t high_water = 0;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_GPU_HANDOFF_REFERENCE_RING_H_
