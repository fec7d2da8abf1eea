// SPDX-License-Identifier: MIT
// ring_open.cc: makes and destroys a ring; the only part of it that allocates, frees and waits.
//
// Steps, in the numbers of rankfeed_error_detail.section: 1 device context, 2 control block,
// 3 page-locked memory, 4 device memory, 5 events. Destroy undoes whatever steps were done, so a
// failure at any of them leaves nothing open.
#include <chrono>
#include <new>
#include <thread>

#include "host_memory.h"
#include "ring.h"

namespace rankfeed::handoff {
namespace {

rankfeed_status StatusOf(int32_t rc) {
  switch (rc) {
    case RANKFEED_GPU_OK:
      return RANKFEED_OK;
    case RANKFEED_GPU_NO_MEMORY:
      return RANKFEED_E_NO_MEMORY;
    case RANKFEED_GPU_NO_DEVICE:
      return RANKFEED_E_NO_DEVICE;
    case RANKFEED_GPU_INVALID:
      return RANKFEED_E_ARGUMENT;
    case RANKFEED_GPU_OLD_DRIVER:
      return RANKFEED_E_UNSUPPORTED;
    default:
      return RANKFEED_E_DEVICE;
  }
}

rankfeed_status Fail(rankfeed_status status, uint32_t step, uint64_t bytes, uint32_t item,
                     rankfeed_error_detail* detail) {
  if (detail != nullptr && detail->struct_size >= sizeof(rankfeed_error_detail)) {
    detail->code = status;
    detail->byte_offset = bytes;
    detail->section = step;
    detail->item = item;
  }
  return status;
}

size_t ControlBytes(uint32_t slots) {
  return sizeof(Ring) + size_t{slots} * sizeof(Slot);
}

bool Usable(const rankfeed_gpu_backend& backend) {
  return backend.struct_size >= sizeof(rankfeed_gpu_backend) &&
         backend.abi == RANKFEED_GPU_BACKEND_ABI &&
         (backend.control_alloc == nullptr) == (backend.control_free == nullptr);
}

// Makes a slot's events; those made before one fails stay with the slot.
int32_t MakeEvents(const rankfeed_gpu_backend* backend, void* ctx, Slot* slot) {
  int32_t rc = backend->event_create(ctx, &slot->landed);
  if (rc != RANKFEED_GPU_OK) slot->landed = nullptr;
  for (void*& event : slot->released) {
    if (rc != RANKFEED_GPU_OK) break;
    rc = backend->event_create(ctx, &event);
    if (rc != RANKFEED_GPU_OK) event = nullptr;
  }
  return rc;
}

}  // namespace

Ring* Ring::Place(void* memory, uint32_t slots) {
  Ring* ring = new (memory) Ring();
  for (uint32_t i = 0; i < slots; ++i) new (&ring->slots()[i]) Slot();
  ring->slot_count = slots;
  return ring;
}

rankfeed_status Ring::Open(const rankfeed_handoff_options& options, Ring** out,
                           rankfeed_error_detail* detail) {
  *out = nullptr;
  const rankfeed_gpu_backend* backend =
      options.backend ? options.backend : rankfeed_handoff_host_backend();
  if (!Usable(*backend)) return Fail(RANKFEED_E_STRUCT_SIZE, 1, 0, 0, detail);
  if (options.slots == 0 || options.slots > RANKFEED_HANDOFF_MAX_SLOTS || options.slot_bytes == 0 ||
      (options.flags & ~uint32_t{RANKFEED_HANDOFF_DEVICE_SLOTS | RANKFEED_HANDOFF_MEASURE_IDLE})) {
    return Fail(RANKFEED_E_ARGUMENT, 0, 0, 0, detail);
  }
  constexpr uint64_t kAlign = RANKFEED_HANDOFF_ALIGNMENT;
  // PTRDIFF_MAX, as for every object of C and C++: pointer differences inside must fit.
  if (options.slot_bytes > PTRDIFF_MAX - kAlign) {
    return Fail(RANKFEED_E_LIMIT, 3, options.slot_bytes, 0, detail);
  }
  const uint64_t stride = (options.slot_bytes + kAlign - 1) / kAlign * kAlign;
  if (stride > static_cast<uint64_t>(PTRDIFF_MAX) / options.slots) {
    return Fail(RANKFEED_E_LIMIT, 3, options.slot_bytes, 0, detail);
  }
  const size_t total = static_cast<size_t>(stride) * options.slots;

  void* ctx = nullptr;
  int32_t rc = backend->device_open(backend->self, options.device, &ctx);
  if (rc != RANKFEED_GPU_OK) return Fail(StatusOf(rc), 1, 0, 0, detail);

  // Ring and Slot are multiples of 64, as AlignedAlloc asks.
  const size_t control_bytes = ControlBytes(options.slots);
  void* memory = backend->control_alloc ? backend->control_alloc(ctx, control_bytes)
                                        : AlignedAlloc(64, control_bytes);
  if (memory == nullptr) {
    backend->device_close(ctx);
    return Fail(RANKFEED_E_NO_MEMORY, 2, control_bytes, 0, detail);
  }
  Ring* ring = Place(memory, options.slots);
  ring->backend = backend;
  ring->ctx = ctx;
  ring->slot_bytes = options.slot_bytes;
  ring->stride = stride;
  ring->device = options.device;
  ring->mapped_limit.store(options.mapped_limit, std::memory_order_relaxed);

  char bus_id[32] = "";
  if (backend->pci_bus_id != nullptr &&
      backend->pci_bus_id(ctx, bus_id, sizeof bus_id) == RANKFEED_GPU_OK) {
    ring->device_node = NodeOfPciDevice(bus_id);
  }
  {
    const PreferNode prefer(ring->device_node);
    rc = backend->page_lock(ctx, total, 0, &ring->block);
  }
  if (rc != RANKFEED_GPU_OK) {
    ring->block = {};
    Destroy(ring);
    return Fail(StatusOf(rc), 3, total, 0, detail);
  }
  ring->node = NodeOfMemory(ring->block.host, total);
  if (options.flags & RANKFEED_HANDOFF_DEVICE_SLOTS) {
    rc = backend->device_alloc(ctx, total, &ring->device_block);
    if (rc != RANKFEED_GPU_OK) {
      ring->device_block = nullptr;
      Destroy(ring);
      return Fail(StatusOf(rc), 4, total, 0, detail);
    }
  }
  for (uint32_t i = 0; i < options.slots; ++i) {
    rc = MakeEvents(backend, ctx, &ring->slots()[i]);
    if (rc != RANKFEED_GPU_OK) {
      Destroy(ring);
      return Fail(StatusOf(rc), 5, 0, i, detail);
    }
  }
  if (options.flags & RANKFEED_HANDOFF_MEASURE_IDLE) {
    rc = ring->idle_.Open(backend, ctx);
    if (rc != RANKFEED_GPU_OK) {
      Destroy(ring);
      return Fail(StatusOf(rc), 6, 0, 0, detail);
    }
  }
  OpenRanges();
  *out = ring;
  return RANKFEED_OK;
}

// The slots' last copies are over, or the backend's page_unlock and device_free wait for them.
void Ring::Destroy(Ring* ring) {
  const rankfeed_gpu_backend* backend = ring->backend;
  void* ctx = ring->ctx;
  ring->idle_.Close();
  for (uint32_t i = 0; i < ring->slot_count; ++i) {
    Slot& slot = ring->slots()[i];
    if (slot.landed != nullptr) backend->event_destroy(ctx, slot.landed);
    for (void* event : slot.released) {
      if (event != nullptr) backend->event_destroy(ctx, event);
    }
    slot.~Slot();
  }
  if (ring->block.host != nullptr) backend->page_unlock(ctx, &ring->block);
  if (ring->device_block != nullptr) backend->device_free(ctx, ring->device_block);
  ring->~Ring();
  if (backend->control_free != nullptr) {
    backend->control_free(ctx, ring);
  } else {
    AlignedFree(ring);
  }
  backend->device_close(ctx);
}

void Ring::Close(Ring* ring) {
  if (ring == nullptr) return;
  uint64_t sleep_us = 2;
  for (uint32_t i = 0; i < ring->slot_count;) {
    Slot& slot = ring->slots()[i];
    uint64_t word = slot.word.load(std::memory_order_acquire);
    const SlotState state = StateOf(word);
    bool pending = state == SlotState::kSubmitting || state == SlotState::kReleasing ||
                   state == SlotState::kResetting;  // another thread still in a call: a misuse
    if (state == SlotState::kInFlight || state == SlotState::kDraining) {
      const Progress progress = ring->Advance(slot, &word);
      pending = progress != Progress::kFreed && progress != Progress::kFailed;
    } else if (state == SlotState::kLeased && !LandedOf(word)) {
      const Progress progress = ring->Advance(slot, &word);
      pending = progress == Progress::kPending || progress == Progress::kMoved;
    }
    if (!pending) {
      if (state == SlotState::kFilling) slot.range.End();
      ++i;
      sleep_us = 2;
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
    if (sleep_us < 512) sleep_us *= 2;
  }
  Destroy(ring);
}

}  // namespace rankfeed::handoff
