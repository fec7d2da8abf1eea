// SPDX-License-Identifier: MIT
#include "slot_state.h"

#include <gtest/gtest.h>

#include <set>

namespace rankfeed::handoff {
namespace {

TEST(SlotState, WordKeepsUseStateAndLandedBitApart) {
  for (const uint64_t use : {uint64_t{0}, uint64_t{1}, uint64_t{77}, kMaxUse}) {
    for (int s = 0; s < kSlotStates; ++s) {
      const auto state = static_cast<SlotState>(s);
      const uint64_t word = PackWord(use, state);
      EXPECT_EQ(UseOf(word), use);
      EXPECT_EQ(StateOf(word), state);
      EXPECT_FALSE(LandedOf(word));
      const uint64_t landed = word | kLandedBit;
      EXPECT_EQ(UseOf(landed), use);
      EXPECT_EQ(StateOf(landed), state);
      EXPECT_TRUE(LandedOf(landed));
      EXPECT_TRUE(LandedOf(WithState(landed, SlotState::kDraining)));
      EXPECT_EQ(StateOf(WithState(landed, SlotState::kDraining)), SlotState::kDraining);
      EXPECT_EQ(UseOf(WithState(landed, SlotState::kDraining)), use);
    }
  }
}

TEST(SlotState, TicketsNameUseAndIndex) {
  EXPECT_EQ(TicketIndex(PackTicket(5, 4095)), 4095u);
  EXPECT_EQ(TicketUse(PackTicket(5, 4095)), 5u);
  EXPECT_EQ(TicketUse(PackTicket(kMaxUse, 0)), kMaxUse);
  EXPECT_NE(PackTicket(1, 0), 0u);
}

TEST(SlotState, EveryStateIsReachableAndLeadsBackToFree) {
  for (int start = 0; start < kSlotStates; ++start) {
    std::set<int> reached{start};
    for (bool grew = true; grew;) {
      grew = false;
      for (int from = 0; from < kSlotStates; ++from) {
        if (!reached.contains(from)) continue;
        for (int to = 0; to < kSlotStates; ++to) {
          if (MayMove(static_cast<SlotState>(from), static_cast<SlotState>(to))) {
            grew |= reached.insert(to).second;
          }
        }
      }
    }
    EXPECT_EQ(reached.size(), static_cast<size_t>(kSlotStates)) << "from state " << start;
  }
}

TEST(SlotState, TheUnsafeMovesDoNotExist) {
  using S = SlotState;
  EXPECT_FALSE(MayMove(S::kInFlight, S::kFilling));  // reuse before the event
  EXPECT_FALSE(MayMove(S::kDraining, S::kFilling));
  EXPECT_FALSE(MayMove(S::kQuarantined, S::kFree));  // only through a reset
  EXPECT_FALSE(MayMove(S::kQuarantined, S::kFilling));
  EXPECT_FALSE(MayMove(S::kSubmitting, S::kFree));  // the copy may be running
  EXPECT_FALSE(MayMove(S::kReleasing, S::kFree));
  for (int s = 0; s < kSlotStates; ++s) {
    EXPECT_EQ(MayMove(static_cast<S>(s), S::kFilling),
              s == static_cast<int>(S::kFree) || s == static_cast<int>(S::kSubmitting) ||
                  s == static_cast<int>(S::kReleasing));  // the last two: nothing was queued
    EXPECT_FALSE(MayMove(static_cast<S>(s), static_cast<S>(s)));
  }
}

}  // namespace
}  // namespace rankfeed::handoff
