// SPDX-License-Identifier: MIT
// Busy and idle time of consumer streams, on the host backend: work and pauses of known length.
#include "idle_meter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support.h"

namespace rankfeed::handoff {
namespace {

using std::chrono::milliseconds;
constexpr uint64_t kMs = 1'000'000;

// The ring and a stream whose work is sleeping.
class IdleMeterTest : public testing::Test {
 protected:
  static void Sleep(void* ms) {
    std::this_thread::sleep_for(milliseconds(reinterpret_cast<uintptr_t>(ms)));
  }
  void Work(TestRing& t, uintptr_t ms, void* stream) {
    const rankfeed_gpu_backend* table = t.backend.table();
    void* ctx = nullptr;
    ASSERT_EQ(table->device_open(table->self, 0, &ctx), RANKFEED_GPU_OK);
    ASSERT_EQ(table->launch_host(ctx, stream, &Sleep, reinterpret_cast<void*>(ms)),
              RANKFEED_GPU_OK);
    table->device_close(ctx);
  }
  void Batch(TestRing& t, uintptr_t ms, void* stream) {
    rankfeed_handoff_slot slot = 0;
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_wait_acquire(t.ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
    ASSERT_EQ(t.Submit(slot, 64, RANKFEED_HANDOFF_LEASE), RANKFEED_OK);
    ASSERT_EQ(rankfeed_handoff_stream_wait(t.ring, slot, stream), RANKFEED_OK);
    Work(t, ms, stream);
    ASSERT_EQ(rankfeed_handoff_release(t.ring, slot, stream), RANKFEED_OK);
  }
};

TEST_F(IdleMeterTest, CountsWorkAndPauses) {
  TestRing t(1024, 3, RANKFEED_HANDOFF_MEASURE_IDLE);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 6; ++i) {
    Batch(t, 4, t.consumer_stream);
    t.Sync(t.consumer_stream);
    if (i < 5) std::this_thread::sleep_for(milliseconds(8));
  }
  const auto all = static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  const rankfeed_handoff_stats stats = t.Stats();
  EXPECT_EQ(stats.consumer_batches, 6u);
  EXPECT_EQ(stats.consumer_unmeasured, 0u);
  EXPECT_GE(stats.consumer_busy_ns, 6 * 4 * kMs);
  EXPECT_GE(stats.consumer_idle_ns, 5 * 8 * kMs);
  EXPECT_LE(stats.consumer_busy_ns + stats.consumer_idle_ns, all);
}

TEST_F(IdleMeterTest, StreamWithWorkQueuedIsNotIdle) {
  TestRing t(64, 20, RANKFEED_HANDOFF_MEASURE_IDLE);
  for (int i = 0; i < 20; ++i) Batch(t, 5, t.consumer_stream);
  t.Sync(t.consumer_stream);
  const rankfeed_handoff_stats stats = t.Stats();
  EXPECT_EQ(stats.consumer_batches, 20u);
  EXPECT_GE(stats.consumer_busy_ns, 100 * kMs);
  // What is left is the scheduler's: nothing was waited for.
  EXPECT_LT(stats.consumer_idle_ns, stats.consumer_busy_ns / 2);
}

TEST_F(IdleMeterTest, WaitingForTheCopyIsIdleTime) {
  TestRing t(64, 3, RANKFEED_HANDOFF_MEASURE_IDLE);
  Batch(t, 1, t.consumer_stream);
  t.Sync(t.consumer_stream);
  Work(t, 30, t.copy_stream);  // the next copy comes late; the consumer's work is queued already
  Batch(t, 1, t.consumer_stream);
  t.Sync(t.consumer_stream);
  EXPECT_GE(t.Stats().consumer_idle_ns, 25 * kMs);
}

TEST_F(IdleMeterTest, OffByDefault) {
  TestRing on(64, 3, RANKFEED_HANDOFF_MEASURE_IDLE), off(64, 3);
  EXPECT_EQ(on.script.allocations() - off.script.allocations(),
            uint64_t{2 * IdleMeter::kStreams * IdleMeter::kDepth});
  for (int i = 0; i < 3; ++i) Batch(off, 1, off.consumer_stream);
  off.Sync(off.consumer_stream);
  const rankfeed_handoff_stats stats = off.Stats();
  EXPECT_EQ(stats.consumer_batches + stats.consumer_busy_ns + stats.consumer_idle_ns +
                stats.consumer_unmeasured,
            0u);
}

TEST_F(IdleMeterTest, EveryFailingAllocationOfOpenIsCleanedUp) {
  HostScript script;
  HostBackend backend(1, &script);
  const auto options = Options(backend.table(), 64, 1, RANKFEED_HANDOFF_MEASURE_IDLE);
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof detail;
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, &detail), RANKFEED_OK);
  const uint64_t needed = script.allocations();
  rankfeed_handoff_close(ring);
  ASSERT_EQ(script.live(), 0);
  for (uint64_t k = needed - 2 * IdleMeter::kStreams * IdleMeter::kDepth + 1; k <= needed; ++k) {
    script.FailAllocation(k);
    EXPECT_EQ(rankfeed_handoff_open(&options, &ring, &detail), RANKFEED_E_NO_MEMORY);
    EXPECT_EQ(detail.section, 6u);
    EXPECT_EQ(script.live(), 0) << "allocation " << k;
    script.FailAllocation(0);
  }
}

TEST_F(IdleMeterTest, WhatCannotBeMeasuredIsCounted) {
  // More batches ahead than the meter has events for: the consumer is blocked.
  constexpr uint32_t kSlots = IdleMeter::kDepth + 8;
  TestRing t(64, kSlots, RANKFEED_HANDOFF_MEASURE_IDLE);
  std::atomic<bool> open{false};
  const auto pass = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); };
  const rankfeed_gpu_backend* table = t.backend.table();
  void* ctx = nullptr;
  ASSERT_EQ(table->device_open(table->self, 0, &ctx), RANKFEED_GPU_OK);
  ASSERT_EQ(table->launch_host(ctx, t.consumer_stream, pass, &open), RANKFEED_GPU_OK);
  table->device_close(ctx);
  for (uint32_t i = 0; i < kSlots; ++i) Batch(t, 0, t.consumer_stream);
  EXPECT_EQ(t.Stats().consumer_batches, 0u);
  open = true;
  open.notify_all();
  t.Sync(t.consumer_stream);
  rankfeed_handoff_stats stats = t.Stats();
  EXPECT_EQ(stats.consumer_batches, uint64_t{IdleMeter::kDepth - 1});
  EXPECT_EQ(stats.consumer_unmeasured, uint64_t{kSlots - IdleMeter::kDepth + 1});
  const uint64_t idle = stats.consumer_idle_ns;
  // The pause after a gap belongs to nobody; then measuring goes on.
  std::this_thread::sleep_for(milliseconds(20));
  Batch(t, 1, t.consumer_stream);
  t.Sync(t.consumer_stream);
  EXPECT_LT(t.Stats().consumer_idle_ns, idle + 20 * kMs);
  std::this_thread::sleep_for(milliseconds(10));
  Batch(t, 1, t.consumer_stream);
  t.Sync(t.consumer_stream);
  EXPECT_GE(t.Stats().consumer_idle_ns, idle + 10 * kMs);
}

TEST_F(IdleMeterTest, MoreStreamsThanItMeasures) {
  TestRing t(64, 3, RANKFEED_HANDOFF_MEASURE_IDLE);
  std::vector<void*> streams(IdleMeter::kStreams + 2);
  for (void*& stream : streams) {
    ASSERT_EQ(rankfeed_handoff_stream_create(t.ring, &stream), RANKFEED_OK);
    for (int i = 0; i < 3; ++i) Batch(t, 0, stream);
  }
  for (void* stream : streams) t.Sync(stream);
  const rankfeed_handoff_stats stats = t.Stats();
  EXPECT_EQ(stats.consumer_batches, uint64_t{3 * IdleMeter::kStreams});
  EXPECT_EQ(stats.consumer_unmeasured, 6u);
  for (void* stream : streams) rankfeed_handoff_stream_destroy(t.ring, stream);
}

TEST_F(IdleMeterTest, ThreadsAtOnceLoseNothingButMeasurements) {
  constexpr int kBatches = 400 / kSanitizerDivisor;
  TestRing t(64, 12, RANKFEED_HANDOFF_MEASURE_IDLE);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kBatches; ++n) Batch(t, 0, t.consumer_stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  t.Sync(t.consumer_stream);
  const rankfeed_handoff_stats stats = t.Stats();
  EXPECT_GT(stats.consumer_batches, 0u);
  EXPECT_LE(stats.consumer_batches, uint64_t{4 * kBatches});
  EXPECT_EQ(stats.submits, uint64_t{4 * kBatches});
}

TEST_F(IdleMeterTest, FailingRecordsLeaveTheRingAlone) {
  TestRing t(64, 3, RANKFEED_HANDOFF_MEASURE_IDLE);
  Batch(t, 0, t.consumer_stream);
  const uint64_t n = t.script.records();
  t.script.FailRecordCall(n + 2, 5);  // landed is n + 1, begin n + 2
  Batch(t, 0, t.consumer_stream);
  const uint64_t m = t.script.records();
  t.script.FailRecordCall(m + 4, 5);  // landed, begin, released, end
  Batch(t, 0, t.consumer_stream);
  Batch(t, 0, t.consumer_stream);
  t.Sync(t.consumer_stream);
  const rankfeed_handoff_stats stats = t.Stats();
  EXPECT_EQ(stats.consumer_batches, 2u);
  EXPECT_EQ(stats.consumer_unmeasured, 2u);
  EXPECT_EQ(stats.device_errors, 0u);
  EXPECT_EQ(stats.slots_quarantined, 0u);
}

}  // namespace
}  // namespace rankfeed::handoff
