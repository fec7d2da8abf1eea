// SPDX-License-Identifier: MIT
// crossencoder/emulation/emulator.cc: see emulator.h. Coroutines by ucontext; AddressSanitizer is
// told of every change of stack.
#include "crossencoder/emulation/emulator.h"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RANKFEED_EMULATOR_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define RANKFEED_EMULATOR_ASAN 1
#endif
#ifdef RANKFEED_EMULATOR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace rankfeed::handoff::emulation {
namespace {

constexpr size_t kStackBytes = 128 << 10;

struct Coroutine {
  ucontext_t context{};
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  bool done = false;
  void* fake_stack = nullptr;
};

struct Machine {
  std::vector<Coroutine> coroutines;
  ucontext_t scheduler{};
  std::string fault;
  std::vector<Word> shared;
  Coroutine* running = nullptr;
  const std::function<void()>* body = nullptr;
  Order order = Order::kForward;
  void* fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
};
thread_local Machine machine;

void Leave(bool for_good) {
  Coroutine* self = machine.running;
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &self->fake_stack, machine.scheduler_stack,
                                 machine.scheduler_stack_bytes);
#endif
  (void)for_good;
  swapcontext(&self->context, &machine.scheduler);
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(self->fake_stack, nullptr, nullptr);
#endif
}

void Main() {
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &machine.scheduler_stack,
                                  &machine.scheduler_stack_bytes);
#endif
  (*machine.body)();
  machine.running->done = true;
  Leave(true);
}

void Resume(Coroutine& coroutine, uint32_t thread) {
  machine.running = &coroutine;
  now.thread = thread;
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(&machine.fake_stack, coroutine.stack.get(), kStackBytes);
#endif
  swapcontext(&machine.scheduler, &coroutine.context);
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(machine.fake_stack, nullptr, nullptr);
#endif
}

struct Places {
  std::mutex mutex;
  std::vector<std::string> names;
  int omitted = -1;
};
Places& ThePlaces() {
  static Places* const places = new Places;
  return *places;
}

void RunBlock(uint32_t threads, size_t shared_words, std::mt19937& random) {
  machine.shared.assign(shared_words, Word());
  now.shared = machine.shared.data();
  now.shared_words = shared_words;
  now.phase = 1;
  for (uint32_t t = 0; t < threads; ++t) {
    Coroutine& coroutine = machine.coroutines[t];
    coroutine.done = false;
    getcontext(&coroutine.context);
    coroutine.context.uc_stack.ss_sp = coroutine.stack.get();
    coroutine.context.uc_stack.ss_size = kStackBytes;
    coroutine.context.uc_link = nullptr;
    makecontext(&coroutine.context, Main, 0);
  }
  std::vector<uint32_t> turn(threads);
  std::iota(turn.begin(), turn.end(), 0u);
  if (machine.order == Order::kBackward) std::reverse(turn.begin(), turn.end());
  for (;;) {
    if (machine.order == Order::kShuffled) std::shuffle(turn.begin(), turn.end(), random);
    for (const uint32_t t : turn) Resume(machine.coroutines[t], t);
    ++now.phase;
    uint32_t done = 0;
    for (uint32_t t = 0; t < threads; ++t) done += machine.coroutines[t].done;
    if (done != 0 && done != threads)
      machine.fault = "threads of a block returned while others wait";
    if (!machine.fault.empty() && done != 0)
      throw std::logic_error(std::exchange(machine.fault, ""));
    if (done == threads) return;
  }
}

}  // namespace

void Fault(const char* what, size_t index) {
  if (!machine.fault.empty()) return;
  machine.fault = std::string(what) + ": word " + std::to_string(index) + ", thread " +
                  std::to_string(now.thread) + ", after " + std::to_string(now.phase - 1) +
                  " Syncs";
}

void Sync(const char* file, int line) {
  const char* name = std::strrchr(file, '/');
  Places& places = ThePlaces();
  {
    const std::lock_guard lock(places.mutex);
    const std::string place = std::string(name ? name + 1 : file) + ":" + std::to_string(line);
    auto found = std::find(places.names.begin(), places.names.end(), place);
    if (found == places.names.end()) found = places.names.insert(found, place);
    if (found - places.names.begin() == places.omitted) return;
  }
  Leave(false);
}
std::vector<std::string> SyncPlaces() {
  const std::lock_guard lock(ThePlaces().mutex);
  return ThePlaces().names;
}
void OmitSync(int place) {
  const std::lock_guard lock(ThePlaces().mutex);
  ThePlaces().omitted = place;
}
void SetOrder(Order order) {
  machine.order = order;
}

void Run(uint32_t blocks_x, uint32_t blocks_y, uint32_t threads, size_t shared_words,
         const std::function<void()>& body) {
  if (machine.coroutines.size() < threads) machine.coroutines.resize(threads);
  machine.body = &body;
  now.threads = threads;
  std::mt19937 random(1);
  for (uint32_t y = 0; y < blocks_y; ++y) {
    for (uint32_t x = 0; x < blocks_x; ++x) {
      now.block_x = x;
      now.block_y = y;
      RunBlock(threads, shared_words, random);
    }
  }
}

}  // namespace rankfeed::handoff::emulation
