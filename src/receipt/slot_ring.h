// SPDX-License-Identifier: MIT
// receipt/slot_ring.h: a ring of slots and one stream to copy on, for as long as the object lives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rankfeed/handoff.h"
#include "receipt/engine.h"

namespace rankfeed::receipt {

class SlotRing {
 public:
  // backend null: the host's. Throws std::runtime_error.
  SlotRing(size_t slot_bytes, uint32_t slots, const rankfeed_gpu_backend* backend = nullptr) {
    rankfeed_handoff_options options{};
    options.struct_size = sizeof(options);
    options.flags = RANKFEED_HANDOFF_DEVICE_SLOTS;
    options.slot_bytes = slot_bytes;
    options.slots = std::max(1u, slots);
    options.backend = backend;
    CheckStatus(rankfeed_handoff_open(&options, &ring_, nullptr), "slot ring");
    const rankfeed_status status = rankfeed_handoff_stream_create(ring_, &stream_);
    if (status != RANKFEED_OK) {
      rankfeed_handoff_close(ring_);
      CheckStatus(status, "slot ring");
    }
  }
  ~SlotRing() {
    rankfeed_handoff_stream_destroy(ring_, stream_);
    rankfeed_handoff_close(ring_);
  }
  SlotRing(const SlotRing&) = delete;
  SlotRing& operator=(const SlotRing&) = delete;
  rankfeed_handoff* get() const { return ring_; }
  void* stream() const { return stream_; }

 private:
  rankfeed_handoff* ring_ = nullptr;
  void* stream_ = nullptr;
};

}  // namespace rankfeed::receipt
