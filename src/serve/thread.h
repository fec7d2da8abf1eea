// SPDX-License-Identifier: MIT
// serve/thread.h: the threads of a service, and the memory that each keeps for the moment in which there is
// no more of it.
//
// Ending a request for want of memory needs a little memory itself: an exception unwinds, destructors of JSON
// values allocate and may not fail (nlohmann-json 3.11), and the event loop queues the end of a coroutine. So a
// thread holds a block that it gives up when operator new finds nothing; what was asked for is tried once more.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

namespace rankfeed::serve {

// The calling thread's block, while this lives; there is one in a thread.
class Reserve {
 public:
  Reserve() noexcept;
  ~Reserve();
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  // Takes the calling thread's block again where it was given up; false where there is no memory for it. True for
  // a thread without a Reserve.
  static bool Refill() noexcept;
  // Throws std::bad_alloc where the calling thread's block was given up: long work that has come to that ends,
  // while there is memory to end it.
  static void Check();

  // While this lives, the calling thread's block is not given up: for memory that a request may be refused for,
  // and that could take the whole block.
  class Spared {
   public:
    Spared() noexcept;
    ~Spared();
    Spared(const Spared&) = delete;
    Spared& operator=(const Spared&) = delete;
  };

 private:
  // The process's new_handler: throws bad_alloc where the thread has nothing to give up.
  static void GiveUp();
  void* block_ = nullptr;
  bool spared_ = false;
};

// Starts a thread that runs f with a Reserve. Throws std::runtime_error, which names it, where the system has
// no thread or no memory for it.
std::thread StartThread(const char* name, std::function<void()> f);

}  // namespace rankfeed::serve
