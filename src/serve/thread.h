// SPDX-License-Identifier: MIT
// serve/thread.h: the threads of a service, and the memory that each keeps for the moment in which there is
// no more of it.
//
// Ending a request for want of memory needs a little memory itself: an exception unwinds, destructors of JSON
// values allocate and may not fail (nlohmann-json 3.11), and the event loop queues an answer. So a thread
// holds a block that it gives up when operator new finds nothing; what was asked for is tried once more.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

namespace rankfeed::serve {

// The calling thread's block, while this lives; there is one in a thread.
class Reserve {
 public:
  explicit Reserve(size_t bytes) noexcept;
  ~Reserve();
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  // Takes the calling thread's block again where it was given up and there is memory. Of a thread without a
  // Reserve nothing.
  static void Refill() noexcept;

 private:
  // The process's new_handler: throws bad_alloc where the thread has nothing to give up.
  static void GiveUp();
  const size_t bytes_;
  void* block_ = nullptr;
};

// Starts a thread that runs f with a Reserve. Throws std::runtime_error, which names it, where the system has
// no thread or no memory for it.
std::thread StartThread(const char* name, size_t reserve, std::function<void()> f);

}  // namespace rankfeed::serve
