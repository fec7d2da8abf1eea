// SPDX-License-Identifier: MIT
// parallel/parallel.cc: the oneTBB arena of rankfeed_executor.
//
// Workers are the slots of the arena: a thread in it has a slot number that no other thread has at
// the same time, which is exactly what an encoder per worker needs. A task never waits inside
// another, so a thread cannot enter a second task of the same request while it is in one.
//
// A forked child has none of its parent's threads, and the locks of oneTBB are as those threads left
// them. So nothing of oneTBB is touched there once the parent has used it: the calling thread runs
// all of a request, and what the parent opened is left where it is.
#include "rankfeed/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <limits>
#include <new>
#include <optional>

#ifndef _WIN32
#include <unistd.h>
#endif

#include "parallel/cpus.h"

namespace {

#ifdef _WIN32
long Process() { return 1; }
#else
long Process() { return static_cast<long>(getpid()); }
#endif

// The process that oneTBB has its threads in, 0 before its first use.
std::atomic<long> threads_of{0};

// Whether oneTBB can be used here; from then on its threads are this process's.
bool HasThreads() {
  long process = 0;
  return threads_of.compare_exchange_strong(process, Process()) || process == Process();
}

}  // namespace

struct rankfeed_parallel {
  explicit rankfeed_parallel(int workers) {
    for (rankfeed_executor* e : {&executor, &alone}) {
      e->struct_size = sizeof(*e);
      e->workers = e == &alone ? 1 : static_cast<uint32_t>(workers);
      e->context = this;
      e->parallel_for = &Run;
    }
    if (!HasThreads()) return;
    arena.emplace(workers);
    // oneTBB has no more threads than processors unless told to; it would warn on stderr and
    // ignore the rest.
    if (workers > tbb::this_task_arena::max_concurrency()) {
      more_threads.emplace(tbb::global_control::max_allowed_parallelism,
                           static_cast<size_t>(workers));
    }
  }

  static rankfeed_status Run(void* context, size_t count, rankfeed_task task, void* task_context) {
    auto* self = static_cast<rankfeed_parallel*>(context);
    if (!self->has_threads()) {
      if (count != 0) task(task_context, 0, count, 0);
      return RANKFEED_OK;
    }
    try {
      self->arena->execute([&] {
        tbb::parallel_for(tbb::blocked_range<size_t>(0, count), [&](const auto& range) {
          const int slot = tbb::this_task_arena::current_thread_index();
          task(task_context, range.begin(), range.end(), static_cast<uint32_t>(slot));
        });
      });
    } catch (...) {  // tasks do not throw; what is left is memory for oneTBB's own
      return RANKFEED_E_NO_MEMORY;
    }
    return RANKFEED_OK;
  }

  bool has_threads() const { return arena && HasThreads(); }

  rankfeed_executor executor = {}, alone = {};  // with threads, and without
  std::optional<tbb::global_control> more_threads;
  std::optional<tbb::task_arena> arena;  // none in a child of a process that has one
};

rankfeed_status rankfeed_parallel_open(uint32_t workers, rankfeed_parallel** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (workers > static_cast<uint32_t>(std::numeric_limits<int>::max())) return RANKFEED_E_ARGUMENT;
  try {
    const uint32_t count = workers != 0 ? workers : rankfeed::UsableCpus();
    *out = new rankfeed_parallel(static_cast<int>(count));
  } catch (...) {
    return RANKFEED_E_NO_MEMORY;
  }
  return RANKFEED_OK;
}

const rankfeed_executor* rankfeed_parallel_executor(const rankfeed_parallel* parallel) {
  if (parallel == nullptr) return nullptr;
  return parallel->has_threads() ? &parallel->executor : &parallel->alone;
}

void rankfeed_parallel_close(rankfeed_parallel* parallel) {
  if (parallel != nullptr && parallel->arena && !HasThreads()) return;
  delete parallel;
}
