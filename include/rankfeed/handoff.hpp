// SPDX-License-Identifier: MIT
// rankfeed/handoff.hpp: header-only C++20 wrapper over rankfeed/handoff.h: a ring, each use of a
// slot as an object that gives the slot back, and the ring's streams and device memory. Throws
// nothing.
//
//   FillingSlot --Submit--> LeasedSlot --Release--> (free when the events after it have completed)
//        |  dropped: abandoned     |  dropped: released on its consumer's streams
//
// Both keep the streams of their consumer (RecordStream): whoever queues work that reads a slot
// names the stream, and the slot is not filled again before that work is done.
//
// Handoff: any threads at once. The other objects: one thread at a time; they point into the ring
// and go before it. Besides this header a program links the runtime (for the words of a status).
#ifndef RANKFEED_HANDOFF_HPP_
#define RANKFEED_HANDOFF_HPP_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "rankfeed/handoff.h"
#include "rankfeed/rankfeed.hpp"

namespace rankfeed {
inline namespace v1 {

// A stream of a ring's backend. Destroying it may wait for its work, see
// rankfeed_handoff_stream_destroy.
class HandoffStream {
 public:
  HandoffStream(HandoffStream&& other) noexcept
      : ring_(other.ring_), stream_(std::exchange(other.stream_, nullptr)) {}
  HandoffStream& operator=(HandoffStream&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~HandoffStream() {
    if (stream_ != nullptr) rankfeed_handoff_stream_destroy(ring_, stream_);
  }
  void* get() const { return stream_; }
  // BLOCKS until the queued work is done.
  Error Synchronize() const {
    return detail::InWords(rankfeed_handoff_stream_synchronize(ring_, stream_), "stream");
  }

 private:
  friend class Handoff;
  HandoffStream(rankfeed_handoff* ring, void* stream) : ring_(ring), stream_(stream) {}
  rankfeed_handoff* ring_;
  void* stream_;
};

// Device memory of a ring's backend, aligned to 256 bytes. Freeing it waits for copies that touch
// it.
class DeviceMemory {
 public:
  DeviceMemory(DeviceMemory&& other) noexcept
      : ring_(other.ring_),
        memory_(std::exchange(other.memory_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceMemory() {
    if (memory_ != nullptr) rankfeed_handoff_device_free(ring_, memory_);
  }
  void* get() const { return memory_; }
  size_t size() const { return size_; }

 private:
  friend class Handoff;
  DeviceMemory(rankfeed_handoff* ring, void* memory, size_t size)
      : ring_(ring), memory_(memory), size_(size) {}
  rankfeed_handoff* ring_;
  void* memory_;
  size_t size_;
};

namespace detail {

// The streams of one consumer, each once.
class StreamSet {
 public:
  bool Has(void* stream) const {
    for (uint32_t i = 0; i < size_; ++i) {
      if (streams_[i] == stream) return true;
    }
    return false;
  }
  bool full() const { return size_ == RANKFEED_HANDOFF_MAX_STREAMS; }
  // False when there is no room for another.
  bool Add(void* stream) {
    if (Has(stream)) return true;
    if (full()) return false;
    streams_[size_++] = stream;
    return true;
  }
  void* const* data() const { return streams_; }
  uint32_t size() const { return size_; }

 private:
  void* streams_[RANKFEED_HANDOFF_MAX_STREAMS] = {};
  uint32_t size_ = 0;
};

inline Error TooManyStreams() {
  return OverLimit("a slot would wait for ", RANKFEED_HANDOFF_MAX_STREAMS + 1,
                   " streams; the limit is ", RANKFEED_HANDOFF_MAX_STREAMS);
}

}  // namespace detail

// A submitted slot that a consumer reads. Dropped, it is released on the streams of its consumer:
// those given to WaitOn, DlWait and RecordStream, or else the one it was submitted on. They live
// until then. At most RANKFEED_HANDOFF_MAX_STREAMS; one more is RANKFEED_E_LIMIT.
class LeasedSlot {
 public:
  LeasedSlot(LeasedSlot&& other) noexcept
      : ring_(std::exchange(other.ring_, nullptr)),
        ticket_(other.ticket_),
        submitted_on_(other.submitted_on_),
        streams_(other.streams_) {}
  LeasedSlot& operator=(LeasedSlot&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(ticket_, other.ticket_);
    std::swap(submitted_on_, other.submitted_on_);
    std::swap(streams_, other.streams_);
    return *this;
  }
  ~LeasedSlot() {
    if (ring_ != nullptr) (void)Release();
  }

  // For Handoff::Poll and State, also when this object is gone.
  rankfeed_handoff_slot ticket() const { return ticket_; }

  // Returns the address at which the device reads the bytes; null when this lease is over.
  void* data() const {
    void* data = nullptr;
    if (ring_ != nullptr) (void)rankfeed_handoff_data(ring_, ticket_, &data);
    return data;
  }

  // Work queued on consumer_stream from now on starts after the copy has landed.
  Error WaitOn(void* consumer_stream) {
    if (streams_.full() && !streams_.Has(consumer_stream)) return detail::TooManyStreams();
    const rankfeed_status status =
        ring_ == nullptr ? rankfeed_status{RANKFEED_E_STATE}
                         : rankfeed_handoff_stream_wait(ring_, ticket_, consumer_stream);
    if (status == RANKFEED_OK) (void)streams_.Add(consumer_stream);
    return detail::InWords(status, "waiting for a copy");
  }
  // Does what __dlpack__(stream=...) has to do for device memory of the slot, see
  // rankfeed_handoff_dl_wait; the stream is then one of the consumer's.
  Error DlWait(int64_t stream) {
    // An event after the legacy default stream is after every thread's default stream too, and
    // the lease may end on another thread than this.
    void* const handle =
        stream > 2 ? reinterpret_cast<void*>(static_cast<uintptr_t>(stream)) : nullptr;
    const bool waits = stream != RANKFEED_DL_STREAM_NO_WAIT;
    if (waits && streams_.full() && !streams_.Has(handle)) return detail::TooManyStreams();
    const rankfeed_status status = ring_ == nullptr
                                       ? rankfeed_status{RANKFEED_E_STATE}
                                       : rankfeed_handoff_dl_wait(ring_, ticket_, stream);
    if (status == RANKFEED_OK && waits && OnDevice()) (void)streams_.Add(handle);
    return detail::InWords(status, "waiting for a copy");
  }
  // Work that reads the slot is or will be queued on this stream: the slot is free only after what
  // the stream has to do when the lease ends.
  Error RecordStream(void* stream) {
    return streams_.Add(stream) ? Error{} : detail::TooManyStreams();
  }

  // The slot is free when the copy and everything queued on its consumer's streams (or on the one
  // given) so far have completed. After RANKFEED_E_DEVICE the lease is still held, release it
  // again.
  Error Release() {
    if (ring_ == nullptr || streams_.size() == 0) return Release(submitted_on_);
    return End(rankfeed_handoff_release_streams(ring_, ticket_, streams_.data(), streams_.size()));
  }
  Error Release(void* consumer_stream) {
    return End(ring_ == nullptr ? rankfeed_status{RANKFEED_E_STATE}
                                : rankfeed_handoff_release(ring_, ticket_, consumer_stream));
  }
  // For a consumer whose reads are over.
  Error ReleaseNow() {
    return End(ring_ == nullptr ? rankfeed_status{RANKFEED_E_STATE}
                                : rankfeed_handoff_release_now(ring_, ticket_));
  }

 private:
  friend class FillingSlot;
  LeasedSlot(rankfeed_handoff* ring, rankfeed_handoff_slot ticket, void* stream,
             const detail::StreamSet& streams)
      : ring_(ring), ticket_(ticket), submitted_on_(stream), streams_(streams) {}
  // The host's memory is read without streams.
  bool OnDevice() const {
    rankfeed_dl_tensor tensor{};
    tensor.struct_size = sizeof(tensor);
    return rankfeed_handoff_dl_tensor(ring_, ticket_, RANKFEED_HANDOFF_DL_SUBMITTED, &tensor) !=
               RANKFEED_OK ||
           tensor.device_type != RANKFEED_DL_CPU;
  }
  Error End(rankfeed_status status) {
    if (status == RANKFEED_OK) ring_ = nullptr;
    return detail::InWords(status, "releasing a slot");
  }
  rankfeed_handoff* ring_;  // null: the lease is over
  rankfeed_handoff_slot ticket_;
  void* submitted_on_;
  detail::StreamSet streams_;
};

// A slot that the caller fills. Dropped, it is abandoned: free again, nothing sent; or, where
// streams were recorded, released after them.
class FillingSlot {
 public:
  FillingSlot(FillingSlot&& other) noexcept
      : ring_(std::exchange(other.ring_, nullptr)),
        ticket_(other.ticket_),
        view_(other.view_),
        streams_(other.streams_) {}
  FillingSlot& operator=(FillingSlot&& other) noexcept {
    std::swap(ring_, other.ring_);
    std::swap(ticket_, other.ticket_);
    std::swap(view_, other.view_);
    std::swap(streams_, other.streams_);
    return *this;
  }
  ~FillingSlot() {
    if (ring_ == nullptr) return;
    if (streams_.size() == 0) {
      (void)rankfeed_handoff_abandon(ring_, ticket_);
    } else {
      (void)rankfeed_handoff_release_streams(ring_, ticket_, streams_.data(), streams_.size());
    }
  }

  rankfeed_handoff_slot ticket() const { return ticket_; }
  // Returns the place of the slot's bytes; valid while the slot is this object's.
  const rankfeed_handoff_view& view() const { return view_; }
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.host), static_cast<size_t>(view_.bytes)};
  }

  // Copies or kernels that read the slot's page-locked memory are or will be queued on this stream
  // by the caller itself.
  Error RecordStream(void* stream) {
    return streams_.Add(stream) ? Error{} : detail::TooManyStreams();
  }

  // Queues the first `bytes` bytes on `stream`, as rankfeed_handoff_submit does: to device_dst, or
  // (null) to the slot's own device memory; flags RANKFEED_HANDOFF_MAPPED and CHOOSE instead of a
  // copy. The slot is the lease's then. On failure it is this object's still, with its bytes.
  Result<LeasedSlot> Submit(uint64_t bytes, void* stream, uint32_t flags = 0,
                            void* device_dst = nullptr) {
    if (Error error = Queue(bytes, stream, device_dst, flags | RANKFEED_HANDOFF_LEASE)) {
      return error;
    }
    return LeasedSlot(std::exchange(ring_, nullptr), ticket_, stream, streams_);
  }
  // The same without a lease: the slot is free as soon as the copy to device_dst has landed, which
  // Handoff::Poll says of the ticket that is the answer.
  Result<rankfeed_handoff_slot> SubmitTo(void* device_dst, uint64_t bytes, void* stream) {
    if (device_dst == nullptr) {
      return detail::InWords(RANKFEED_E_ARGUMENT, "no memory to copy a slot to");
    }
    if (Error error = Queue(bytes, stream, device_dst, 0)) return error;
    ring_ = nullptr;
    return ticket_;
  }

 private:
  friend class Handoff;
  FillingSlot(rankfeed_handoff* ring, rankfeed_handoff_slot ticket,
              const rankfeed_handoff_view& view)
      : ring_(ring), ticket_(ticket), view_(view) {}
  Error Queue(uint64_t bytes, void* stream, void* device_dst, uint32_t flags) {
    const rankfeed_status status =
        ring_ == nullptr
            ? rankfeed_status{RANKFEED_E_STATE}
            : rankfeed_handoff_submit(ring_, ticket_, bytes, stream, device_dst, flags);
    return detail::InWords(status, "submitting a slot");
  }
  rankfeed_handoff* ring_;  // null: the slot is not this object's any more
  rankfeed_handoff_slot ticket_;
  rankfeed_handoff_view view_;
  detail::StreamSet streams_;
};

// A ring of page-locked slots. Closing BLOCKS until queued copies have landed and released slots
// have drained; what was taken from the ring is destroyed before.
class Handoff {
 public:
  // struct_size is set here. The error says which step failed, and how many bytes it asked for.
  static Result<Handoff> Open(rankfeed_handoff_options options) {
    options.struct_size = sizeof(options);
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof(detail);
    rankfeed_handoff* ring = nullptr;
    const rankfeed_status status = rankfeed_handoff_open(&options, &ring, &detail);
    if (status == RANKFEED_OK) return Handoff(ring);
    static constexpr const char* kSteps[] = {
        "options",       "device", "control block", "page-locked memory",
        "device memory", "events", "timed events"};
    const size_t step = detail.section < std::size(kSteps) ? detail.section : 0;
    Error error{status, {}};
    (void)detail::OrNoMemory([&] {
      error = Error::From(status, std::string("slot ring, ") + kSteps[step]);
      if (detail.byte_offset != 0) {
        error.message += " (" + std::to_string(detail.byte_offset) + " bytes)";
      }
      return Error{};
    });
    return error;
  }

  // A free slot; RANKFEED_E_BUSY when there is none now.
  Result<FillingSlot> Acquire() {
    return Take([&](rankfeed_handoff_slot* slot, rankfeed_handoff_view* view) {
      return rankfeed_handoff_acquire(get(), slot, view);
    });
  }
  // BLOCKS up to timeout_ns (UINT64_MAX: no limit) for one; then RANKFEED_E_DEADLINE.
  Result<FillingSlot> WaitAcquire(uint64_t timeout_ns = UINT64_MAX) {
    return Take([&](rankfeed_handoff_slot* slot, rankfeed_handoff_view* view) {
      return rankfeed_handoff_wait_acquire(get(), timeout_ns, slot, view);
    });
  }

  // OK once the copy has landed, BUSY while it is under way; see rankfeed_handoff_poll. A status,
  // for loops.
  rankfeed_status Poll(rankfeed_handoff_slot ticket) {
    return rankfeed_handoff_poll(get(), ticket);
  }
  // RANKFEED_SLOT_FREE ...; of a ticket that is none, FREE too.
  uint32_t State(rankfeed_handoff_slot ticket) const {
    uint32_t state = RANKFEED_SLOT_FREE;
    (void)rankfeed_handoff_state(get(), ticket, &state);
    return state;
  }
  // Quarantined slots that the device no longer touches are free again.
  Error Reset(rankfeed_handoff_slot ticket = RANKFEED_HANDOFF_ALL_SLOTS) {
    return detail::InWords(rankfeed_handoff_reset(get(), ticket), "quarantined slot");
  }

  // consume(stream, data, bytes) queues what a consumer does and answers with a status; it may not
  // throw. The limit found, which the ring then uses (rankfeed_handoff_calibrate).
  template <class Consume>
  Result<uint64_t> Calibrate(void* stream, Consume&& consume) {
    using Function = std::remove_reference_t<Consume>;
    uint64_t limit = 0;
    const rankfeed_status status = rankfeed_handoff_calibrate(
        get(), stream,
        [](void* context, void* on, void* data, uint64_t bytes) -> rankfeed_status {
          return (*static_cast<Function*>(context))(on, data, bytes);
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(consume))), &limit);
    if (status != RANKFEED_OK) return detail::InWords(status, "calibration");
    return limit;
  }

  Result<HandoffStream> MakeStream() {
    void* stream = nullptr;
    const rankfeed_status status = rankfeed_handoff_stream_create(get(), &stream);
    if (status != RANKFEED_OK) return detail::InWords(status, "stream");
    return HandoffStream(get(), stream);
  }
  Result<DeviceMemory> Allocate(size_t bytes) {
    void* memory = nullptr;
    const rankfeed_status status = rankfeed_handoff_device_alloc(get(), bytes, &memory);
    if (status != RANKFEED_OK) return detail::InWords(status, "device memory");
    return DeviceMemory(get(), memory, bytes);
  }

  rankfeed_handoff_info info() const {
    rankfeed_handoff_info info{};
    info.struct_size = sizeof(info);
    (void)rankfeed_handoff_get_info(get(), &info);
    return info;
  }
  rankfeed_handoff_stats stats() const {
    rankfeed_handoff_stats stats{};
    stats.struct_size = sizeof(stats);
    (void)rankfeed_handoff_get_stats(get(), &stats);
    return stats;
  }
  rankfeed_handoff* get() const { return ring_.get(); }

 private:
  explicit Handoff(rankfeed_handoff* ring) : ring_(ring, rankfeed_handoff_close) {}
  template <class F>
  Result<FillingSlot> Take(const F& acquire) {
    rankfeed_handoff_slot ticket = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof(view);
    const rankfeed_status status = acquire(&ticket, &view);
    if (status != RANKFEED_OK) return detail::InWords(status, "taking a slot");
    return FillingSlot(get(), ticket, view);
  }
  std::unique_ptr<rankfeed_handoff, void (*)(rankfeed_handoff*)> ring_;
};

}  // namespace v1
}  // namespace rankfeed

#endif  // RANKFEED_HANDOFF_HPP_
