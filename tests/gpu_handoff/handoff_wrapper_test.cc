// SPDX-License-Identifier: MIT
// include/rankfeed/handoff.hpp: what becomes of a slot when its object is moved, dropped or
// refused.
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "rankfeed/handoff.hpp"
#include "support.h"

namespace rankfeed::handoff {
namespace {

static_assert(!std::is_copy_constructible_v<Handoff> &&
              !std::is_copy_constructible_v<FillingSlot> &&
              !std::is_copy_constructible_v<LeasedSlot> &&
              !std::is_copy_constructible_v<HandoffStream> &&
              !std::is_copy_constructible_v<DeviceMemory>);
static_assert(std::is_nothrow_move_constructible_v<FillingSlot> &&
              std::is_nothrow_move_assignable_v<FillingSlot> &&
              std::is_nothrow_move_constructible_v<LeasedSlot> &&
              std::is_nothrow_move_assignable_v<LeasedSlot>);

class HandoffWrapper : public testing::Test {
 protected:
  HandoffWrapper()
      : backend_(1, &script_),
        ring_(std::move(
            *Handoff::Open(Options(backend_.table(), 1024, 2, RANKFEED_HANDOFF_DEVICE_SLOTS)))),
        copies_(std::move(*ring_.MakeStream())),
        consumer_(std::move(*ring_.MakeStream())) {}
  ~HandoffWrapper() override {
    script_.HoldEvents(false);
    script_.CompleteAll();
  }
  FillingSlot Take() { return std::move(*ring_.Acquire()); }
  uint32_t State(rankfeed_handoff_slot ticket) const { return ring_.State(ticket); }

  HostScript script_;
  HostBackend backend_;
  Handoff ring_;
  HandoffStream copies_, consumer_;
};

TEST_F(HandoffWrapper, FillingSlotThatIsDroppedIsFree) {
  rankfeed_handoff_slot ticket = 0;
  {
    const FillingSlot slot = Take();
    ticket = slot.ticket();
    EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_FILLING});
    EXPECT_EQ(slot.bytes().size(), 1024u);
    EXPECT_EQ(slot.bytes().data(), slot.view().host);
  }
  EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_FREE});
  EXPECT_EQ(ring_.stats().abandoned, 1u);
}

TEST_F(HandoffWrapper, MovedSlotsAreGivenBackOnce) {
  FillingSlot a = Take();
  FillingSlot b = Take();
  const auto of_a = a.ticket(), of_b = b.ticket();
  a = std::move(b);  // they change places
  EXPECT_EQ(a.ticket(), of_b);
  { const FillingSlot gone = std::move(b); }
  EXPECT_EQ(State(of_a), uint32_t{RANKFEED_SLOT_FREE});
  EXPECT_EQ(State(of_b), uint32_t{RANKFEED_SLOT_FILLING});
  EXPECT_EQ(b.Submit(1, copies_.get()).error().status, RANKFEED_E_STATE);
  EXPECT_EQ(ring_.stats().abandoned, 1u);
}

TEST_F(HandoffWrapper, LeaseReadsWhatWasFilled) {
  FillingSlot slot = Take();
  FillPattern(slot.bytes().data(), 1024, 7);
  auto lease = slot.Submit(1024, copies_.get());
  ASSERT_TRUE(lease);
  EXPECT_EQ(slot.Submit(1, copies_.get()).error().status, RANKFEED_E_STATE);  // it is the lease's
  ASSERT_FALSE(lease->WaitOn(consumer_.get()));
  ASSERT_FALSE(consumer_.Synchronize());
  EXPECT_EQ(lease->data(), slot.view().device);
  EXPECT_TRUE(HasPattern(lease->data(), 1024, 7));
  EXPECT_EQ(State(lease->ticket()), uint32_t{RANKFEED_SLOT_LEASED});
  EXPECT_EQ(ring_.Poll(lease->ticket()), RANKFEED_OK);
  ASSERT_FALSE(lease->ReleaseNow());
  EXPECT_EQ(State(lease->ticket()), uint32_t{RANKFEED_SLOT_FREE});
  EXPECT_EQ(lease->data(), nullptr);
  EXPECT_EQ(lease->ReleaseNow().status, RANKFEED_E_STATE);
  EXPECT_EQ(lease->Release().status, RANKFEED_E_STATE);
  EXPECT_EQ(lease->WaitOn(nullptr).status, RANKFEED_E_STATE);
}

// The consumer's work is what a dropped lease waits for, on whichever stream it was ordered.
TEST_F(HandoffWrapper, LeaseThatIsDroppedDrainsAfterItsConsumer) {
  for (const bool other_stream : {false, true}) {
    rankfeed_handoff_slot ticket = 0;
    script_.HoldEvents(true);
    {
      FillingSlot slot = Take();
      auto lease = slot.Submit(8, copies_.get());
      ASSERT_TRUE(lease);
      ticket = lease->ticket();
      script_.CompleteEvent(script_.records());  // the copy has landed
      if (other_stream) {
        ASSERT_FALSE(lease->WaitOn(consumer_.get()));
      }
      EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_LEASED});
    }
    EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_IN_FLIGHT}) << other_stream;
    script_.CompleteEvent(script_.records());  // the release
    script_.HoldEvents(false);
    EXPECT_EQ(ring_.Poll(ticket), RANKFEED_OK);
    EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_FREE}) << other_stream;
  }
}

// Every stream that was named is waited for when the object is dropped; of a slot that was never
// submitted too.
TEST_F(HandoffWrapper, SlotThatIsDroppedDrainsAfterEveryStreamOfItsConsumer) {
  for (const bool submitted : {false, true}) {
    rankfeed_handoff_slot ticket = 0;
    uint64_t before = 0;
    script_.HoldEvents(true);
    {
      FillingSlot slot = Take();
      ticket = slot.ticket();
      ASSERT_FALSE(slot.RecordStream(consumer_.get()));
      ASSERT_FALSE(slot.RecordStream(consumer_.get()));
      if (submitted) {
        auto lease = slot.Submit(8, copies_.get());
        ASSERT_TRUE(lease);
        script_.CompleteEvent(script_.records());
        ASSERT_FALSE(lease->RecordStream(nullptr));
        before = script_.records();
      } else {
        ASSERT_FALSE(slot.RecordStream(nullptr));
        before = script_.records();
      }
    }
    EXPECT_EQ(script_.records(), before + 2) << submitted;
    script_.CompleteEvent(before + 1);
    (void)ring_.Poll(ticket);
    EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_IN_FLIGHT}) << submitted;
    script_.CompleteEvent(before + 2);
    script_.HoldEvents(false);
    EXPECT_EQ(ring_.Poll(ticket), RANKFEED_OK);
    EXPECT_EQ(State(ticket), uint32_t{RANKFEED_SLOT_FREE}) << submitted;
  }
}

TEST_F(HandoffWrapper, StreamsOfOneSlotAreLimited) {
  FillingSlot slot = Take();
  std::vector<HandoffStream> streams;
  for (int i = 0; i <= RANKFEED_HANDOFF_MAX_STREAMS; ++i) {
    streams.push_back(std::move(*ring_.MakeStream()));
    EXPECT_EQ(slot.RecordStream(streams.back().get()).status,
              i < RANKFEED_HANDOFF_MAX_STREAMS ? RANKFEED_OK : RANKFEED_E_LIMIT);
  }
  {
    auto lease = slot.Submit(8, copies_.get());
    ASSERT_TRUE(lease);
    const Error error = lease->RecordStream(consumer_.get());
    EXPECT_EQ(error.status, RANKFEED_E_LIMIT);
    EXPECT_EQ(error.message, "a slot would wait for 5 streams; the limit is 4");
    EXPECT_EQ(lease->WaitOn(consumer_.get()).status, RANKFEED_E_LIMIT);
    EXPECT_FALSE(lease->WaitOn(streams[0].get()));
    EXPECT_EQ(lease->DlWait(RANKFEED_DL_STREAM_NOT_SAID).status, RANKFEED_E_LIMIT);
  }
  for (auto& stream : streams) ASSERT_FALSE(stream.Synchronize());
}

TEST_F(HandoffWrapper, SubmissionThatFailsLeavesTheSlotAndItsBytes) {
  FillingSlot slot = Take();
  FillPattern(slot.bytes().data(), 64, 3);
  script_.FailCopyCall(1, 700);
  const auto refused = slot.Submit(64, copies_.get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, RANKFEED_E_DEVICE);
  EXPECT_EQ(slot.Submit(1025, copies_.get()).error().status, RANKFEED_E_ARGUMENT);
  EXPECT_EQ(slot.SubmitTo(nullptr, 64, copies_.get()).error().status, RANKFEED_E_ARGUMENT);
  EXPECT_EQ(State(slot.ticket()), uint32_t{RANKFEED_SLOT_FILLING});
  auto memory = ring_.Allocate(64);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->size(), 64u);
  const auto ticket = slot.SubmitTo(memory->get(), 64, copies_.get());
  ASSERT_TRUE(ticket);
  ASSERT_FALSE(copies_.Synchronize());
  EXPECT_TRUE(HasPattern(memory->get(), 64, 3));
}

TEST_F(HandoffWrapper, SlotWhoseEventFailsIsQuarantinedUntilReset) {
  FillingSlot slot = Take();
  script_.FailRecordCall(1, 700);
  EXPECT_EQ(slot.Submit(8, copies_.get()).error().status, RANKFEED_E_DEVICE);
  EXPECT_EQ(State(slot.ticket()), uint32_t{RANKFEED_SLOT_QUARANTINED});
  ASSERT_FALSE(copies_.Synchronize());
  ASSERT_FALSE(ring_.Reset());
  EXPECT_EQ(State(slot.ticket()), uint32_t{RANKFEED_SLOT_FREE});
}

TEST_F(HandoffWrapper, FullRingIsBusyAndThenLate) {
  const FillingSlot a = Take(), b = Take();
  EXPECT_EQ(ring_.Acquire().error().status, RANKFEED_E_BUSY);
  EXPECT_EQ(ring_.WaitAcquire(1000).error().status, RANKFEED_E_DEADLINE);
}

TEST_F(HandoffWrapper, CalibrationCallsTheConsumerAndPassesItsStatusOn) {
  uint64_t calls = 0;
  const auto limit = ring_.Calibrate(consumer_.get(), [&](void*, void* data, uint64_t bytes) {
    ++calls;
    return data != nullptr && bytes <= 1024 ? rankfeed_status{RANKFEED_OK}
                                            : rankfeed_status{RANKFEED_E_STATE};
  });
  EXPECT_TRUE(limit) << limit.error().message;
  EXPECT_GT(calls, 0u);
  const auto refused = ring_.Calibrate(
      consumer_.get(), [](void*, void*, uint64_t) { return rankfeed_status{RANKFEED_E_IO}; });
  EXPECT_EQ(refused.error().status, RANKFEED_E_IO);
}

TEST(HandoffWrapperOpen, ErrorNamesTheStepAndItsBytes) {
  HostScript script;
  const HostBackend backend(1, &script);
  const auto device = Handoff::Open(Options(backend.table(), 1024, 2, 0, 5));
  EXPECT_EQ(device.error().status, RANKFEED_E_NO_DEVICE);
  EXPECT_EQ(device.error().message.find("slot ring, device: "), 0u) << device.error().message;
  script.FailAllocation(3);  // context, control block, page-locked memory
  const auto memory = Handoff::Open(Options(backend.table(), 1024, 2));
  EXPECT_EQ(memory.error().status, RANKFEED_E_NO_MEMORY);
  EXPECT_EQ(memory.error().message.find("slot ring, page-locked memory: "), 0u)
      << memory.error().message;
  EXPECT_NE(memory.error().message.find("(2048 bytes)"), std::string::npos)
      << memory.error().message;
  EXPECT_EQ(Handoff::Open({}).error().status, RANKFEED_E_ARGUMENT);
  EXPECT_EQ(script.live(), 0);
}

}  // namespace
}  // namespace rankfeed::handoff
