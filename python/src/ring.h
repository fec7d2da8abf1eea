// SPDX-License-Identifier: MIT
// python/src/ring.h: a ring of slots, and what one batch does with a slot: filled, perhaps sent to the
// device, read by work on streams that the ring is told of, and given back after that work when the
// last tensor is gone.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "memory.h"
#include "rankfeed/handoff.hpp"

namespace rankfeed::python {

class Ring : public std::enable_shared_from_this<Ring> {
 public:
  Ring(uint32_t slots, uint64_t slot_bytes, const std::string& backend, int32_t device, bool device_slots,
       uint64_t mapped_limit);
  ~Ring();
  // Throws in a forked child of the process that opened it: the threads, and what a vendor's runtime
  // knows of the memory, are the parent's.
  void CheckProcess() const;
  // A slot's page-locked memory; BLOCKS up to timeout_ns for one.
  std::shared_ptr<Arena> Acquire(uint64_t timeout_ns);
  const rankfeed_handoff_info& info() const { return info_; }
  bool device_slots() const { return device_slots_; }
  bool on_host() const { return info_.dl_device_type == RANKFEED_DL_CPU; }
  // The ring's own stream for copies, made when it is first wanted.
  void* CopyStream();
  rankfeed_handoff* get() const { return ring_->get(); }

 private:
  const long process_;
  std::optional<Handoff> ring_;
  rankfeed_handoff_info info_{};
  bool device_slots_ = false;
  std::mutex mutex_;
  std::optional<HandoffStream> copies_;
};

// One use of one slot. Any threads. Dropped, the slot is free again when what was queued so far on the
// streams of its consumer has been done: those it was told of, or the device's default stream where it
// was told of none. What reads the host's memory on the host needs no stream.
class SlotUse {
 public:
  SlotUse(std::shared_ptr<Ring> ring, FillingSlot slot) : ring_(std::move(ring)), filling_(std::move(slot)) {}
  ~SlotUse();
  SlotUse(const SlotUse&) = delete;

  // The slot's page-locked memory, which keeps the use.
  static std::shared_ptr<Arena> Memory(const std::shared_ptr<SlotUse>& use);
  // stream: null is the device's default stream.
  void RecordStream(void* stream);
  // Queues the first `bytes` bytes on a stream, RANKFEED_HANDOFF_MAPPED and the like; once.
  void Submit(uint64_t bytes, void* stream, uint32_t flags);
  // Where the device reads what was submitted, and as which device; throws where nothing was.
  rankfeed_dl_tensor Submitted();
  // What __dlpack__ does with its stream. On the host BLOCKS until the copy has landed. With the GIL.
  void DlWait(int64_t stream);
  // The stream that a consumer has to come after; nothing when the copy has landed.
  std::optional<uintptr_t> PendingOn();
  Ring& ring() { return *ring_; }

 private:
  std::shared_ptr<Ring> ring_;  // outlives the slot
  std::mutex mutex_;
  std::optional<FillingSlot> filling_;
  std::optional<LeasedSlot> lease_;
  void* submitted_on_ = nullptr;
  bool told_ = false;
};

// A tensor of a submitted batch, in memory of the device. Python sees `rankfeed.DeviceTensor`.
struct DeviceTensor {
  Tensor host;  // its place in the slot, which it keeps
  rankfeed_dl_tensor where{};

  nb::object DLPack(nb::handle stream, nb::handle max_version, nb::handle dl_device, nb::handle copy) const;
  nb::dict CudaArrayInterface() const;
};

// None, an int, or a stream of torch (cuda_stream), CuPy (ptr) or one with __cuda_stream__: its number,
// nothing for None.
std::optional<int64_t> StreamNumber(nb::handle stream);
// The stream that a batch is submitted on: the ring's own for None.
void* SubmitStream(Ring& ring, nb::handle stream);
// Tells a slot of a stream by its number; memory of no slot has nothing to be told.
void RecordStream(const std::shared_ptr<Arena>& arena, nb::handle stream);

}  // namespace rankfeed::python
