// SPDX-License-Identifier: MIT
// emulation/emulator.cc: see emulator.h. Coroutines by ucontext; AddressSanitizer is told of every
// change of stack.
#include "emulation/emulator.h"

#include <ucontext.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
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
  Position now;
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
  machine.now.thread = thread;
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(&machine.fake_stack, coroutine.stack.get(), kStackBytes);
#endif
  swapcontext(&machine.scheduler, &coroutine.context);
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(machine.fake_stack, nullptr, nullptr);
#endif
}

void RunBlock(uint32_t threads, size_t shared_floats, std::mt19937& random) {
  // Not a number everywhere: what a kernel reads before writing shows in its results.
  const std::unique_ptr<float[]> shared(new float[shared_floats]);
  std::fill_n(shared.get(), shared_floats, std::numeric_limits<float>::quiet_NaN());
  machine.now.shared = shared.get();
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
    uint32_t done = 0;
    for (uint32_t t = 0; t < threads; ++t) done += machine.coroutines[t].done;
    if (done == threads) return;
    if (done != 0) throw std::logic_error("threads of a block returned while others wait in Sync");
  }
}

}  // namespace

const Position& Now() {
  return machine.now;
}
void Sync() {
  Leave(false);
}
void SetOrder(Order order) {
  machine.order = order;
}

void Run(uint32_t blocks_x, uint32_t blocks_y, uint32_t threads, size_t shared_floats,
         const std::function<void()>& body) {
  if (machine.coroutines.size() < threads) machine.coroutines.resize(threads);
  machine.body = &body;
  machine.now.threads = threads;
  std::mt19937 random(1);
  for (uint32_t y = 0; y < blocks_y; ++y) {
    for (uint32_t x = 0; x < blocks_x; ++x) {
      machine.now.block_x = x;
      machine.now.block_y = y;
      RunBlock(threads, shared_floats, random);
    }
  }
}

}  // namespace rankfeed::handoff::emulation
