// SPDX-License-Identifier: MIT
// ring_machine.h: a ring and the reference machine of reference_ring.h side by side. Each step takes
// one call, event completion or failure, and compares the answer; Check compares every slot's state
// and the totals. Tickets are drawn from all that were ever given out, so misuse is part of the mix.
#ifndef RANKFEED_TESTS_GPU_HANDOFF_RING_MACHINE_H_
#define RANKFEED_TESTS_GPU_HANDOFF_RING_MACHINE_H_

#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "reference_ring.h"
#include "slot_state.h"
#include "support.h"

namespace rankfeed::handoff {

inline constexpr uint64_t kSlotBytes = 192;

// Source: where decisions come from, Next() and Below(bound).
template <class Source>
class Machine {
 public:
  Machine(Source source, uint32_t slots, bool device_slots)
      : random_(std::move(source)),
        device_slots_(device_slots),
        ring_(kSlotBytes, slots, device_slots ? RANKFEED_HANDOFF_DEVICE_SLOTS : 0),
        reference_(slots) {
    // Copies run on two streams that never wait; releases on a third; waits pile up on the fourth
    // until the events they wait for are let go.
    EXPECT_EQ(rankfeed_handoff_stream_create(ring_.ring, &second_copy_stream_), RANKFEED_OK);
    EXPECT_EQ(rankfeed_handoff_stream_create(ring_.ring, &release_stream_), RANKFEED_OK);
    ring_.script.HoldEvents(true);
    destinations_.resize(slots, std::vector<unsigned char>(kSlotBytes));
  }
  ~Machine() {
    ring_.script.HoldEvents(false);
    ring_.script.CompleteAll();
    ring_.Sync(ring_.copy_stream);  // its copies write to destinations_, which goes first
    rankfeed_handoff_stream_destroy(ring_.ring, second_copy_stream_);
    rankfeed_handoff_stream_destroy(ring_.ring, release_stream_);
  }

  void Step() {
    switch (random_.Below(16)) {
      case 0:
      case 1:
      case 2:
        return Acquire();
      case 3:
      case 4:
      case 5:
        return Submit();
      case 6:
        return random_.Below(4) == 0 ? Abandon() : Submit();
      case 7:
      case 8:
        return Poll();
      case 9:
      case 10:
      case 11:
        return Complete();
      case 12:
        return Release();
      case 13:
        return random_.Below(2) ? ReleaseNow() : Release();
      case 14:
        return random_.Below(4) == 0 ? StreamWait() : Poll();
      default:
        return Reset();
    }
  }

  // Every slot's state, and the totals.
  void Check() {
    rankfeed_handoff_stats stats = ring_.Stats();
    uint32_t states[5] = {};
    for (uint32_t i = 0; i < reference_.slots.size(); ++i) {
      const ReferenceSlot& slot = reference_.slots[i];
      ++states[slot.PublicState()];
      if (slot.use != 0) {
        ASSERT_EQ(ring_.State(PackTicket(slot.use, i)), slot.PublicState()) << "slot " << i;
      }
    }
    reference_.high_water = std::max(reference_.high_water, reference_.CountInFlight());
    ASSERT_EQ(stats.slots_free, states[RANKFEED_SLOT_FREE]);
    ASSERT_EQ(stats.slots_filling, states[RANKFEED_SLOT_FILLING]);
    ASSERT_EQ(stats.slots_in_flight, states[RANKFEED_SLOT_IN_FLIGHT]);
    ASSERT_EQ(stats.slots_leased, states[RANKFEED_SLOT_LEASED]);
    ASSERT_EQ(stats.slots_quarantined, states[RANKFEED_SLOT_QUARANTINED]);
    ASSERT_EQ(stats.in_flight_high_water, reference_.high_water);
    ASSERT_EQ(stats.acquires, reference_.acquires);
    ASSERT_EQ(stats.acquires_busy, reference_.busy);
    ASSERT_EQ(stats.landed, reference_.landed);
    ASSERT_EQ(stats.device_errors, reference_.errors);
    ASSERT_EQ(stats.submits, reference_.submits);
    ASSERT_EQ(stats.copies, reference_.copies);
    ASSERT_EQ(stats.bytes, reference_.bytes);
    ASSERT_EQ(stats.abandoned, reference_.abandoned);
  }

  uint64_t submits() const { return reference_.submits; }
  uint64_t errors() const { return reference_.errors; }
  uint64_t busy() const { return reference_.busy; }

 private:
  struct Pending {
    uint32_t slot;
    uint64_t use;
    bool landed;   // else released,
    uint32_t nth;  // on this stream
    EventFact outcome;
    uint64_t seed, bytes;  // landed: what the destination must hold
  };

  // Mostly a current ticket, sometimes an old one, rarely one that never was.
  void PickTicket(uint32_t* index, uint64_t* use) {
    *index = static_cast<uint32_t>(random_.Below(reference_.slots.size()));
    const uint64_t current = reference_.slots[*index].use;
    *use = current == 0 ? 1 : current;
    const uint64_t dice = random_.Below(20);
    if (dice < 3 && current > 1) *use = 1 + random_.Below(current);
    if (dice == 3) *use = current + 1 + random_.Below(3);
  }

  void Acquire() {
    const auto start = static_cast<uint32_t>(acquire_calls_++ % reference_.slots.size());
    uint32_t taken = 0;
    const rankfeed_status expected = reference_.Acquire(start, &taken);
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    ASSERT_EQ(ring_.Acquire(&slot, &view), expected);
    if (expected != RANKFEED_OK) return;
    ASSERT_EQ(slot, PackTicket(reference_.slots[taken].use, taken));
    ASSERT_EQ(view.index, taken);
    views_[taken] = view;
  }

  void Submit() {
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    ReferenceSlot& slot = reference_.slots[index];
    const bool mine = slot.use == use && slot.phase == ReferenceSlot::Phase::kFilling;
    const uint64_t dice = random_.Below(40);
    const uint64_t bytes = dice == 0   ? kSlotBytes + 1 + random_.Below(1000)
                           : dice == 1 ? 0
                                       : 1 + random_.Below(kSlotBytes);
    const uint64_t mode = random_.Below(8);
    uint32_t flags = mode < 2 ? uint32_t{RANKFEED_HANDOFF_LEASE} : 0;
    const bool mapped = mode == 2, own = mode == 3;
    if (mapped) flags |= RANKFEED_HANDOFF_MAPPED;
    if (mode == 4 && dice == 2) flags |= 64;  // unknown
    void* destination = mapped || own ? nullptr : destinations_[index].data();
    const bool bad = bytes > kSlotBytes || (flags & 64) || (own && !device_slots_ && bytes != 0);
    const bool copies = !mapped && bytes != 0;

    const uint64_t copy = ring_.script.copies() + 1, record = ring_.script.records() + 1;
    enum { kNothing, kCopyCall, kRecordCall, kCopyWork, kEvent } failure = kNothing;
    if (mine && !bad) {
      switch (random_.Below(24)) {
        case 0:
          if (copies) ring_.script.FailCopyCall(copy, 10), failure = kCopyCall;
          break;
        case 1:
          ring_.script.FailRecordCall(record, 11), failure = kRecordCall;
          break;
        case 2:
          if (copies) ring_.script.FailCopy(copy, 12), failure = kCopyWork;
          break;
        case 3:
          ring_.script.FailEvent(record, 13), failure = kEvent;
          break;
        default:
          break;
      }
    }
    const uint64_t seed = random_.Next();
    if (mine) FillPattern(views_[index].host, kSlotBytes, seed);
    void* stream = random_.Below(2) ? ring_.copy_stream : second_copy_stream_;
    const rankfeed_status status = rankfeed_handoff_submit(ring_.ring, PackTicket(use, index),
                                                           bytes, stream, destination, flags);
    if (bad) {
      ASSERT_EQ(status, RANKFEED_E_ARGUMENT);
      return;
    }
    if (!mine) {
      ASSERT_EQ(status, RANKFEED_E_STATE);
      return;
    }
    if (failure == kCopyCall) {
      ASSERT_EQ(status, RANKFEED_E_DEVICE);
      ++reference_.errors;
      return;
    }
    reference_.copies += copies;
    reference_.bytes += copies ? bytes : 0;
    if (failure == kRecordCall) {
      ASSERT_EQ(status, RANKFEED_E_DEVICE);
      ++reference_.errors;
      if (copies) {
        slot.phase = ReferenceSlot::Phase::kQuarantined;
        // Its copy must be over before the slot is filled again: what reset asks of its caller.
        ring_.Sync(stream);
      }
      return;
    }
    ASSERT_EQ(status, RANKFEED_OK);
    ++reference_.submits;
    slot.phase = ReferenceSlot::Phase::kSent;
    slot.leased = flags != 0 || (own && device_slots_);
    slot.landed = EventFact::kPending;
    const bool fails = failure == kCopyWork || failure == kEvent;
    if (own && device_slots_) destination = views_[index].device;
    if (copies) copied_to_[record] = destination;
    pending_[record] = Pending{index,
                               use,
                               true,
                               0,
                               fails ? EventFact::kFailed : EventFact::kDone,
                               seed,
                               copies && !fails ? bytes : 0};
  }

  void Abandon() {
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    ReferenceSlot& slot = reference_.slots[index];
    const bool mine = slot.use == use && slot.phase == ReferenceSlot::Phase::kFilling;
    ASSERT_EQ(rankfeed_handoff_abandon(ring_.ring, PackTicket(use, index)),
              mine ? RANKFEED_OK : RANKFEED_E_STATE);
    if (!mine) return;
    slot.phase = ReferenceSlot::Phase::kFree;
    ++reference_.abandoned;
  }

  void Poll() {
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    const rankfeed_status expected = reference_.Poll(index, use);
    ASSERT_EQ(rankfeed_handoff_poll(ring_.ring, PackTicket(use, index)), expected);
  }

  // Lets one event of those outstanding complete: any of them.
  void Complete() {
    if (pending_.empty()) return;
    auto chosen = pending_.begin();
    std::advance(chosen, random_.Below(pending_.size()));
    const auto [number, event] = *chosen;
    pending_.erase(chosen);
    ring_.script.CompleteEvent(number);
    ring_.backend.Await(number);
    ReferenceSlot& slot = reference_.slots[event.slot];
    // The ring may hold neither free nor reused what an event was still out for.
    ASSERT_EQ(slot.use, event.use);
    ASSERT_TRUE(slot.phase == ReferenceSlot::Phase::kSent ||
                slot.phase == ReferenceSlot::Phase::kQuarantined ||
                slot.phase == ReferenceSlot::Phase::kFree);
    (event.landed ? slot.landed : slot.released[event.nth]) = event.outcome;
    if (event.landed && event.bytes != 0) {
      ASSERT_TRUE(HasPattern(copied_to_[number], event.bytes, event.seed));
    }
    copied_to_.erase(number);
  }

  // On one stream, or on several at once, which slots that are being filled may be too.
  void Release() {
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    const bool several = random_.Below(2) == 0;
    const uint32_t count =
        several ? 1 + static_cast<uint32_t>(random_.Below(RANKFEED_HANDOFF_MAX_STREAMS)) : 1;
    const rankfeed_status expected = reference_.MayRelease(index, use, several);
    const uint64_t record = ring_.script.records() + 1;
    const uint64_t chosen = random_.Below(count);
    uint64_t dice = 99;
    if (expected == RANKFEED_OK) {
      dice = random_.Below(16);
      if (dice == 0) ring_.script.FailRecordCall(record + chosen, 14);
      if (dice == 1) ring_.script.FailEvent(record + chosen, 15);
    }
    void* const streams[] = {release_stream_, second_copy_stream_, release_stream_,
                             ring_.copy_stream};
    const rankfeed_handoff_slot ticket = PackTicket(use, index);
    const rankfeed_status status =
        several ? rankfeed_handoff_release_streams(ring_.ring, ticket, streams, count)
                : rankfeed_handoff_release(ring_.ring, ticket, release_stream_);
    if (dice == 0) {
      ASSERT_EQ(status, RANKFEED_E_DEVICE);
      ++reference_.errors;
      return;
    }
    ASSERT_EQ(status, expected);
    if (expected != RANKFEED_OK) return;
    reference_.Release(index, count);
    for (uint32_t i = 0; i < count; ++i) {
      const bool fails = dice == 1 && i == chosen;
      pending_[record + i] =
          Pending{index, use, false, i, fails ? EventFact::kFailed : EventFact::kDone, 0, 0};
    }
  }

  void ReleaseNow() {
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    const rankfeed_status expected = reference_.MayRelease(index, use);
    ASSERT_EQ(rankfeed_handoff_release_now(ring_.ring, PackTicket(use, index)), expected);
    if (expected == RANKFEED_OK) reference_.ReleaseNow(index);
  }

  void StreamWait() {
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    ASSERT_EQ(
        rankfeed_handoff_stream_wait(ring_.ring, PackTicket(use, index), ring_.consumer_stream),
        reference_.StreamWait(index, use));
  }

  void Reset() {
    // A caller may reset only what the device has let go of: here, slots without events out.
    uint32_t index;
    uint64_t use;
    PickTicket(&index, &use);
    for (const auto& [number, event] : pending_) {
      if (event.slot == index) return;
    }
    ASSERT_EQ(rankfeed_handoff_reset(ring_.ring, PackTicket(use, index)),
              reference_.Reset(index, use));
  }

  Source random_;
  const bool device_slots_;
  TestRing ring_;
  ReferenceRing reference_;
  void *second_copy_stream_ = nullptr, *release_stream_ = nullptr;
  uint64_t acquire_calls_ = 0;
  std::map<uint32_t, rankfeed_handoff_view> views_;
  std::vector<std::vector<unsigned char>> destinations_;
  std::map<uint64_t, Pending> pending_;  // by event number
  std::map<uint64_t, void*> copied_to_;
};

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_GPU_HANDOFF_RING_MACHINE_H_
