// SPDX-License-Identifier: MIT
// serve/loader.h: the thread that replaces the set of assets while the service answers.
//
//   POST /admin/reload -> Take -> loads, swaps, answers     one set at a time; another request is refused
//   SIGHUP -> Repeat -> loads what was last loaded          one that comes meanwhile is remembered, once
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "serve/assets.h"
#include "serve/http.h"

namespace rankfeed::serve {

struct State;

class Loader {
 public:
  // Starts the thread. Throws std::runtime_error.
  explicit Loader(State* state);
  // Waits for the set that is being loaded.
  ~Loader();
  // Loads what the body says in place of what the current set was loaded from, and calls done once. False,
  // and nothing happens, while a set is loaded or is to be. Any thread.
  bool Take(Request request, std::function<void(Response)> done);
  // Loads what was last loaded, once the set is there that is being loaded; the log has how that went. Any thread.
  void Repeat() noexcept;

 private:
  struct Job {
    Request request;
    std::function<void(Response)> done;
  };
  void Run();
  Error Swap(const AssetPaths& paths, const char* by);
  Response Reload(const Request& request);

  State* const state_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Job> job_;
  bool loading_ = false, again_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace rankfeed::serve
