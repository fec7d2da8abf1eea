// SPDX-License-Identifier: MIT
// ring_open_test.cc: arguments, layout, the k-th failing allocation, and close.
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "support.h"
#include "support/faults.h"

namespace rankfeed::handoff {
namespace {

TEST(RingOpen, RefusesBadArguments) {
  HostScript script;
  HostBackend backend(2, &script);
  rankfeed_handoff* ring = nullptr;
  auto options = Options(backend.table(), 1024, 3);
  EXPECT_EQ(rankfeed_handoff_open(&options, nullptr, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_handoff_open(nullptr, &ring, nullptr), RANKFEED_E_ARGUMENT);
  const auto refused = [&](auto change, rankfeed_status expected) {
    auto bad = options;
    change(bad);
    ring = reinterpret_cast<rankfeed_handoff*>(&bad);
    EXPECT_EQ(rankfeed_handoff_open(&bad, &ring, nullptr), expected);
    EXPECT_EQ(ring, nullptr);
  };
  refused([](auto& o) { o.struct_size = 0; }, RANKFEED_E_STRUCT_SIZE);
  refused([](auto& o) { o.struct_size += 8; }, RANKFEED_E_STRUCT_SIZE);
  refused([](auto& o) { o.slots = 0; }, RANKFEED_E_ARGUMENT);
  refused([](auto& o) { o.slots = RANKFEED_HANDOFF_MAX_SLOTS + 1; }, RANKFEED_E_ARGUMENT);
  refused([](auto& o) { o.slot_bytes = 0; }, RANKFEED_E_ARGUMENT);
  refused([](auto& o) { o.flags = 4; }, RANKFEED_E_ARGUMENT);
  refused([](auto& o) { o.slot_bytes = UINT64_MAX; }, RANKFEED_E_LIMIT);
  refused([](auto& o) { o.slot_bytes = PTRDIFF_MAX; }, RANKFEED_E_LIMIT);
  refused([](auto& o) { o.slot_bytes = PTRDIFF_MAX / 2; }, RANKFEED_E_LIMIT);
  refused([](auto& o) { o.device = 2; }, RANKFEED_E_NO_DEVICE);
  refused([](auto& o) { o.device = -1; }, RANKFEED_E_NO_DEVICE);
  auto old_table = *backend.table();
  old_table.abi = 0;
  refused([&](auto& o) { o.backend = &old_table; }, RANKFEED_E_STRUCT_SIZE);
  EXPECT_EQ(script.live(), 0);
  rankfeed_handoff_close(nullptr);
}

TEST(RingOpen, SlotsAreAlignedDisjointAndZeroed) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{256}, uint64_t{257}, uint64_t{5000}}) {
    TestRing t(bytes, 7, RANKFEED_HANDOFF_DEVICE_SLOTS);
    std::set<uintptr_t> hosts;
    for (int i = 0; i < 7; ++i) {
      rankfeed_handoff_view view{};
      t.Take(&view);
      const auto host = reinterpret_cast<uintptr_t>(view.host);
      EXPECT_EQ(host % RANKFEED_HANDOFF_ALIGNMENT, 0u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(view.device) % RANKFEED_HANDOFF_ALIGNMENT, 0u);
      EXPECT_EQ(view.mapped, view.host);  // the host backend's device is the host
      EXPECT_EQ(view.bytes, bytes);
      EXPECT_LT(view.index, 7u);
      for (uint64_t b = 0; b < bytes; ++b) {
        ASSERT_EQ(static_cast<unsigned char*>(view.host)[b], 0);
      }
      std::memset(view.host, 0xEE, bytes);
      EXPECT_TRUE(hosts.insert(host).second);
    }
    rankfeed_handoff_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(rankfeed_handoff_get_info(t.ring, &info), RANKFEED_OK);
    EXPECT_EQ(info.slot_stride, (bytes + 255) / 256 * 256);
    EXPECT_EQ(*hosts.rbegin() - *hosts.begin(), 6 * info.slot_stride);
  }
}

TEST(RingOpen, InfoReportsWhetherPagesAreLocked) {
  TestRing t(4096, 2, 0, 3, 2);
  rankfeed_handoff_info info{};
  EXPECT_EQ(rankfeed_handoff_get_info(t.ring, &info), RANKFEED_E_STRUCT_SIZE);
  info.struct_size = sizeof info;
  ASSERT_EQ(rankfeed_handoff_get_info(t.ring, &info), RANKFEED_OK);
  EXPECT_EQ(info.slots, 2u);
  EXPECT_EQ(info.device, 2);
  EXPECT_STREQ(info.backend, "host");
  EXPECT_NE(info.device_name[0], 0);
  EXPECT_EQ(info.dl_host_device_type, RANKFEED_DL_CPU);
  EXPECT_EQ(info.has_mapped, 1u);
  if (info.page_locked) {
    EXPECT_EQ(info.page_lock_error, 0);
    EXPECT_STREQ(info.note, "");
  } else {
    EXPECT_NE(info.page_lock_error, 0);
    EXPECT_NE(info.note[0], 0);
  }
}

// Every allocation of open fails once; each time a clean status, the right step, and nothing left.
TEST(RingOpen, EachFailingAllocationIsReportedAndUndone) {
  constexpr uint32_t kSlots = 3;
  // context, control block, page-locked block, device block; per slot the events of the copy and of
  // the consumer's streams
  constexpr uint64_t kEvents = 1 + RANKFEED_HANDOFF_MAX_STREAMS;
  constexpr uint64_t kAllocations = 4 + kEvents * kSlots;
  HostScript script;
  HostBackend backend(1, &script);
  const auto options = Options(backend.table(), 1024, kSlots, RANKFEED_HANDOFF_DEVICE_SLOTS);
  for (uint64_t k = 1; k <= kAllocations; ++k) {
    script.FailAllocation(k);
    rankfeed_handoff* ring = nullptr;
    rankfeed_error_detail detail{};
    detail.struct_size = sizeof detail;
    EXPECT_EQ(rankfeed_handoff_open(&options, &ring, &detail), RANKFEED_E_NO_MEMORY) << k;
    EXPECT_EQ(ring, nullptr);
    EXPECT_EQ(script.live(), 0) << k;
    EXPECT_EQ(detail.code, RANKFEED_E_NO_MEMORY);
    EXPECT_EQ(detail.section, k < 5 ? k : 5);
    EXPECT_EQ(detail.byte_offset, k == 3 || k == 4 ? 1024u * kSlots
                                  : k == 2         ? detail.byte_offset
                                                   : 0);
    EXPECT_EQ(detail.item, k >= 5 ? (k - 5) / kEvents : 0);
  }
  test::ReportFaults("allocations of the ring", kAllocations);
  script.FailAllocation(kAllocations + 1);
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
  EXPECT_EQ(script.live(), static_cast<int64_t>(kAllocations));
  void* stream = nullptr;
  EXPECT_EQ(rankfeed_handoff_stream_create(ring, &stream), RANKFEED_E_NO_MEMORY);
  EXPECT_EQ(stream, nullptr);
  script.FailAllocation(1);
  void* memory = nullptr;
  EXPECT_EQ(rankfeed_handoff_device_alloc(ring, 100, &memory), RANKFEED_E_NO_MEMORY);
  EXPECT_EQ(memory, nullptr);
  rankfeed_handoff_close(ring);
  EXPECT_EQ(script.live(), 0);
}

TEST(RingOpen, NothingIsAllocatedThroughTheBackendAfterOpen) {
  TestRing t;
  const uint64_t before = t.script.allocations();
  for (int i = 0; i < 50; ++i) {
    const auto slot = t.Take();
    ASSERT_EQ(t.Submit(slot, 100), RANKFEED_OK);
    t.Sync(t.copy_stream);
  }
  EXPECT_EQ(t.script.allocations(), before);
}

TEST(RingOpen, TablesWithoutControlAllocatorUseTheHeap) {
  HostBackend backend;
  auto table = *backend.table();
  table.control_alloc = nullptr;
  table.control_free = nullptr;
  const auto options = Options(&table, 100, 2);
  rankfeed_handoff* ring = nullptr;
  ASSERT_EQ(rankfeed_handoff_open(&options, &ring, nullptr), RANKFEED_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(ring) % 64, 0u);
  rankfeed_handoff_close(ring);
}

// ---- close ----

class Closer {
 public:
  explicit Closer(TestRing& t)
      : thread_([this, &t] {
          t.Close();
          done_ = true;
        }) {}
  ~Closer() { thread_.join(); }
  // Gives close every chance to return wrongly.
  bool StaysOpen() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return !done_;
  }
  void Join() {
    thread_.join();
    thread_ = std::thread([] {});
  }
  bool done() const { return done_; }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Streams must outlive the ring in these tests, so they are made on the backend itself.
struct BackendStream {
  explicit BackendStream(const rankfeed_gpu_backend* of) : table(of) {
    EXPECT_EQ(table->device_open(table->self, 0, &ctx), 0);
    EXPECT_EQ(table->stream_create(ctx, &stream), 0);
  }
  ~BackendStream() {
    table->stream_destroy(ctx, stream);
    table->device_close(ctx);
  }
  const rankfeed_gpu_backend* table;
  void *ctx = nullptr, *stream = nullptr;
};

void DropStreams(TestRing& t) {
  rankfeed_handoff_stream_destroy(t.ring, t.copy_stream);
  rankfeed_handoff_stream_destroy(t.ring, t.consumer_stream);
}

TEST(RingClose, WaitsForSlotsInFlight) {
  TestRing t;
  DropStreams(t);
  BackendStream s(t.backend.table());
  t.script.HoldEvents(true);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(rankfeed_handoff_submit(t.ring, t.Take(), 64, s.stream, t.destination.data(), 0),
              RANKFEED_OK);
  }
  t.Take();  // FILLING: dropped
  Closer closer(t);
  EXPECT_TRUE(closer.StaysOpen());
  t.script.CompleteEvent(2);
  EXPECT_TRUE(closer.StaysOpen());
  t.script.CompleteEvent(1);
  closer.Join();
  EXPECT_TRUE(closer.done());
}

TEST(RingClose, WaitsForTheCopyOfALeaseButNotForItsRelease) {
  TestRing t;
  DropStreams(t);
  BackendStream s(t.backend.table());
  t.script.HoldEvents(true);
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, t.Take(), 64, s.stream, t.destination.data(),
                                    RANKFEED_HANDOFF_LEASE),
            RANKFEED_OK);
  Closer closer(t);
  EXPECT_TRUE(closer.StaysOpen());
  t.script.CompleteEvent(1);
  closer.Join();
  EXPECT_TRUE(closer.done());
}

TEST(RingClose, WaitsForReleasedSlotsToDrain) {
  TestRing t;
  DropStreams(t);
  BackendStream s(t.backend.table());
  const auto slot = t.Take();
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 64, s.stream, t.destination.data(),
                                    RANKFEED_HANDOFF_LEASE),
            RANKFEED_OK);
  t.script.HoldEvents(true);
  ASSERT_EQ(rankfeed_handoff_release(t.ring, slot, s.stream), RANKFEED_OK);
  Closer closer(t);
  EXPECT_TRUE(closer.StaysOpen());
  t.script.CompleteEvent(2);
  closer.Join();
  EXPECT_TRUE(closer.done());
}

// The copy of a quarantined slot may still run: its memory must outlive it.
TEST(RingClose, KeepsMemoryOfQuarantinedSlotsUntilTheirCopiesEnd) {
  TestRing t;
  DropStreams(t);
  BackendStream s(t.backend.table());
  std::atomic<bool> go{false};
  ASSERT_EQ(s.table->launch_host(
                s.ctx, s.stream,
                [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &go),
            0);
  t.script.FailRecordCall(1, 700);
  rankfeed_handoff_view view{};
  const auto slot = t.Take(&view);
  FillPattern(view.host, 1024, 5);
  ASSERT_EQ(rankfeed_handoff_submit(t.ring, slot, 1024, s.stream, t.destination.data(), 0),
            RANKFEED_E_DEVICE);
  ASSERT_EQ(t.State(slot), uint32_t{RANKFEED_SLOT_QUARANTINED});
  Closer closer(t);
  EXPECT_TRUE(closer.StaysOpen());
  go = true;
  go.notify_all();
  closer.Join();
  EXPECT_TRUE(HasPattern(t.destination.data(), 1024, 5));
}

}  // namespace
}  // namespace rankfeed::handoff
