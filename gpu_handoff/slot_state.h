// SPDX-License-Identifier: MIT
// slot_state.h: the state word of one slot and the moves it may make.
//
// One atomic 64-bit word per slot holds everything threads race for:
//
//   63                              16 15        8 7         0
//   +---------------------------------+-----------+-----------+
//   | use (counts acquires, from 1)   | landed bit| state     |
//   +---------------------------------+-----------+-----------+
//
// Every move is one compare-and-swap on the whole word, so a thread that slept through a reuse of
// the slot fails the swap instead of touching the new owner's use: the count cannot come round
// again (48 bits at one use per microsecond: 8.9 years of one slot).
//
// States marked "own" are entered by a swap and left by a plain store of the same thread; no other
// thread may move the word meanwhile.
#ifndef RANKFEED_GPU_HANDOFF_SLOT_STATE_H_
#define RANKFEED_GPU_HANDOFF_SLOT_STATE_H_

#include <cstdint>

namespace rankfeed::handoff {

enum class SlotState : uint8_t {
  kFree = 0,
  kFilling = 1,      // the acquirer writes
  kSubmitting = 2,   // own: copy and event are being queued
  kInFlight = 3,     // free once the landed event has completed
  kLeased = 4,       // as in flight, but the consumer has not released it
  kReleasing = 5,    // own: release events are being recorded
  kDraining = 6,     // free once landed and release events have completed
  kQuarantined = 7,  // a device error left open whether the device still reads the slot
  kResetting = 8,    // own: leaving quarantine
};
inline constexpr int kSlotStates = 9;

inline constexpr uint64_t kLandedBit = uint64_t{1} << 8;  // landing was seen and counted
inline constexpr int kUseShift = 16;
inline constexpr uint64_t kMaxUse = (uint64_t{1} << 48) - 1;

constexpr uint64_t PackWord(uint64_t use, SlotState state) {
  return use << kUseShift | static_cast<uint64_t>(state);
}
constexpr SlotState StateOf(uint64_t word) {
  return static_cast<SlotState>(word & 0xFF);
}
constexpr uint64_t UseOf(uint64_t word) {
  return word >> kUseShift;
}
constexpr bool LandedOf(uint64_t word) {
  return (word & kLandedBit) != 0;
}
// The same use in another state; the landed bit is kept.
constexpr uint64_t WithState(uint64_t word, SlotState state) {
  return (word & ~uint64_t{0xFF}) | static_cast<uint64_t>(state);
}

// A ticket names one use of one slot: use above, index in the low 16 bits. Use 0 does not exist,
// so 0 is never a ticket.
constexpr uint64_t PackTicket(uint64_t use, uint32_t index) {
  return use << 16 | index;
}
constexpr uint32_t TicketIndex(uint64_t ticket) {
  return static_cast<uint32_t>(ticket & 0xFFFF);
}
constexpr uint64_t TicketUse(uint64_t ticket) {
  return ticket >> 16;
}

// The moves of the machine within one use, and kFree -> kFilling, which starts the next.
constexpr bool MayMove(SlotState from, SlotState to) {
  using S = SlotState;
  switch (from) {
    case S::kFree:
      return to == S::kFilling;
    case S::kFilling:  // kReleasing: nothing was sent, the consumer's own work read the slot
      return to == S::kSubmitting || to == S::kReleasing || to == S::kFree;
    case S::kSubmitting:  // back to filling: the copy could not be queued
      return to == S::kInFlight || to == S::kLeased || to == S::kFilling || to == S::kQuarantined;
    case S::kInFlight:
      return to == S::kFree || to == S::kQuarantined;
    case S::kLeased:  // kInFlight, kFree: released without an event, before or after landing
      return to == S::kReleasing || to == S::kInFlight || to == S::kFree || to == S::kQuarantined;
    case S::kReleasing:  // back to what it was: a release event could not be recorded
      return to == S::kDraining || to == S::kLeased || to == S::kFilling;
    case S::kDraining:
      return to == S::kFree || to == S::kQuarantined;
    case S::kQuarantined:
      return to == S::kResetting;
    case S::kResetting:
      return to == S::kFree;
  }
  return false;
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_SLOT_STATE_H_
