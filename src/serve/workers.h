// SPDX-License-Identifier: MIT
// serve/workers.h: a bounded queue and the threads that tokenize and score what is in it, each with
// a Scorer.
//
//   loop's thread: Submit -> queue full: refused at once (HTTP 429)
//   worker thread: takes a task, with the set of assets that is current then
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/scorer.h"

namespace rankfeed::serve {

using Task = std::function<void(Scorer*)>;  // throws nothing

class Workers {
 public:
  // Throws std::runtime_error where a thread cannot be started.
  Workers(const Options& options, AssetBox* assets);
  ~Workers() { Stop(); }
  enum class Admission { kQueued, kFull, kStopping };
  Admission Submit(Task task);
  // Idle workers let go of a set that was replaced.
  void Refresh();
  // From now on tasks end early: rankfeed_control's cancel.
  void Cancel() { __atomic_store_n(&cancel_, 1, __ATOMIC_RELAXED); }
  // Lets queued and running tasks finish and refuses new ones.
  void Stop();
  size_t depth() const;

 private:
  void Run();
  const Options& options_;
  AssetBox* const assets_;
  uint32_t cancel_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  uint64_t refreshed_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rankfeed::serve
