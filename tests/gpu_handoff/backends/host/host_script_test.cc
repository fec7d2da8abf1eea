// SPDX-License-Identifier: MIT
// host_script_test.cc: the test surface does what the other tests believe it does.
#include "backends/host/host_script.h"

#include <cstring>
#include <thread>

#include "gpu_handoff/support.h"

namespace rankfeed::handoff {
namespace {

class Script : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(table->device_open(table->self, 0, &ctx), RANKFEED_GPU_OK);
    ASSERT_EQ(table->stream_create(ctx, &stream), RANKFEED_GPU_OK);
    for (void*& event : events) ASSERT_EQ(table->event_create(ctx, &event), RANKFEED_GPU_OK);
  }
  void TearDown() override {
    script.CompleteAll();
    for (void* event : events) table->event_destroy(ctx, event);
    table->stream_destroy(ctx, stream);
    table->device_close(ctx);
    EXPECT_EQ(script.live(), 0);
  }
  void Record(int i) { ASSERT_EQ(table->event_record(ctx, events[i], stream), RANKFEED_GPU_OK); }
  int32_t Query(int i) { return table->event_query(ctx, events[i]); }
  void Sync() { ASSERT_EQ(table->stream_synchronize(ctx, stream), RANKFEED_GPU_OK); }

  HostScript script;
  HostBackend backend{1, &script};
  const rankfeed_gpu_backend* table = backend.table();
  void *ctx = nullptr, *stream = nullptr, *events[4] = {};
};

TEST_F(Script, HeldEventsStayLateAndCompleteInAnyOrder) {
  script.HoldEvents(true);
  for (int i = 0; i < 3; ++i) Record(i);
  Sync();  // passed by all of them
  EXPECT_EQ(script.held(), (std::vector<uint64_t>{1, 2, 3}));
  script.CompleteEvent(2);
  EXPECT_EQ(Query(0), RANKFEED_GPU_NOT_READY);
  EXPECT_EQ(Query(1), RANKFEED_GPU_OK);
  script.CompleteEvent(2);  // twice is harmless
  script.HoldEvents(false);
  Record(3);
  Sync();
  EXPECT_EQ(Query(3), RANKFEED_GPU_OK);
  EXPECT_EQ(Query(2), RANKFEED_GPU_NOT_READY);  // held before, held on
  script.CompleteAll();
  EXPECT_EQ(Query(0), RANKFEED_GPU_OK);
  EXPECT_EQ(Query(2), RANKFEED_GPU_OK);
  EXPECT_TRUE(script.held().empty());
}

TEST_F(Script, CompleteAllAlsoMeansThoseStillOnTheirWay) {
  std::atomic<bool> go{false};
  ASSERT_EQ(
      table->launch_host(
          ctx, stream, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &go),
      RANKFEED_GPU_OK);
  script.HoldEvents(true);
  Record(0);
  script.CompleteAll();
  go = true;
  go.notify_all();
  Sync();
  EXPECT_EQ(Query(0), RANKFEED_GPU_OK);
}

TEST_F(Script, CallsFailOnceAtTheirNumber) {
  // static: the last copies may still be queued when the test returns
  static char from[4] = {1, 2, 3, 4}, to[4] = {};
  script.FailCopyCall(2, 77);
  script.FailRecordCall(1, 78);
  script.FailWaitCall(2, 79);
  EXPECT_EQ(table->copy_async(ctx, to, from, 4, stream), RANKFEED_GPU_OK);
  EXPECT_EQ(table->copy_async(ctx, to, from, 4, stream), 77);
  EXPECT_EQ(table->copy_async(ctx, to, from, 4, stream), RANKFEED_GPU_OK);
  EXPECT_EQ(table->event_record(ctx, events[0], stream), 78);
  EXPECT_EQ(table->event_record(ctx, events[0], stream), RANKFEED_GPU_OK);
  EXPECT_EQ(table->stream_wait_event(ctx, stream, events[0]), RANKFEED_GPU_OK);
  EXPECT_EQ(table->stream_wait_event(ctx, stream, events[0]), 79);
  EXPECT_EQ(script.copies(), 3u);
  EXPECT_EQ(script.records(), 2u);
}

TEST_F(Script, FailedCopiesStopHalfWayAndTellTheNextEvent) {
  char from[8] = {1, 1, 1, 1, 1, 1, 1, 1}, to[8] = {};
  script.FailCopy(1, 55);
  ASSERT_EQ(table->copy_async(ctx, to, from, 8, stream), RANKFEED_GPU_OK);
  Record(0);
  Record(1);
  Sync();
  EXPECT_EQ(to[3], 1);
  EXPECT_EQ(to[4], 0);
  EXPECT_EQ(Query(0), 55);
  EXPECT_EQ(Query(1), RANKFEED_GPU_OK);
}

TEST_F(Script, FailedEventsEndWaitsToo) {
  script.FailEvent(1, 56);
  Record(0);
  ASSERT_EQ(table->stream_wait_event(ctx, nullptr, events[0]), RANKFEED_GPU_OK);
  ASSERT_EQ(table->stream_synchronize(ctx, nullptr), RANKFEED_GPU_OK);
  EXPECT_EQ(Query(0), 56);
}

TEST_F(Script, AllocationsAreCountedAndFailWhereAsked) {
  const uint64_t before = script.allocations();
  script.FailAllocation(2);
  void *first = nullptr, *second = nullptr;
  EXPECT_EQ(table->device_alloc(ctx, 10, &first), RANKFEED_GPU_OK);
  EXPECT_EQ(table->device_alloc(ctx, 10, &second), RANKFEED_GPU_NO_MEMORY);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(table->device_alloc(ctx, 10, &second), RANKFEED_GPU_OK);
  EXPECT_EQ(script.allocations(), before + 3);
  table->device_free(ctx, first);
  table->device_free(ctx, second);
}

TEST_F(Script, DelaysAreBoundedAndRepeatable) {
  HostScript a, b;
  a.DelayWork(7, 50);
  b.DelayWork(7, 50);
  int nonzero = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t us = a.NextDelayUs();
    EXPECT_EQ(us, b.NextDelayUs());
    EXPECT_LE(us, 50u);
    nonzero += us != 0;
  }
  EXPECT_GT(nonzero, 50);
  EXPECT_LT(nonzero, 300);
  EXPECT_EQ(HostScript().NextDelayUs(), 0u);
}

}  // namespace
}  // namespace rankfeed::handoff
