// SPDX-License-Identifier: MIT
// serve/lane.h: one worker's way to a device: a ring of page-locked slots in which batches are
// filled, a stream that copies, one that scores, a workspace, and page-locked memory to which the
// device writes logits.
//
//   Slot -> Queue -> Slot -> Queue ... -> Slot: the oldest batch is done -> Take its logits
//
// Batches run in the order in which they were queued, up to kSlots of them while the next is
// filled.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>

#include "rankfeed/crossencoder.hpp"
#include "rankfeed/handoff.hpp"
#include "serve/assets.h"

namespace rankfeed::serve {

class Lane {
 public:
  static constexpr uint32_t kSlots = 3;
  struct Size {
    uint64_t slot_bytes = 0;
    uint32_t rows = 0, tokens = 0, longest = 0;  // of a batch; tokens of a row
  };
  // Allocates all it will ever use. assets outlive the lane.
  static Result<std::unique_ptr<Lane>> Open(const Assets& assets, const Size& size);

  // BLOCKS until a slot is free, RANKFEED_E_DEADLINE when none is in time. Then there is room for
  // one batch more, once the oldest of kSlots was taken.
  Result<FillingSlot> Slot(std::chrono::nanoseconds patience);
  // The batch that is in the slot's bytes, as the last one of the request.
  Error Queue(FillingSlot slot, const rankfeed_batch& batch);
  size_t queued() const { return last_ - first_; }
  bool full() const { return queued() == kSlots; }
  const rankfeed_batch& oldest() const { return places_[first_ % kSlots].batch; }
  // The oldest batch's logits, [rows][labels], until kSlots more were queued. It is done: full()
  // and Slot has answered since, or Finish has.
  Result<std::span<const float>> Take();
  // BLOCKS until all is done that was queued.
  Error Finish() { return work_.Synchronize(); }
  // Batches that are still queued belong to a request that was given up.
  void Forget() { first_ = last_; }

 private:
  struct Place {
    rankfeed_batch batch{};
    rankfeed_handoff_slot ticket = 0;
  };
  Lane(const Assets& assets, const Size& size, Handoff ring, Handoff scores, FillingSlot score_slot,
       DeviceMemory workspace, HandoffStream copies, HandoffStream work);
  const Crossencoder& model_;
  const uint32_t labels_;
  const bool with_types_;
  const uint32_t rows_;
  // Destroyed from the last to the first: streams before what their work touches.
  Handoff ring_, scores_;
  FillingSlot score_slot_;
  DeviceMemory workspace_;
  HandoffStream copies_, work_;
  std::array<Place, kSlots> places_;
  uint64_t first_ = 0, last_ = 0;
};

}  // namespace rankfeed::serve
