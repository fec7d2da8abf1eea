// SPDX-License-Identifier: MIT
#include "rankfeed/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "parallel/cpus.h"
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

// Whether each index was visited once, by workers that were not in two tasks at once.
bool Works(const rankfeed_executor* executor) {
  Probe probe(1000, executor->workers);
  if (executor->parallel_for(executor->context, 1000, &Probe::Task, &probe) != RANKFEED_OK) return false;
  for (size_t i = 0; i < 1000; ++i) {
    if (probe.visits[i] != 1) return false;
  }
  return probe.errors == 0;
}

// The exit status of a child that runs work, or of none in time: 128 and the signal.
template <class Work>
int InChild(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(work());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// As others were hit: huggingface/tokenizers#187, huggingface/datasets#688. The child has none of the
// threads that its parent's requests run on, and another thread is in a request when it is made.
TEST(Parallel, AForkedChildWorksAlone) {
  // The allocator of AddressSanitizer keeps locks across a fork that another thread held (LLVM 14), and a
  // child waits for ever in its first malloc.
  if (kSanitized) GTEST_SKIP() << "AddressSanitizer's allocator does not survive a fork beside threads";
  rankfeed_parallel* parents = nullptr;
  ASSERT_EQ(rankfeed_parallel_open(4, &parents), RANKFEED_OK);
  const rankfeed_executor* const executor = rankfeed_parallel_executor(parents);
  ASSERT_EQ(executor->workers, 4u);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) EXPECT_TRUE(Works(executor));
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InChild([&] {
                if (!Works(executor)) return 1;  // as the parent has got it
                const rankfeed_executor* const here = rankfeed_parallel_executor(parents);
                if (here->workers != 1 || !Works(here)) return 2;
                rankfeed_parallel* own = nullptr;
                if (rankfeed_parallel_open(4, &own) != RANKFEED_OK) return 3;
                const rankfeed_executor* const owns = rankfeed_parallel_executor(own);
                if (owns->workers != 1 || !Works(owns)) return 4;
                const int grandchild = InChild([&] { return Works(owns) && Works(executor) ? 0 : 1; });
                rankfeed_parallel_close(own);
                rankfeed_parallel_close(parents);
                return grandchild;
              }),
              0);
  }
  done = true;
  other.join();
  EXPECT_EQ(rankfeed_parallel_executor(parents)->workers, 4u);
  EXPECT_TRUE(Works(executor));
  rankfeed_parallel_close(parents);
}

// A program that a forked child becomes has threads of its own.
TEST(Parallel, AProgramAfterForkHasThreads) {
  const Parallel parallel(4);
  EXPECT_TRUE(Works(&parallel.executor()));
  EXPECT_EQ(InChild([] {
              execl("/proc/self/exe", "parallel_test", "--gtest_brief=1",
                    "--gtest_filter=Parallel.EveryIndexOnceAndWorkersApart", nullptr);
              return 127;
            }),
            0);
}

// Files of /proc and of groups, in a folder of their own.
class Groups {
 public:
  Groups() {
    std::string name = testing::TempDir() + "/rankfeed_groups_XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~Groups() { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  uint32_t Cpus() const { return QuotaCpus(root_); }

 private:
  std::string root_;
};

// As others were hit: nanoporetech/dorado#1223, huggingface/text-embeddings-inference#404.
TEST(Cpus, QuotaOfVersionTwo) {
  Groups groups;
  EXPECT_EQ(groups.Cpus(), 0u);
  groups.Write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(groups.Cpus(), 0u);
  groups.Write("/proc/self/mountinfo",
               "24 1 0:22 / /proc rw - proc proc rw\n"
               "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(groups.Cpus(), 0u);
  groups.Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(groups.Cpus(), 0u);
  groups.Write("/sys/fs/cgroup/a/cpu.max", "350000 100000\n");  // of the group around it
  EXPECT_EQ(groups.Cpus(), 4u);
  groups.Write("/sys/fs/cgroup/a/b/cpu.max", "5000 10000\n");
  EXPECT_EQ(groups.Cpus(), 1u);
  groups.Write("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(groups.Cpus(), 2u);
  groups.Write("/sys/fs/cgroup/a/b/cpu.max", "nonsense");
  EXPECT_EQ(groups.Cpus(), 4u);
}

TEST(Cpus, QuotaOfVersionOne) {
  Groups groups;
  groups.Write("/proc/self/cgroup", "5:memory:/docker/1\n4:cpuset:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n");
  groups.Write("/proc/self/mountinfo",
               "31 24 0:27 /docker/1 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
               "32 24 0:28 /docker/1 /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n");
  EXPECT_EQ(groups.Cpus(), 0u);
  groups.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  groups.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.Cpus(), 0u);
  groups.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(groups.Cpus(), 3u);
}

TEST(Cpus, AffinityIsCounted) {
  EXPECT_GE(UsableCpus(), 1u);
  std::thread([] {
    cpu_set_t set, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(UsableCpus(), 1u);
    const Parallel parallel(0);
    EXPECT_EQ(parallel.executor().workers, 1u);
  }).join();
}

}  // namespace
}  // namespace rankfeed::rerank
