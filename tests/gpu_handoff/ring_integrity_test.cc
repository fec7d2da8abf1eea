// SPDX-License-Identifier: MIT
// ring_integrity_test.cc: every byte of many random batches, filled by several threads, copied on
// several streams, checked on the consumer's stream in stream order, while the ring turns over as
// fast as it can. Wrong ordering anywhere shows as a wrong byte, or as a race under TSan.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "support.h"

namespace rankfeed::handoff {
namespace {

constexpr uint64_t kSlotBytes = 16384;

enum class Mode { kCallersMemory, kDeviceSlots, kMapped };

struct Setup {
  Mode mode;
  uint32_t slots;
  int producers, copy_streams;
  int batches;  // per producer
};

// What the consumer's "kernel" needs; one per batch under way.
struct Job {
  const void* data = nullptr;
  uint64_t bytes = 0, seed = 0;
  std::atomic<uint64_t>* wrong = nullptr;
  std::atomic<bool> free{true};
  std::vector<unsigned char> memory;  // kCallersMemory
};

void CheckBatch(void* argument) {
  auto* job = static_cast<Job*>(argument);
  if (!HasPattern(job->data, job->bytes, job->seed)) job->wrong->fetch_add(1);
  job->free.store(true, std::memory_order_release);
  job->free.notify_one();
}

// Sizes as batches have them: mostly a few KB, sometimes the whole slot, sometimes nothing.
uint64_t RandomBytes(Random& random) {
  switch (random.Below(16)) {
    case 0:
      return kSlotBytes;
    case 1:
      return 0;
    case 2:
      return random.Below(kSlotBytes + 1);
    default:
      return random.Below(1024);
  }
}

void RunIntegrity(const Setup& setup, uint64_t seed) {
  HostScript script;
  script.DelayWork(seed, 20);
  TestBackend backend(1, &script);
  const rankfeed_gpu_backend* table = backend.table();
  void* ctx = nullptr;
  ASSERT_EQ(table->device_open(table->self, 0, &ctx), RANKFEED_GPU_OK);
  const auto options =
      Options(table, kSlotBytes, setup.slots,
              setup.mode == Mode::kDeviceSlots ? uint32_t{RANKFEED_HANDOFF_DEVICE_SLOTS} : 0);
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
  std::vector<void*> copy_streams(static_cast<size_t>(setup.copy_streams));
  for (void*& stream : copy_streams) ASSERT_EQ(table->stream_create(ctx, &stream), 0);

  std::atomic<uint64_t> wrong{0}, failed{0}, total_bytes{0}, copies{0};
  std::atomic<bool> finished{false};
  std::vector<std::unique_ptr<std::atomic<uint32_t>>> owners;
  for (uint32_t i = 0; i < setup.slots; ++i) {
    owners.push_back(std::make_unique<std::atomic<uint32_t>>(0));
  }

  const auto produce = [&](uint32_t producer) {
    Random random(seed * 1000 + producer);
    void* consumer = nullptr;
    if (table->stream_create(ctx, &consumer) != 0) {
      ++failed;
      return;
    }
    Job jobs[4];
    for (Job& job : jobs) {
      job.wrong = &wrong;
      if (setup.mode == Mode::kCallersMemory) job.memory.resize(kSlotBytes);
    }
    for (int batch = 0; batch < setup.batches; ++batch) {
      Job& job = jobs[batch % 4];
      job.free.wait(false, std::memory_order_acquire);
      job.free.store(false, std::memory_order_relaxed);
      rankfeed_handoff_slot slot = 0;
      rankfeed_handoff_view view{};
      view.struct_size = sizeof view;
      if (rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view) != RANKFEED_OK) {
        ++failed;
        break;
      }
      // Nobody else has this slot.
      if (owners[view.index]->exchange(producer + 1) != 0) ++failed;
      job.bytes = RandomBytes(random);
      job.seed = random.Next();
      FillPattern(view.host, job.bytes, job.seed);
      const bool abandon = random.Below(50) == 0;
      owners[view.index]->store(0);
      if (abandon) {
        if (rankfeed_handoff_abandon(ring, slot) != RANKFEED_OK) ++failed;
        job.free.store(true, std::memory_order_release);
        continue;
      }
      void* const stream = copy_streams[random.Below(copy_streams.size())];
      void* target = setup.mode == Mode::kCallersMemory ? job.memory.data() : nullptr;
      const uint32_t flags = setup.mode == Mode::kMapped ? uint32_t{RANKFEED_HANDOFF_MAPPED} : 0;
      job.data = setup.mode == Mode::kCallersMemory ? target
                 : setup.mode == Mode::kDeviceSlots ? view.device
                                                    : view.mapped;
      if (rankfeed_handoff_submit(ring, slot, job.bytes, stream, target, flags) != RANKFEED_OK ||
          rankfeed_handoff_stream_wait(ring, slot, consumer) != RANKFEED_OK ||
          table->launch_host(ctx, consumer, &CheckBatch, &job) != RANKFEED_GPU_OK) {
        ++failed;
        break;
      }
      total_bytes += job.bytes;
      copies += job.bytes != 0 && setup.mode != Mode::kMapped;
      if (setup.mode != Mode::kCallersMemory &&
          rankfeed_handoff_release(ring, slot, consumer) != RANKFEED_OK) {
        ++failed;
      }
      if (random.Below(4) == 0) {
        const rankfeed_status status = rankfeed_handoff_poll(ring, slot);
        if (status != RANKFEED_OK && status != RANKFEED_E_BUSY) ++failed;
      }
    }
    table->stream_synchronize(ctx, consumer);
    table->stream_destroy(ctx, consumer);
  };

  std::vector<std::thread> threads;
  for (int p = 0; p < setup.producers; ++p) {
    threads.emplace_back(produce, static_cast<uint32_t>(p));
  }
  // Someone who only watches.
  std::thread watcher([&] {
    uint64_t landed = 0;
    while (!finished) {
      rankfeed_handoff_stats stats{};
      stats.struct_size = sizeof stats;
      if (rankfeed_handoff_get_stats(ring, &stats) != RANKFEED_OK || stats.landed < landed ||
          stats.slots_quarantined != 0 || stats.in_flight_high_water > setup.slots) {
        ++failed;
      }
      landed = stats.landed;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  for (auto& thread : threads) thread.join();
  finished = true;
  watcher.join();
  // Shows every slot's end to the ring, so that the totals are final.
  std::vector<rankfeed_handoff_slot> all(setup.slots);
  for (auto& slot : all) {
    rankfeed_handoff_view view{};
    view.struct_size = sizeof view;
    ASSERT_EQ(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view), RANKFEED_OK);
  }
  rankfeed_handoff_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(rankfeed_handoff_get_stats(ring, &stats), RANKFEED_OK);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(stats.copies, copies);
  EXPECT_EQ(stats.bytes, setup.mode == Mode::kMapped ? 0 : total_bytes.load());
  EXPECT_EQ(stats.landed, stats.submits);
  EXPECT_EQ(stats.submits + stats.abandoned,
            static_cast<uint64_t>(setup.producers) * static_cast<uint64_t>(setup.batches));
  EXPECT_EQ(stats.acquires, stats.submits + stats.abandoned + setup.slots);
  std::cout << stats.submits << " batches, " << stats.bytes << " bytes, landed p50 "
            << stats.landed_ns_p50 / 1000 << " us, p99 " << stats.landed_ns_p99 / 1000
            << " us, busy " << stats.acquires_busy << ", high water " << stats.in_flight_high_water
            << "\n";
  for (void* stream : copy_streams) table->stream_destroy(ctx, stream);
  rankfeed_handoff_close(ring);
  table->device_close(ctx);
  EXPECT_EQ(script.live(), 0);
}

// 100,000 batches in all, by five setups.
TEST(RingIntegrity, CallersMemoryManyThreads) {
  RunIntegrity({Mode::kCallersMemory, 5, 4, 3, 10000 / kSanitizerDivisor}, TestSeed(1));
}
TEST(RingIntegrity, CallersMemoryOneSlot) {
  RunIntegrity({Mode::kCallersMemory, 1, 3, 2, 5000 / kSanitizerDivisor}, TestSeed(2));
}
TEST(RingIntegrity, DeviceSlots) {
  RunIntegrity({Mode::kDeviceSlots, 4, 3, 3, 7000 / kSanitizerDivisor}, TestSeed(3));
}
TEST(RingIntegrity, Mapped) {
  RunIntegrity({Mode::kMapped, 3, 4, 2, 5000 / kSanitizerDivisor}, TestSeed(4));
}
TEST(RingIntegrity, ManySlotsOneThread) {
  RunIntegrity({Mode::kCallersMemory, 64, 1, 4, 4000 / kSanitizerDivisor}, TestSeed(5));
}

}  // namespace
}  // namespace rankfeed::handoff
