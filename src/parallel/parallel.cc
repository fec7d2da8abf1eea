// SPDX-License-Identifier: MIT
// parallel/parallel.cc: the oneTBB arena of rankfeed_executor.
//
// Workers are the slots of the arena: a thread in it has a slot number that no other thread has at
// the same time, which is exactly what an encoder per worker needs. A task never waits inside
// another, so a thread cannot enter a second task of the same request while it is in one.
#include "rankfeed/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <limits>
#include <new>
#include <optional>

struct rankfeed_parallel {
  explicit rankfeed_parallel(int workers) : arena(workers) {
    executor.struct_size = sizeof(executor);
    executor.workers = static_cast<uint32_t>(workers);
    executor.context = this;
    executor.parallel_for = &Run;
    // oneTBB has no more threads than processors unless told to; it would warn on stderr and
    // ignore the rest.
    if (workers > tbb::this_task_arena::max_concurrency()) {
      more_threads.emplace(tbb::global_control::max_allowed_parallelism,
                           static_cast<size_t>(workers));
    }
  }

  static rankfeed_status Run(void* context, size_t count, rankfeed_task task, void* task_context) {
    auto* self = static_cast<rankfeed_parallel*>(context);
    try {
      self->arena.execute([&] {
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

  rankfeed_executor executor = {};
  std::optional<tbb::global_control> more_threads;
  tbb::task_arena arena;
};

rankfeed_status rankfeed_parallel_open(uint32_t workers, rankfeed_parallel** out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  *out = nullptr;
  if (workers > static_cast<uint32_t>(std::numeric_limits<int>::max())) return RANKFEED_E_ARGUMENT;
  try {
    const int count =
        workers != 0 ? static_cast<int>(workers) : tbb::this_task_arena::max_concurrency();
    *out = new rankfeed_parallel(count);
  } catch (...) {
    return RANKFEED_E_NO_MEMORY;
  }
  return RANKFEED_OK;
}

const rankfeed_executor* rankfeed_parallel_executor(const rankfeed_parallel* parallel) {
  return parallel != nullptr ? &parallel->executor : nullptr;
}

void rankfeed_parallel_close(rankfeed_parallel* parallel) {
  delete parallel;
}
