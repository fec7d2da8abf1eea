// SPDX-License-Identifier: MIT
// serve/workers.cc: see workers.h.
#include "serve/workers.h"

#include "serve/dialect.h"
#include "serve/thread.h"

namespace rankfeed::serve {

Workers::Workers(const Options& options, AssetBox* assets) : options_(options), assets_(assets) {
  try {
    threads_.reserve(options.workers);
    for (uint32_t i = 0; i < options.workers; ++i)
      threads_.push_back(StartThread("answers requests (--workers)", [this] { Run(); }));
  } catch (...) {
    Stop();
    throw;
  }
}

Workers::Admission Workers::Submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Admission::kStopping;
    if (queue_.size() >= options_.queue) return Admission::kFull;
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
  return Admission::kQueued;
}

void Workers::Refresh() {
  {
    const std::lock_guard lock(mutex_);
    ++refreshed_;
  }
  wake_.notify_all();
}

size_t Workers::depth() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Workers::Run() {
  Scorer scorer(options_, &cancel_);
  for (uint64_t seen = 0;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty() || refreshed_ != seen; });
      seen = refreshed_;
      if (!queue_.empty()) {
        task = std::move(queue_.front());
        queue_.pop_front();
      } else if (stopping_) {
        return;  // nothing left to do
      }
    }
    scorer.Use(assets_->Get());
    if (task) task(&scorer);
    Reserve::Refill();
  }
}

void Workers::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace rankfeed::serve
