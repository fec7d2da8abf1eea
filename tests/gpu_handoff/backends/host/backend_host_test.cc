// SPDX-License-Identifier: MIT
// backend_host_test.cc: the host backend keeps the contract of backend.h by itself.
#include "backends/host/backend_host.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "gpu_handoff/support.h"

namespace rankfeed::handoff {
namespace {

class BackendHost : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(table->device_open(table->self, 0, &ctx), RANKFEED_GPU_OK);
    ASSERT_EQ(table->stream_create(ctx, &stream), RANKFEED_GPU_OK);
    ASSERT_EQ(table->stream_create(ctx, &other), RANKFEED_GPU_OK);
    ASSERT_EQ(table->event_create(ctx, &event), RANKFEED_GPU_OK);
  }
  void TearDown() override {
    gate.Open();
    table->stream_destroy(ctx, stream);
    table->stream_destroy(ctx, other);
    table->event_destroy(ctx, event);
    table->device_close(ctx);
  }

  // Holds a stream until opened.
  struct Gate {
    std::atomic<bool> open{false};
    void Open() {
      open = true;
      open.notify_all();
    }
    static void Pass(void* gate) { static_cast<Gate*>(gate)->open.wait(false); }
  };
  void Block(void* which) {
    ASSERT_EQ(table->launch_host(ctx, which, &Gate::Pass, &gate), RANKFEED_GPU_OK);
  }

  HostBackend backend;
  const rankfeed_gpu_backend* table = backend.table();
  void *ctx = nullptr, *stream = nullptr, *other = nullptr, *event = nullptr;
  Gate gate;
};

TEST_F(BackendHost, TableIsComplete) {
  EXPECT_EQ(table->struct_size, sizeof *table);
  EXPECT_EQ(table->abi, uint32_t{RANKFEED_GPU_BACKEND_ABI});
  EXPECT_STREQ(table->name, "host");
  // Every pointer of the table, name and self included, lies in these words. Operations of the
  // forward pass come from a library that this test does not load.
  const auto* words = reinterpret_cast<void* const*>(&table->self);
  const auto* end =
      words +
      (offsetof(rankfeed_gpu_backend, ops) - offsetof(rankfeed_gpu_backend, self)) / sizeof(void*);
  for (; words != end; ++words) EXPECT_NE(*words, nullptr);
  int32_t count = 0;
  HostBackend four(4);
  EXPECT_EQ(four.table()->device_count(four.table()->self, &count), RANKFEED_GPU_OK);
  EXPECT_EQ(count, 4);
  char text[8];
  table->describe(ctx, text, sizeof text);
  EXPECT_LT(strnlen(text, sizeof text), sizeof text);
}

TEST_F(BackendHost, ProcessWideBackendIsOneObject) {
  EXPECT_EQ(rankfeed_handoff_host_backend(), rankfeed_handoff_host_backend());
  int32_t count = 0;
  EXPECT_EQ(rankfeed_handoff_device_count(nullptr, &count), RANKFEED_OK);
  EXPECT_EQ(count, 1);
}

TEST(ProcessWideBackend, CopiesOfAForkedChildNeedNoThreadOfItsParent) {
#ifdef RANKFEED_TEST_SANITIZED
  GTEST_SKIP() << "AddressSanitizer's allocator (LLVM 14) keeps locks that other threads held at the fork, and the "
                  "child waits for ever in its first malloc; ThreadSanitizer lets a child of several threads start none";
#endif
  const rankfeed_gpu_backend* const table = rankfeed_handoff_host_backend();
  void* ctx = nullptr;
  ASSERT_EQ(table->device_open(table->self, 0, &ctx), RANKFEED_GPU_OK);
  const auto copy = [table, ctx](size_t count) {
    const char from = 1;
    char to = 0;
    void* stream = nullptr;
    if (table->stream_create(ctx, &stream) != RANKFEED_GPU_OK) return false;
    for (size_t i = 0; i < count; ++i) (void)table->copy_async(ctx, &to, &from, 1, stream);
    (void)table->stream_synchronize(ctx, stream);
    table->stream_destroy(ctx, stream);
    return to == from;
  };
  std::atomic<bool> over{false};
  std::thread copying([&] {
    while (!over) copy(1000);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(copy(1) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "fork " << i;
    if (status != 0) break;
  }
  over = true;
  copying.join();
  table->device_close(ctx);
}

TEST_F(BackendHost, StreamsRunInOrderAndBesideTheCaller) {
  Block(stream);
  char from[8] = "abcdefg", to[8] = {};
  ASSERT_EQ(table->copy_async(ctx, to, from, 8, stream), RANKFEED_GPU_OK);
  ASSERT_EQ(table->event_record(ctx, event, stream), RANKFEED_GPU_OK);
  EXPECT_EQ(table->event_query(ctx, event), RANKFEED_GPU_NOT_READY);
  EXPECT_EQ(to[0], 0);
  gate.Open();
  ASSERT_EQ(table->stream_synchronize(ctx, stream), RANKFEED_GPU_OK);
  EXPECT_EQ(table->event_query(ctx, event), RANKFEED_GPU_OK);
  EXPECT_STREQ(to, "abcdefg");
}

TEST_F(BackendHost, EventsWithoutARecordAreComplete) {
  EXPECT_EQ(table->event_query(ctx, event), RANKFEED_GPU_OK);
  EXPECT_EQ(table->stream_wait_event(ctx, stream, event), RANKFEED_GPU_OK);
  EXPECT_EQ(table->stream_synchronize(ctx, stream), RANKFEED_GPU_OK);
}

TEST_F(BackendHost, AWaitKeepsTheRecordItWasQueuedWith) {
  Block(stream);
  ASSERT_EQ(table->event_record(ctx, event, stream), RANKFEED_GPU_OK);
  std::atomic<int> passed{0};
  const auto pass = [](void* flag) { static_cast<std::atomic<int>*>(flag)->store(1); };
  ASSERT_EQ(table->stream_wait_event(ctx, other, event), RANKFEED_GPU_OK);
  ASSERT_EQ(table->launch_host(ctx, other, pass, &passed), RANKFEED_GPU_OK);
  // Recorded anew where it completes at once: the wait above still means the blocked stream.
  ASSERT_EQ(table->event_record(ctx, event, nullptr), RANKFEED_GPU_OK);
  ASSERT_EQ(table->stream_synchronize(ctx, nullptr), RANKFEED_GPU_OK);
  EXPECT_EQ(table->event_query(ctx, event), RANKFEED_GPU_OK);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(passed, 0);
  gate.Open();
  ASSERT_EQ(table->stream_synchronize(ctx, other), RANKFEED_GPU_OK);
  EXPECT_EQ(passed, 1);
}

TEST_F(BackendHost, EventsMayBeDestroyedWhileAwaited) {
  Block(stream);
  void* brief = nullptr;
  ASSERT_EQ(table->event_create(ctx, &brief), RANKFEED_GPU_OK);
  ASSERT_EQ(table->event_record(ctx, brief, stream), RANKFEED_GPU_OK);
  ASSERT_EQ(table->stream_wait_event(ctx, other, brief), RANKFEED_GPU_OK);
  table->event_destroy(ctx, brief);
  gate.Open();
  EXPECT_EQ(table->stream_synchronize(ctx, other), RANKFEED_GPU_OK);
}

TEST_F(BackendHost, FreeingMemoryWaitsForTheCopiesThatTouchIt) {
  rankfeed_gpu_host_block block{};
  void* device = nullptr;
  ASSERT_EQ(table->page_lock(ctx, 1000, 0, &block), RANKFEED_GPU_OK);
  ASSERT_EQ(table->device_alloc(ctx, 1000, &device), RANKFEED_GPU_OK);
  Block(stream);
  ASSERT_EQ(table->copy_async(ctx, device, block.host, 1000, stream), RANKFEED_GPU_OK);
  std::atomic<int> freed{0};
  std::thread unlock([&] {
    table->page_unlock(ctx, &block);
    ++freed;
  });
  std::thread release([&] {
    table->device_free(ctx, device);
    ++freed;
  });
  // Memory that no copy touches is not held up.
  void* unrelated = nullptr;
  ASSERT_EQ(table->device_alloc(ctx, 10, &unrelated), RANKFEED_GPU_OK);
  table->device_free(ctx, unrelated);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(freed, 0);
  gate.Open();
  unlock.join();
  release.join();
  EXPECT_EQ(freed, 2);
}

TEST_F(BackendHost, PageLockAlignsZeroesAndReports) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{100000}}) {
    rankfeed_gpu_host_block block{};
    ASSERT_EQ(table->page_lock(ctx, bytes, 0, &block), RANKFEED_GPU_OK);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.host) % 256, 0u);
    EXPECT_EQ(block.bytes, bytes);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(static_cast<char*>(block.host)[i], 0);
    EXPECT_EQ(block.locked == 0, block.lock_error != 0);
    EXPECT_EQ(block.locked == 0, block.note != nullptr);
    table->page_unlock(ctx, &block);
    EXPECT_EQ(block.host, nullptr);
  }
  rankfeed_gpu_host_block block{};
  EXPECT_EQ(table->page_lock(ctx, 0, 0, &block), RANKFEED_GPU_INVALID);
  EXPECT_EQ(table->page_lock(ctx, 100, 1, &block), RANKFEED_GPU_INVALID);
  EXPECT_EQ(table->page_lock(ctx, SIZE_MAX, 0, &block), RANKFEED_GPU_NO_MEMORY);
}

// With the limit at zero an ordinary user gets pageable memory, a reason, and a ring that works.
TEST_F(BackendHost, ARefusedMlockIsReportedAndHarmless) {
#ifdef RANKFEED_TEST_SANITIZED
  GTEST_SKIP() << "sanitizers replace mlock by a function that always succeeds";
#endif
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &old), 0);
  const rlimit none{0, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  rankfeed_gpu_host_block block{};
  ASSERT_EQ(table->page_lock(ctx, 1 << 16, 0, &block), RANKFEED_GPU_OK);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &old), 0);
  const bool privileged = block.locked != 0;
  if (!privileged) {
    EXPECT_NE(block.lock_error, 0);
    ASSERT_NE(block.note, nullptr);
    EXPECT_NE(std::strstr(block.note, "RLIMIT_MEMLOCK"), nullptr);
  }
  std::memset(block.host, 1, 1 << 16);
  table->page_unlock(ctx, &block);
  if (privileged) GTEST_SKIP() << "process has CAP_IPC_LOCK: mlock ignores the limit";
}

TEST_F(BackendHost, BadArgumentsAreRefused) {
  char byte = 0;
  EXPECT_EQ(table->copy_async(ctx, nullptr, &byte, 1, stream), RANKFEED_GPU_INVALID);
  EXPECT_EQ(table->copy_async(ctx, &byte, nullptr, 1, stream), RANKFEED_GPU_INVALID);
  EXPECT_EQ(table->launch_host(ctx, stream, nullptr, nullptr), RANKFEED_GPU_INVALID);
  void* memory = nullptr;
  EXPECT_EQ(table->device_alloc(ctx, 0, &memory), RANKFEED_GPU_INVALID);
  EXPECT_EQ(table->device_alloc(ctx, SIZE_MAX, &memory), RANKFEED_GPU_NO_MEMORY);
  table->device_free(ctx, &byte);  // not its own: left alone
  table->stream_destroy(ctx, nullptr);
  void* none = nullptr;
  EXPECT_EQ(table->device_open(table->self, 1, &none), RANKFEED_GPU_NO_DEVICE);
  EXPECT_EQ(table->device_open(table->self, -1, &none), RANKFEED_GPU_NO_DEVICE);
}

}  // namespace
}  // namespace rankfeed::handoff
