// SPDX-License-Identifier: MIT
// serve/lane.cc: see lane.h.
#include "serve/lane.h"

#include <utility>

namespace rankfeed::serve {

Lane::Lane(const Assets& assets, const Size& size, Handoff ring, Handoff scores,
           FillingSlot score_slot, DeviceMemory workspace, HandoffStream copies, HandoffStream work)
    : model_(*assets.model),
      labels_(assets.model_info.labels),
      with_types_(assets.pairing.with_types),
      rows_(size.rows),
      ring_(std::move(ring)),
      scores_(std::move(scores)),
      score_slot_(std::move(score_slot)),
      workspace_(std::move(workspace)),
      copies_(std::move(copies)),
      work_(std::move(work)) {}

Result<std::unique_ptr<Lane>> Lane::Open(const Assets& assets, const Size& size) {
  rankfeed_handoff_options options{};
  options.backend = assets.paths.device.backend;
  options.slots = 1;
  options.slot_bytes = uint64_t{kSlots} * size.rows * assets.model_info.labels * sizeof(float);
  auto scores = Handoff::Open(options);
  if (!scores) return scores.error();
  auto score_slot = scores->Acquire();
  if (!score_slot) return score_slot.error();
  options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
  options.slots = kSlots;
  options.slot_bytes = size.slot_bytes;
  auto ring = Handoff::Open(options);
  if (!ring) return ring.error();
  auto need = assets.model->Workspace(size.rows, size.tokens, size.longest);
  if (!need) return need.error();
  auto workspace = ring->Allocate(need->size);
  if (!workspace) return workspace.error();
  auto copies = ring->MakeStream();
  if (!copies) return copies.error();
  auto work = ring->MakeStream();
  if (!work) return work.error();
  return std::unique_ptr<Lane>(new Lane(assets, size, std::move(*ring), std::move(*scores),
                                        std::move(*score_slot), std::move(*workspace),
                                        std::move(*copies), std::move(*work)));
}

Result<FillingSlot> Lane::Slot(std::chrono::nanoseconds patience) {
  return ring_.WaitAcquire(patience.count() > 0 ? static_cast<uint64_t>(patience.count()) : 0);
}

Error Lane::Queue(FillingSlot slot, const rankfeed_batch& batch) {
  auto lease = slot.Submit(batch.arena_size, copies_.get());
  if (!lease) return lease.error();
  if (auto error = lease->WaitOn(work_.get())) return error;
  auto packed = PackedBatchOf(batch, lease->data(), with_types_);
  if (!packed) return packed.error();
  float* const logits =
      static_cast<float*>(score_slot_.view().mapped) + last_ % kSlots * rows_ * labels_;
  if (auto error =
          model_.Enqueue(*packed, work_.get(), workspace_.get(), workspace_.size(), logits)) {
    return Error{RANKFEED_E_DEVICE, error.message};  // no fault of the request
  }
  // The slot is free again when the scores have been written, not when the copy has landed.
  if (auto error = lease->Release()) return error;
  places_[last_ % kSlots] = {batch, lease->ticket()};
  ++last_;
  return {};
}

Result<std::span<const float>> Lane::Take() {
  const Place& place = places_[first_ % kSlots];
  const rankfeed_status status = ring_.Poll(place.ticket);
  if (status != RANKFEED_OK) return Error::From(status, "forward");
  const auto* const logits = reinterpret_cast<const float*>(score_slot_.bytes().data());
  const std::span<const float> out(logits + first_ % kSlots * rows_ * labels_,
                                   size_t{place.batch.rows} * labels_);
  ++first_;
  return out;
}

}  // namespace rankfeed::serve
