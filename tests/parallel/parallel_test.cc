// SPDX-License-Identifier: MIT
#include "rankfeed/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "rerank/fake_model.h"
#include "support/sanitizers.h"

namespace rankfeed::rerank {
namespace {

class Parallel {
 public:
  explicit Parallel(uint32_t workers) {
    EXPECT_EQ(rankfeed_parallel_open(workers, &parallel_), RANKFEED_OK);
  }
  ~Parallel() { rankfeed_parallel_close(parallel_); }
  const rankfeed_executor& executor() const { return *rankfeed_parallel_executor(parallel_); }

 private:
  rankfeed_parallel* parallel_ = nullptr;
};

// Counts visits of each index, and looks for one worker in two tasks at once.
struct Probe {
  explicit Probe(size_t count, uint32_t worker_count)
      : visits(new std::atomic<int>[count]()),
        busy(new std::atomic<bool>[worker_count]()),
        workers(worker_count) {}
  static void Task(void* context, size_t begin, size_t end, uint32_t worker) {
    auto& self = *static_cast<Probe*>(context);
    if (worker >= self.workers || self.busy[worker].exchange(true)) ++self.errors;
    for (size_t i = begin; i < end; ++i) ++self.visits[i];
    self.busy[worker] = false;
  }
  std::unique_ptr<std::atomic<int>[]> visits;
  std::unique_ptr<std::atomic<bool>[]> busy;
  uint32_t workers;
  std::atomic<int> errors{0};
};

TEST(Parallel, EveryIndexOnceAndWorkersApart) {
  for (const uint32_t workers : {1u, 2u, 5u}) {
    const Parallel parallel(workers);
    const rankfeed_executor& executor = parallel.executor();
    ASSERT_EQ(executor.workers, workers);
    for (const size_t count : {0, 1, 2, 7, 1000}) {
      Probe probe(count, workers);
      ASSERT_EQ(executor.parallel_for(executor.context, count, &Probe::Task, &probe), RANKFEED_OK);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(probe.visits[i], 1);
      EXPECT_EQ(probe.errors, 0);
    }
  }
}

TEST(Parallel, SharedBySeveralCallers) {
  const Parallel parallel(3);
  const rankfeed_executor& executor = parallel.executor();
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Probe probe(200, 3);
        EXPECT_EQ(executor.parallel_for(executor.context, 200, &Probe::Task, &probe), RANKFEED_OK);
        for (size_t k = 0; k < 200; ++k) EXPECT_EQ(probe.visits[k], 1);
        EXPECT_EQ(probe.errors, 0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Parallel, DefaultAndErrors) {
  const Parallel parallel(0);
  EXPECT_GE(parallel.executor().workers, 1u);
  rankfeed_parallel* none = nullptr;
  EXPECT_EQ(rankfeed_parallel_open(1, nullptr), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_parallel_open(0x80000000u, &none), RANKFEED_E_ARGUMENT);
  EXPECT_EQ(rankfeed_parallel_executor(nullptr), nullptr);
  rankfeed_parallel_close(nullptr);
}

TEST(Parallel, RequestsAsOnOneThread) {
  FakeRequest request;
  request.query = request.Text("a query");
  for (size_t i = 0; i < 200; ++i) {
    request.documents.push_back(
        request.Text(std::string(i * 7 % 90, static_cast<char>('a' + i % 26))));
  }
  const Arena arena(1 << 20);
  for (const uint8_t sort : {RANKFEED_SORT_NONE, RANKFEED_SORT_DESCENDING}) {
    rankfeed_rerank_options options = FakeOptions();
    options.max_rows_per_batch = 16;
    options.sort = sort;
    request.executor = nullptr;
    FakeReranker one(options, FakeLimits(200, 200, 20000));
    const auto expected = RunAll(one, request, arena);
    for (const uint32_t workers : {1u, 2u, 4u}) {
      const Parallel parallel(workers);
      request.executor = &parallel.executor();
      FakeReranker many(options, FakeLimits(200, 200, 20000, workers));
      const auto found = RunAll(many, request, arena);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i].bytes, expected[i].bytes);
    }
  }
}

}  // namespace
}  // namespace rankfeed::rerank
