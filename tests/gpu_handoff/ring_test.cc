// SPDX-License-Identifier: MIT
// ring_test.cc: each move of a slot by itself: success, misuse, device errors, statistics.
#include "ring.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "support.h"

namespace rankfeed::handoff {
namespace {

constexpr rankfeed_handoff_slot kForeign = PackTicket(1, 77);  // no ring here has 78 slots

TEST(Ring, OneBatchGoesThroughTheCycle) {
  TestRing t;
  rankfeed_handoff_view view{};
  const auto slot = t.Take(&view);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FILLING});
  FillPattern(view.host, 1000, 1);
  t.script.HoldEvents(true);
  ASSERT_EQ(t.Submit(slot, 1000), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_IN_FLIGHT});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_BUSY);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FREE});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_TRUE(HasPattern(t.destination.data(), 1000, 1));
}

TEST(Ring, BusyWhenAllSlotsAreTaken) {
  TestRing t(64, 3);
  rankfeed_handoff_slot slots[3];
  for (auto& slot : slots) slot = t.Take();
  rankfeed_handoff_slot none = 1;
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);
  EXPECT_EQ(none, 0u);
  ASSERT_EQ(rankfeed_handoff_abandon(t.ring, slots[1]), RANKFEED_OK);
  const auto again = t.Take();
  EXPECT_EQ(TicketIndex(again), TicketIndex(slots[1]));
  EXPECT_EQ(TicketUse(again), TicketUse(slots[1]) + 1);
  EXPECT_EQ(t.Stats().acquires_busy, 1u);
  EXPECT_EQ(t.Stats().acquires, 4u);
  EXPECT_EQ(t.Stats().abandoned, 1u);
}

TEST(Ring, AcquireTakesASlotWhoseEventHasCompletedWithoutAPoll) {
  TestRing t(64, 1);
  t.script.HoldEvents(true);
  const auto first = t.Take();
  ASSERT_EQ(t.Submit(first, 64), RANKFEED_OK);
  rankfeed_handoff_slot second = 0;
  t.Sync(t.copy_stream);  // the copy itself is over, its event is late
  EXPECT_EQ(t.Acquire(&second), RANKFEED_E_BUSY);
  t.script.CompleteEvent(1);
  ASSERT_EQ(t.Acquire(&second), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, first), RANKFEED_OK);  // reused since: landed
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, second), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_stream_wait(t.ring, first, t.consumer_stream), RANKFEED_OK);
  EXPECT_EQ(t.State(first), uint32_t{RANKFEED_SLOT_FREE});
}

TEST(Ring, EventsMayCompleteOutOfOrder) {
  TestRing t(64, 3);
  t.script.HoldEvents(true);
  rankfeed_handoff_slot slots[3];
  for (auto& slot : slots) {
    slot = t.Take();
    ASSERT_EQ(t.Submit(slot, 64), RANKFEED_OK);
  }
  t.script.CompleteEvent(3);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slots[0]), RANKFEED_E_BUSY);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slots[1]), RANKFEED_E_BUSY);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slots[2]), RANKFEED_OK);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slots[0]), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slots[1]), RANKFEED_E_BUSY);
  const auto next = t.Take();
  EXPECT_NE(TicketIndex(next), TicketIndex(slots[1]));
}

TEST(Ring, NullAndForeignHandlesAreRefused) {
  TestRing t;
  rankfeed_handoff_slot slot = 0;
  rankfeed_handoff_view view{};
  uint32_t state = 0;
  EXPECT_EQ(rankfeed_handoff_acquire(t.ring, &slot, &view), RANKFEED_E_STRUCT_SIZE);
  view.struct_size = sizeof view;
  EXPECT_EQ(rankfeed_handoff_acquire(nullptr, &slot, &view), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_acquire(t.ring, nullptr, &view), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_acquire(t.ring, &slot, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_wait_acquire(nullptr, 0, &slot, &view), RANKFEED_E_ARGUMENT);
  for (rankfeed_handoff* ring : {t.ring, static_cast<rankfeed_handoff*>(nullptr)}) {
    for (const auto bad : {rankfeed_handoff_slot{0}, kForeign, PackTicket(0, 1)}) {
      EXPECT_EQ(rankfeed_handoff_submit(ring, bad, 0, nullptr, nullptr, 0), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_abandon(ring, bad), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_poll(ring, bad), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_stream_wait(ring, bad, nullptr), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_release(ring, bad, nullptr), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_release_now(ring, bad), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_reset(ring, bad), RANKFEED_E_ARGUMENT);
      EXPECT_EQ(rankfeed_handoff_state(ring, bad, &state), RANKFEED_E_ARGUMENT);
    }
  }
  EXPECT_EQ(rankfeed_handoff_state(t.ring, t.Take(), nullptr), RANKFEED_E_ARGUMENT);
  // A use that has not begun.
  const auto future = PackTicket(1000, 0);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, future), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_stream_wait(t.ring, future, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_state(t.ring, future, &state), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_submit(t.ring, future, 0, nullptr, nullptr, 0), RANKFEED_E_STATE);
  rankfeed_handoff_stats stats{};
  EXPECT_EQ(rankfeed_handoff_get_stats(t.ring, &stats), RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(rankfeed_handoff_get_stats(nullptr, &stats), RANKFEED_E_ARGUMENT);
}

TEST(Ring, WrongSizesAndDestinationsLeaveTheSlotFilling) {
  TestRing t(1000, 2);  // the stride is 1024: bytes 1001 to 1024 are not the caller's
  const auto slot = t.Take();
  EXPECT_EQ(t.Submit(slot, 1001), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(t.Submit(slot, UINT64_MAX), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(t.Submit(slot, 10, 4), RANKFEED_E_ARGUMENT);                        // unknown flag
  EXPECT_EQ(t.Submit(slot, 10, RANKFEED_HANDOFF_MAPPED), RANKFEED_E_ARGUMENT);  // has a target
  EXPECT_EQ(rankfeed_handoff_submit(t.ring, slot, 10, t.copy_stream, nullptr, 0),
            RANKFEED_E_ARGUMENT);  // no device slots
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FILLING});
  EXPECT_EQ(t.script.copies(), 0u);
  EXPECT_EQ(t.Submit(slot, 1000), RANKFEED_OK);
}

TEST(Ring, SubmittingTwiceOrAfterAbandonIsRefused) {
  TestRing t;
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 10), RANKFEED_OK);
  EXPECT_EQ(t.Submit(slot, 10), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_abandon(t.ring, slot), RANKFEED_E_STATE);
  const auto other = t.Take();
  ASSERT_EQ(rankfeed_handoff_abandon(t.ring, other), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_abandon(t.ring, other), RANKFEED_E_STATE);
  EXPECT_EQ(t.Submit(other, 10), RANKFEED_E_STATE);
  EXPECT_EQ(t.script.copies(), 1u);
}

TEST(Ring, ATicketOfAnEarlierUseCannotTouchTheNextOne) {
  TestRing t(64, 1);
  const auto old = t.Take();
  ASSERT_EQ(rankfeed_handoff_abandon(t.ring, old), RANKFEED_OK);
  const auto current = t.Take();
  EXPECT_EQ(t.Submit(old, 10), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_abandon(t.ring, old), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_release(t.ring, old, nullptr), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, old), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_reset(t.ring, old), RANKFEED_E_STATE);
  EXPECT_EQ(t.State(current), uint32_t{RANKFEED_SLOT_FILLING});
  ASSERT_EQ(t.Submit(current, 10, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, old), RANKFEED_E_STATE);
  EXPECT_EQ(t.State(current), uint32_t{RANKFEED_SLOT_LEASED});
}

TEST(Ring, EmptySubmissionsCarryTheEventAlone) {
  TestRing t;
  const auto slot = t.Take();
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 0, t.copy_stream, nullptr, 0), RANKFEED_OK);
  t.Sync(t.copy_stream);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.script.copies(), 0u);
  EXPECT_EQ(t.Stats().copies, 0u);
  EXPECT_EQ(t.Stats().submits, 1u);
  EXPECT_EQ(t.Stats().landed, 1u);
}

TEST(Ring, TheDefaultStreamWorks) {
  TestRing t;
  rankfeed_handoff_view view{};
  const auto slot = t.Take(&view);
  FillPattern(view.host, 500, 9);
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 500, nullptr, t.destination.data(), 0),
            RANKFEED_OK);
  t.Sync(nullptr);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_TRUE(HasPattern(t.destination.data(), 500, 9));
}

// ---- leases ----

TEST(Ring, ALeasedSlotComesBackOnlyAfterItsRelease) {
  TestRing t(64, 1);
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  t.Sync(t.copy_stream);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);  // landed, yet held
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_LEASED});
  rankfeed_handoff_slot none = 0;
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);
  t.script.HoldEvents(true);
  ASSERT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, slot), RANKFEED_E_STATE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_IN_FLIGHT});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);  // the consumer's work is not over
  t.script.CompleteEvent(2);
  EXPECT_EQ(t.Acquire(&none), RANKFEED_OK);
  EXPECT_EQ(t.Stats().landed, 1u);
}

TEST(Ring, AReleaseThatCompletesBeforeTheCopyDoesNotFreeTheSlot) {
  TestRing t(64, 1);
  t.script.HoldEvents(true);
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_OK);
  t.script.CompleteEvent(2);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_BUSY);
  rankfeed_handoff_slot none = 0;
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FREE});
}

// Consumers on several streams: whichever ends last frees the slot, and no stream waits for
// another.
TEST(Ring, ALeaseOnSeveralStreamsEndsWithTheLast) {
  for (uint32_t last = 0; last < RANKFEED_HANDOFF_MAX_STREAMS; ++last) {
    TestRing t(64, 1);
    t.script.HoldEvents(true);
    const auto slot = t.Take();
    ASSERT_EQ(t.Submit(slot, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
    void* const streams[RANKFEED_HANDOFF_MAX_STREAMS] = {t.consumer_stream, t.copy_stream, nullptr,
                                                         t.consumer_stream};
    ASSERT_EQ(rankfeed_handoff_release_streams(t.ring, slot, streams, RANKFEED_HANDOFF_MAX_STREAMS),
              RANKFEED_OK);
    EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_IN_FLIGHT});
    t.script.CompleteEvent(1);  // the copy
    for (uint32_t i = 0; i < RANKFEED_HANDOFF_MAX_STREAMS; ++i) {
      if (i != last) t.script.CompleteEvent(2 + i);
    }
    EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);  // it has landed
    rankfeed_handoff_slot none = 0;
    EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY) << last;
    t.script.CompleteEvent(2 + last);
    EXPECT_EQ(t.Acquire(&none), RANKFEED_OK) << last;
  }
}

// A slot that was not submitted, because the consumer's own copies read it.
TEST(Ring, AFillingSlotIsReleasedAfterItsReaders) {
  TestRing t(64, 1);
  t.script.HoldEvents(true);
  const auto slot = t.Take();
  void* const streams[] = {t.consumer_stream, t.copy_stream};
  ASSERT_EQ(rankfeed_handoff_release_streams(t.ring, slot, streams, 2), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_IN_FLIGHT});
  EXPECT_EQ(t.Submit(slot, 1), RANKFEED_E_STATE);
  rankfeed_handoff_slot none = 0;
  t.script.CompleteEvent(2);
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FREE});
  const rankfeed_handoff_stats stats = t.Stats();
  EXPECT_EQ(stats.submits + stats.landed + stats.abandoned + stats.slots_in_flight, 0u);
  EXPECT_EQ(stats.in_flight_high_water, 1u);
}

TEST(Ring, ReleasesOnNoStreamOrTooManyAreRefused) {
  TestRing t;
  const auto slot = t.Take();
  void* const streams[RANKFEED_HANDOFF_MAX_STREAMS + 1] = {};
  EXPECT_EQ(rankfeed_handoff_release_streams(nullptr, slot, streams, 1), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, slot, nullptr, 1), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, slot, streams, 0), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(
      rankfeed_handoff_release_streams(t.ring, slot, streams, RANKFEED_HANDOFF_MAX_STREAMS + 1),
      RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, 0, streams, 1), RANKFEED_E_ARGUMENT);
  // The second of two events cannot be recorded: the slot is filling still, and can be sent.
  t.script.FailRecordCall(2, 70);
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, slot, streams, 2), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FILLING});
  ASSERT_EQ(t.Submit(slot, 10), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_release_streams(t.ring, slot, streams, 1), RANKFEED_E_STATE);
}

TEST(Ring, ReleaseNowLeavesTheSlotToItsCopy) {
  TestRing t(64, 2);
  t.script.HoldEvents(true);
  const auto early = t.Take();
  ASSERT_EQ(t.Submit(early, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_release_now(t.ring, early), RANKFEED_OK);
  EXPECT_EQ(t.State(early), uint32_t{RANKFEED_SLOT_IN_FLIGHT});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, early), RANKFEED_E_BUSY);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, early), RANKFEED_OK);
  EXPECT_EQ(t.State(early), uint32_t{RANKFEED_SLOT_FREE});

  const auto late = t.Take();
  ASSERT_EQ(t.Submit(late, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  t.script.CompleteEvent(2);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, late), RANKFEED_OK);
  EXPECT_EQ(t.Stats().slots_leased, 1u);
  ASSERT_EQ(rankfeed_handoff_release_now(t.ring, late), RANKFEED_OK);
  EXPECT_EQ(t.State(late), uint32_t{RANKFEED_SLOT_FREE});
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, late), RANKFEED_E_STATE);
  EXPECT_EQ(t.Stats().landed, 2u);
}

TEST(Ring, OnlyLeasedSlotsCanBeReleased) {
  TestRing t;
  t.script.HoldEvents(true);
  const auto filling = t.Take();
  EXPECT_EQ(rankfeed_handoff_release(t.ring, filling, nullptr), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, filling), RANKFEED_E_STATE);
  ASSERT_EQ(t.Submit(filling, 10), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_release(t.ring, filling, nullptr), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, filling), RANKFEED_E_STATE);
}

TEST(Ring, DeviceSlotsAreLeasedByThemselves) {
  TestRing t(512, 2, RANKFEED_HANDOFF_DEVICE_SLOTS);
  rankfeed_handoff_view view{};
  const auto slot = t.Take(&view);
  FillPattern(view.host, 512, 3);
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 512, t.copy_stream, nullptr, 0), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_LEASED});
  t.Sync(t.copy_stream);
  EXPECT_TRUE(HasPattern(view.device, 512, 3));
  ASSERT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_OK);
  t.Sync(t.consumer_stream);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FREE});
}

TEST(Ring, MappedSubmissionsCopyNothing) {
  TestRing t(512, 2);
  const auto slot = t.Take();
  ASSERT_EQ(
      rankfeed_handoff_submit(t.ring, slot, 512, t.copy_stream, nullptr, RANKFEED_HANDOFF_MAPPED),
      RANKFEED_OK);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_LEASED});
  t.Sync(t.copy_stream);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(t.Stats().copies, 0u);
  EXPECT_EQ(t.Stats().submits, 1u);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, slot), RANKFEED_OK);
}

TEST(Ring, StreamWaitOrdersTheConsumerAfterTheCopy) {
  TestRing t(1 << 20, 2);
  for (int i = 0; i < 20; ++i) {
    rankfeed_handoff_view view{};
    const auto slot = t.Take(&view);
    EXPECT_EQ(rankfeed_handoff_stream_wait(t.ring, slot, t.consumer_stream), RANKFEED_E_STATE);
    const auto seed = static_cast<uint64_t>(i);
    FillPattern(view.host, 1 << 20, seed);
    ASSERT_EQ(t.Submit(slot, 1 << 20), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_wait(t.ring, slot, t.consumer_stream), RANKFEED_OK);
    t.Sync(t.consumer_stream);  // this stream alone
    EXPECT_TRUE(HasPattern(t.destination.data(), 1 << 20, seed));
    EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  }
}

// ---- device errors ----

TEST(Ring, ACopyThatCannotBeQueuedLeavesTheSlotFilling) {
  TestRing t;
  rankfeed_handoff_view view{};
  const auto slot = t.Take(&view);
  FillPattern(view.host, 100, 4);
  t.script.FailCopyCall(1, 719);
  EXPECT_EQ(t.Submit(slot, 100), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FILLING});
  EXPECT_TRUE(HasPattern(view.host, 100, 4));
  EXPECT_EQ(t.Stats().last_device_error, 719);
  EXPECT_EQ(t.Stats().device_errors, 1u);
  EXPECT_EQ(t.Stats().bytes, 0u);
  ASSERT_EQ(t.Submit(slot, 100), RANKFEED_OK);  // the same bytes again
  t.Sync(t.copy_stream);
  EXPECT_TRUE(HasPattern(t.destination.data(), 100, 4));
}

TEST(Ring, ACopyWithoutItsEventIsQuarantined) {
  TestRing t(64, 2);
  const auto slot = t.Take();
  t.script.FailRecordCall(1, 700);
  EXPECT_EQ(t.Submit(slot, 64), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_QUARANTINED});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_DEVICE);
  EXPECT_EQ(rankfeed_handoff_stream_wait(t.ring, slot, nullptr), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.Submit(slot, 64), RANKFEED_E_STATE);
  EXPECT_EQ(rankfeed_handoff_release(t.ring, slot, nullptr), RANKFEED_E_DEVICE);
  EXPECT_EQ(rankfeed_handoff_release_now(t.ring, slot), RANKFEED_E_DEVICE);
  // The other slot goes on working.
  for (int i = 0; i < 5; ++i) {
    const auto other = t.Take();
    EXPECT_NE(TicketIndex(other), TicketIndex(slot));
    ASSERT_EQ(t.Submit(other, 64), RANKFEED_OK);
    t.Sync(t.copy_stream);
    EXPECT_EQ(rankfeed_handoff_poll(t.ring, other), RANKFEED_OK);
  }
  EXPECT_EQ(rankfeed_handoff_reset(t.ring, slot), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_reset(t.ring, slot), RANKFEED_E_STATE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FREE});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_DEVICE);  // remembered
  t.Take();
  t.Take();
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_DEVICE);  // also after reuse
}

TEST(Ring, AnEmptySubmissionWithoutItsEventNeedsNoQuarantine) {
  TestRing t;
  const auto slot = t.Take();
  t.script.FailRecordCall(1, 700);
  EXPECT_EQ(t.Submit(slot, 0), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_FILLING});
}

TEST(Ring, AFailedEventQuarantinesTheSlot) {
  TestRing t(64, 1);
  t.script.FailEvent(1, 42);
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 64), RANKFEED_OK);
  t.Sync(t.copy_stream);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_QUARANTINED});
  EXPECT_EQ(t.Stats().last_device_error, 42);
  EXPECT_EQ(t.Stats().landed, 0u);
  EXPECT_EQ(t.Stats().slots_quarantined, 1u);
}

TEST(Ring, AFailedCopyIsNoticedByAcquireToo) {
  TestRing t(64, 2);
  t.script.FailCopy(1, 43);
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 64), RANKFEED_OK);
  t.Sync(t.copy_stream);
  t.Take();
  rankfeed_handoff_slot none = 0;
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_BUSY);  // one quarantined, one filling
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_QUARANTINED});
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_DEVICE);
}

TEST(Ring, ARingWithNothingButQuarantineSaysSoInsteadOfBusy) {
  TestRing t(64, 2);
  for (uint64_t i = 1; i <= 2; ++i) {
    t.script.FailRecordCall(i, 5);
    EXPECT_EQ(t.Submit(t.Take(), 64), RANKFEED_E_DEVICE);
  }
  rankfeed_handoff_slot none = 0;
  EXPECT_EQ(t.Acquire(&none), RANKFEED_E_DEVICE);
  rankfeed_handoff_view view{};
  view.struct_size = sizeof view;
  EXPECT_EQ(rankfeed_handoff_wait_acquire(t.ring, UINT64_MAX, &none, &view), RANKFEED_E_DEVICE);
  EXPECT_EQ(rankfeed_handoff_reset(t.ring, RANKFEED_HANDOFF_ALL_SLOTS), RANKFEED_OK);
  EXPECT_EQ(t.Stats().slots_free, 2u);
  t.Take();
}

TEST(Ring, AFailedReleaseCanBeRepeated) {
  TestRing t(64, 1);
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  t.script.FailRecordCall(2, 6);
  EXPECT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_LEASED});
  EXPECT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_OK);
  t.Sync(t.copy_stream);
  t.Sync(t.consumer_stream);
  t.Take();
}

TEST(Ring, AFailedReleaseEventQuarantines) {
  TestRing t(64, 1);
  const auto slot = t.Take();
  t.script.FailEvent(2, 7);
  ASSERT_EQ(t.Submit(slot, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_release(t.ring, slot, t.consumer_stream), RANKFEED_OK);
  t.Sync(t.copy_stream);
  t.Sync(t.consumer_stream);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_QUARANTINED});
  EXPECT_EQ(t.Stats().landed, 1u);
}

TEST(Ring, AFailedStreamWaitChangesNothing) {
  TestRing t;
  t.script.HoldEvents(true);
  const auto slot = t.Take();
  ASSERT_EQ(t.Submit(slot, 64), RANKFEED_OK);
  t.script.FailWaitCall(1, 8);
  EXPECT_EQ(rankfeed_handoff_stream_wait(t.ring, slot, t.consumer_stream), RANKFEED_E_DEVICE);
  EXPECT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_IN_FLIGHT});
  EXPECT_EQ(rankfeed_handoff_stream_wait(t.ring, slot, t.consumer_stream), RANKFEED_OK);
  t.script.CompleteEvent(1);
  EXPECT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
}

// ---- waiting and statistics ----

TEST(Ring, WaitAcquireEndsAtItsDeadline) {
  TestRing t(64, 1);
  t.Take();
  rankfeed_handoff_slot slot = 0;
  rankfeed_handoff_view view{};
  view.struct_size = sizeof view;
  EXPECT_EQ(rankfeed_handoff_wait_acquire(t.ring, 0, &slot, &view), RANKFEED_E_DEADLINE);
  EXPECT_EQ(t.Stats().waits, 0u);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(rankfeed_handoff_wait_acquire(t.ring, 5'000'000, &slot, &view), RANKFEED_E_DEADLINE);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5));
  EXPECT_EQ(slot, 0u);
  EXPECT_EQ(t.Stats().waits, 1u);
  EXPECT_GE(t.Stats().wait_ns, 5'000'000u);
}

TEST(Ring, WaitAcquireSeesALateEvent) {
  TestRing t(64, 1);
  t.script.HoldEvents(true);
  ASSERT_EQ(t.Submit(t.Take(), 64), RANKFEED_OK);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    t.script.CompleteEvent(1);
  });
  rankfeed_handoff_slot slot = 0;
  rankfeed_handoff_view view{};
  view.struct_size = sizeof view;
  EXPECT_EQ(rankfeed_handoff_wait_acquire(t.ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
  later.join();
  EXPECT_EQ(t.Stats().waits, 1u);
  // Five milliseconds in flight, noticed by the acquire.
  EXPECT_GE(t.Stats().landed_ns_max, 4'000'000u);
  EXPECT_EQ(t.Stats().landed_ns_min, t.Stats().landed_ns_max);
}

TEST(Ring, StatisticsAddUp) {
  TestRing t(1024, 3);
  EXPECT_EQ(t.Stats().landed_ns_p50, 0u);
  uint64_t bytes = 0;
  for (uint64_t i = 1; i <= 100; ++i) {
    const auto slot = t.Take();
    ASSERT_EQ(t.Submit(slot, i), RANKFEED_OK);
    bytes += i;
    t.Sync(t.copy_stream);
    ASSERT_EQ(rankfeed_handoff_poll(t.ring, slot), RANKFEED_OK);
  }
  auto stats = t.Stats();
  EXPECT_EQ(stats.bytes, bytes);
  EXPECT_EQ(stats.copies, 100u);
  EXPECT_EQ(stats.submits, 100u);
  EXPECT_EQ(stats.landed, 100u);
  EXPECT_EQ(stats.in_flight_high_water, 1u);
  EXPECT_EQ(stats.device_errors, 0u);
  EXPECT_GT(stats.landed_ns_min, 0u);
  EXPECT_LE(stats.landed_ns_min, stats.landed_ns_p50);
  EXPECT_LE(stats.landed_ns_p50, stats.landed_ns_p99);
  EXPECT_LE(stats.landed_ns_p99, stats.landed_ns_max);

  t.script.HoldEvents(true);
  const uint64_t first = t.script.records() + 1;
  rankfeed_handoff_slot slots[3];
  for (auto& slot : slots) slot = t.Take();
  ASSERT_EQ(t.Submit(slots[0], 8), RANKFEED_OK);
  ASSERT_EQ(t.Submit(slots[1], 8, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
  stats = t.Stats();
  EXPECT_EQ(stats.in_flight_high_water, 2u);
  EXPECT_EQ(stats.slots_filling, 1u);
  EXPECT_EQ(stats.slots_in_flight, 1u);
  EXPECT_EQ(stats.slots_leased, 1u);
  EXPECT_EQ(stats.slots_free, 0u);
  t.script.CompleteEvent(first);
  t.script.CompleteEvent(first + 1);
}

TEST(Ring, SeveralRingsShareABackendAndItsStreams) {
  TestRing a(256, 2, 0, 2, 0);
  const auto options = Options(a.backend.table(), 256, 2, 0, 1);
  rankfeed_handoff* b = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &b, nullptr), RANKFEED_OK);
  rankfeed_handoff_slot slot = 0;
  rankfeed_handoff_view view{};
  view.struct_size = sizeof view;
  ASSERT_EQ(rankfeed_handoff_acquire(b, &slot, &view), RANKFEED_OK);
  FillPattern(view.host, 256, 12);
  void* memory = nullptr;
  ASSERT_EQ(rankfeed_handoff_device_alloc(b, 256, &memory), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_submit(b, slot, 256, a.copy_stream, memory, 0), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_stream_wait(b, slot, a.consumer_stream), RANKFEED_OK);
  a.Sync(a.consumer_stream);
  EXPECT_TRUE(HasPattern(memory, 256, 12));
  rankfeed_handoff_device_free(b, memory);
  rankfeed_handoff_close(b);
}

}  // namespace
}  // namespace rankfeed::handoff
