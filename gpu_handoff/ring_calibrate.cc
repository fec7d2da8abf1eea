// SPDX-License-Identifier: MIT
// ring_calibrate.cc: from which size on a copy beats reading page-locked memory in place, measured
// on the machine with the consumer's own work. A copy costs a fixed time and then reads fast
// memory; reading in place costs nothing at first and every byte its way over the bus. For a few
// bytes the first is the dearer one, so there is one size at which they meet.
//
// Sizes double from 1 KiB; both ways take turns, the median of kRounds counts; the search ends at
// the first size at which in place is slower. Set-up work: allocates nothing, but waits for the
// stream.
#include <algorithm>
#include <array>
#include <chrono>

#include "ring.h"

namespace rankfeed::handoff {
namespace {

constexpr int kRounds = 9;

uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// One batch of `bytes` from submit until the consumer is done.
rankfeed_status TimeOne(Ring& ring, void* stream, rankfeed_handoff_consume consume, void* context,
                        uint64_t bytes, uint32_t flags, uint64_t* ns) {
  uint64_t ticket = 0;
  rankfeed_status status = ring.Acquire(&ticket);
  if (status != RANKFEED_OK) return status;
  const uint64_t begin = NowNs();
  status = ring.Submit(ticket, bytes, stream, nullptr, flags);
  if (status != RANKFEED_OK) {
    (void)ring.Abandon(ticket);
    return status;
  }
  void* data = nullptr;
  status = ring.Data(ticket, &data);
  if (status == RANKFEED_OK) status = consume(context, stream, data, bytes);
  // Also after a failure: the slot must not stay leased.
  const rankfeed_status released = ring.Release(ticket, stream);
  const int32_t rc = ring.backend->stream_synchronize(ring.ctx, stream);
  *ns = NowNs() - begin;
  if (status != RANKFEED_OK) return status;
  if (released != RANKFEED_OK) return released;
  return rc == RANKFEED_GPU_OK ? ring.Poll(ticket) : RANKFEED_E_DEVICE;
}

}  // namespace

rankfeed_status Ring::Calibrate(void* stream, rankfeed_handoff_consume consume, void* context,
                                uint64_t* limit) {
  *limit = 0;
  if (device_block == nullptr) return RANKFEED_E_ARGUMENT;
  uint64_t best = 0;
  if (block.mapped != nullptr) {
    for (uint64_t bytes = 1024; bytes <= slot_bytes; bytes *= 2) {
      std::array<uint64_t, kRounds> in_place, copied;
      for (int round = -1; round < kRounds; ++round) {  // the first is for warming up
        uint64_t times[2];
        for (const uint32_t flags : {uint32_t{RANKFEED_HANDOFF_MAPPED}, uint32_t{0}}) {
          const rankfeed_status status =
              TimeOne(*this, stream, consume, context, bytes, flags, &times[flags == 0 ? 1 : 0]);
          if (status != RANKFEED_OK) return status;
        }
        if (round < 0) continue;
        in_place[static_cast<size_t>(round)] = times[0];
        copied[static_cast<size_t>(round)] = times[1];
      }
      std::nth_element(in_place.begin(), in_place.begin() + kRounds / 2, in_place.end());
      std::nth_element(copied.begin(), copied.begin() + kRounds / 2, copied.end());
      if (in_place[kRounds / 2] > copied[kRounds / 2]) break;
      best = bytes;
    }
  }
  mapped_limit.store(best, std::memory_order_relaxed);
  *limit = best;
  return RANKFEED_OK;
}

}  // namespace rankfeed::handoff
