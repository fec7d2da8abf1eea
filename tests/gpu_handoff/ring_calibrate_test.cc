// SPDX-License-Identifier: MIT
// Reading in place against copying: the choice by size, and its measurement with a consumer whose
// costs are known.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "support.h"

namespace rankfeed::handoff {
namespace {

rankfeed_handoff_info InfoOf(rankfeed_handoff* ring) {
  rankfeed_handoff_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(rankfeed_handoff_get_info(ring, &info), RANKFEED_OK);
  return info;
}

TEST(RingChoice, BySize) {
  HostScript script;
  HostBackend backend(1, &script);
  auto options = Options(backend.table(), 4096, 2, RANKFEED_HANDOFF_DEVICE_SLOTS);
  options.mapped_limit = 1000;
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
  EXPECT_EQ(InfoOf(ring).mapped_limit, 1000u);
  void* stream = nullptr;
  ASSERT_EQ(rankfeed_handoff_stream_create(ring, &stream), RANKFEED_OK);
  uint64_t copies = 0;
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{1}, uint64_t{1000}, uint64_t{1001}, uint64_t{4096}}) {
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_acquire(ring, &slot, &view), RANKFEED_OK);
    void* data = nullptr;
    EXPECT_EQ(rankfeed_handoff_data(ring, slot, &data), RANKFEED_E_STATE);  // not submitted
    std::memset(view.host, static_cast<int>(bytes % 251), 4096);
    ASSERT_EQ(rankfeed_handoff_submit(ring, slot, bytes, stream, nullptr, RANKFEED_HANDOFF_CHOOSE),
              RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_data(ring, slot, &data), RANKFEED_OK);
    copies += bytes > 1000;
    EXPECT_EQ(data, bytes > 1000 ? view.device : view.mapped) << bytes;
    ASSERT_EQ(rankfeed_handoff_stream_wait(ring, slot, stream), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_synchronize(ring, stream), RANKFEED_OK);
    if (bytes != 0) {
      EXPECT_EQ(static_cast<unsigned char*>(data)[bytes - 1], bytes % 251);
    }
    ASSERT_EQ(rankfeed_handoff_release_now(ring, slot), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_poll(ring, slot), RANKFEED_OK);
    EXPECT_EQ(rankfeed_handoff_data(ring, slot, &data), RANKFEED_E_STATE);
    EXPECT_EQ(data, nullptr);
  }
  rankfeed_handoff_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(rankfeed_handoff_get_stats(ring, &stats), RANKFEED_OK);
  EXPECT_EQ(stats.copies, copies);
  EXPECT_EQ(stats.mapped, 3u);
  rankfeed_handoff_stream_destroy(ring, stream);
  rankfeed_handoff_close(ring);
}

TEST(RingChoice, BadArguments) {
  TestRing plain(1024), with(1024, 3, RANKFEED_HANDOFF_DEVICE_SLOTS);
  const rankfeed_handoff_slot a = plain.Take();
  // No device memory to copy to; a destination of the caller's; both at once.
  EXPECT_EQ(rankfeed_handoff_submit(plain.ring, a, 8, plain.copy_stream, nullptr,
                                    RANKFEED_HANDOFF_CHOOSE),
            RANKFEED_E_ARGUMENT);
  const rankfeed_handoff_slot b = with.Take();
  EXPECT_EQ(with.Submit(b, 8, RANKFEED_HANDOFF_CHOOSE), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_submit(with.ring, b, 8, with.copy_stream, nullptr,
                                    RANKFEED_HANDOFF_CHOOSE | RANKFEED_HANDOFF_MAPPED),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(with.State(b), uint32_t{RANKFEED_SLOT_FILLING});
  ASSERT_EQ(rankfeed_handoff_abandon(plain.ring, a), RANKFEED_OK);
  ASSERT_EQ(rankfeed_handoff_abandon(with.ring, b), RANKFEED_OK);
  EXPECT_EQ(rankfeed_handoff_data(nullptr, b, nullptr), RANKFEED_E_ARGUMENT);
  const auto consume = [](void*, void*, void*, uint64_t) { return rankfeed_status{RANKFEED_OK}; };
  uint64_t limit = 7;
  EXPECT_EQ(rankfeed_handoff_calibrate(plain.ring, plain.copy_stream, consume, nullptr, &limit),
            RANKFEED_E_ARGUMENT);
  EXPECT_EQ(limit, 0u);
  EXPECT_EQ(rankfeed_handoff_calibrate(with.ring, with.copy_stream, nullptr, nullptr, nullptr),
            RANKFEED_E_ARGUMENT);
}

// Reading in place takes 4 ms per KiB, reading device memory 12 whatever the size: far enough apart for a
// machine that does other things too.
struct Costs {
  TestRing* ring;
  uint64_t in_place = 0, copied = 0;
  uint32_t fail_at = 0;

  static void Sleep(void* us) {
    std::this_thread::sleep_for(std::chrono::microseconds(reinterpret_cast<uintptr_t>(us)));
  }
  static rankfeed_status Consume(void* context, void* stream, void* data, uint64_t bytes) {
    auto& costs = *static_cast<Costs*>(context);
    const rankfeed_gpu_backend* table = costs.ring->backend.table();
    const bool in_place = (costs.in_place + costs.copied) % 2 == 0;  // they take turns
    (in_place ? costs.in_place : costs.copied) += 1;
    EXPECT_NE(data, nullptr);
    if (costs.fail_at != 0 && costs.in_place + costs.copied == costs.fail_at)
      return RANKFEED_E_CANCELLED;
    void* ctx = nullptr;
    if (table->device_open(table->self, 0, &ctx) != RANKFEED_GPU_OK) return RANKFEED_E_DEVICE;
    const uintptr_t us = in_place ? 4 * bytes : 12000;
    const int32_t rc = table->launch_host(ctx, stream, &Sleep, reinterpret_cast<void*>(us));
    table->device_close(ctx);
    return rc == RANKFEED_GPU_OK ? RANKFEED_OK : RANKFEED_E_DEVICE;
  }
};

TEST(RingCalibrate, FindsWhereTheWaysMeet) {
  TestRing t(64 << 10, 2, RANKFEED_HANDOFF_DEVICE_SLOTS);
  Costs costs{&t};
  uint64_t limit = 0;
  ASSERT_EQ(rankfeed_handoff_calibrate(t.ring, t.copy_stream, &Costs::Consume, &costs, &limit),
            RANKFEED_OK);
  EXPECT_EQ(limit, 2048u);  // 4 and 8 ms are below 12, 16 are not
  EXPECT_EQ(InfoOf(t.ring).mapped_limit, 2048u);
  EXPECT_EQ(costs.in_place, costs.copied);
  EXPECT_EQ(t.Stats().slots_free, 2u);
}

TEST(RingCalibrate, FailuresLeaveSlotsAndLimitAlone) {
  TestRing t(4096, 1, RANKFEED_HANDOFF_DEVICE_SLOTS);
  Costs costs{&t};
  costs.fail_at = 3;
  uint64_t limit = 9;
  EXPECT_EQ(rankfeed_handoff_calibrate(t.ring, t.copy_stream, &Costs::Consume, &costs, &limit),
            RANKFEED_E_CANCELLED);
  EXPECT_EQ(limit, 0u);
  const rankfeed_handoff_slot slot = t.Take();  // the only one: it was given back
  EXPECT_EQ(rankfeed_handoff_calibrate(t.ring, t.copy_stream, &Costs::Consume, &costs, &limit),
            RANKFEED_E_BUSY);
  ASSERT_EQ(rankfeed_handoff_abandon(t.ring, slot), RANKFEED_OK);
  t.script.FailCopyCall(t.script.copies() + 1, 5);
  EXPECT_EQ(rankfeed_handoff_calibrate(t.ring, t.copy_stream, &Costs::Consume, &costs, &limit),
            RANKFEED_E_DEVICE);
  EXPECT_EQ(t.Stats().slots_free, 1u);
}

}  // namespace
}  // namespace rankfeed::handoff
