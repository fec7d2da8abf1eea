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

// The event that a thread waits for.
enum class Wait { kNothing, kBlock, kWarp, kExchange, kDone };

struct Coroutine {
  ucontext_t context{};
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  Wait wait = Wait::kNothing;
  uint32_t exchanged = 0;        // how often
  uint32_t offered[2] = {0, 0};  // what the last two ExchangeInWarps gave, by turns
  void* fake_stack = nullptr;
};

struct Machine {
  std::vector<Coroutine> coroutines;
  ucontext_t scheduler{};
  std::string fault;
  std::vector<Word> shared;
  std::vector<uint32_t> warp_times;
  Coroutine* running = nullptr;
  const std::function<void()>* body = nullptr;
  Order order = Order::kForward;
  void* fake_stack = nullptr;
  const void* scheduler_stack = nullptr;
  size_t scheduler_stack_bytes = 0;
};
thread_local Machine machine;

// Back to the scheduler until what is waited for has come.
void Leave(Wait wait) {
  Coroutine* self = machine.running;
  self->wait = wait;
#ifdef RANKFEED_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(wait == Wait::kDone ? nullptr : &self->fake_stack,
                                 machine.scheduler_stack, machine.scheduler_stack_bytes);
#endif
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
  Leave(Wait::kDone);
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

void Start(Coroutine& coroutine) {
  coroutine.wait = Wait::kNothing;
  coroutine.exchanged = 0;
  getcontext(&coroutine.context);
  coroutine.context.uc_stack.ss_sp = coroutine.stack.get();
  coroutine.context.uc_stack.ss_size = kStackBytes;
  coroutine.context.uc_link = nullptr;
  makecontext(&coroutine.context, Main, 0);
}

// Indices below size in the order of threads.
std::vector<uint32_t> Turns(uint32_t size, std::mt19937& random) {
  std::vector<uint32_t> turns(size);
  std::iota(turns.begin(), turns.end(), 0u);
  if (machine.order == Order::kBackward) std::reverse(turns.begin(), turns.end());
  if (machine.order == Order::kShuffled) std::shuffle(turns.begin(), turns.end(), random);
  return turns;
}

// Ends the run. A fault in shared memory is more likely the cause than the way it ended.
[[noreturn]] void Stop(const char* why) {
  throw std::logic_error(machine.fault.empty() ? why : std::exchange(machine.fault, ""));
}

// Runs the threads [first, first + size) until all wait for the block or have returned.
void RunWarp(uint32_t first, uint32_t size, std::mt19937& random) {
  for (;;) {
    if (machine.coroutines[first].wait == Wait::kDone) return;  // and so have the others
    now.time.warp = machine.warp_times[first / now.lanes];
    for (const uint32_t t : Turns(size, random)) Resume(machine.coroutines[first + t], first + t);
    const Wait wait = machine.coroutines[first].wait;
    for (uint32_t t = 0; t < size; ++t) {
      const Wait other = machine.coroutines[first + t].wait;
      if (other == wait) continue;
      if ((wait == Wait::kDone && other == Wait::kBlock) ||
          (wait == Wait::kBlock && other == Wait::kDone))
        Stop("threads of a block returned while others wait");
      Stop("threads of a warp wait for different things");
    }
    if (wait == Wait::kWarp) ++machine.warp_times[first / now.lanes];
    if (wait == Wait::kBlock || wait == Wait::kDone) return;
  }
}

void RunBlock(const Grid& grid, std::mt19937& random) {
  const uint32_t warps = (grid.threads + grid.lanes - 1) / grid.lanes;
  machine.shared.assign(grid.shared_words, Word());
  machine.warp_times.assign(warps, 1);
  now.shared = machine.shared.data();
  now.shared_words = grid.shared_words;
  now.time = {1, 1};
  for (uint32_t t = 0; t < grid.threads; ++t) Start(machine.coroutines[t]);
  for (;;) {
    for (const uint32_t w : Turns(warps, random))
      RunWarp(w * grid.lanes, std::min(grid.lanes, grid.threads - w * grid.lanes), random);
    EndOfPhase();
    ++now.time.block;
    uint32_t done = 0;
    for (uint32_t w = 0; w < warps; ++w)
      done += machine.coroutines[w * grid.lanes].wait == Wait::kDone;
    if (done != 0 && done != warps) Stop("threads of a block returned while others wait");
    if (done != 0 && !machine.fault.empty()) Stop("");
    if (done != 0) return;
  }
}

// Whether the place is the one that is left out.
bool Omitted(const char* file, int line) {
  const char* name = std::strrchr(file, '/');
  Places& places = ThePlaces();
  const std::lock_guard lock(places.mutex);
  const std::string place = std::string(name ? name + 1 : file) + ":" + std::to_string(line);
  auto found = std::find(places.names.begin(), places.names.end(), place);
  if (found == places.names.end()) found = places.names.insert(found, place);
  return found - places.names.begin() == places.omitted;
}

}  // namespace

void Fault(const char* what, size_t index) {
  if (!machine.fault.empty()) return;
  machine.fault = std::string(what) + ": word " + std::to_string(index) + ", thread " +
                  std::to_string(now.thread) + ", after " + std::to_string(now.time.block - 1) +
                  " Syncs";
}

void Sync(const char* file, int line) {
  if (!Omitted(file, line)) Leave(Wait::kBlock);
}
void SyncWarp(const char* file, int line) {
  if (!Omitted(file, line)) Leave(Wait::kWarp);
}
uint32_t ExchangeInWarp(uint32_t bits, uint32_t mask) {
  // Two places by turns: a lane may come to its next exchange before others have read this one's.
  const uint32_t turn = machine.running->exchanged++ % 2;
  machine.running->offered[turn] = bits;
  Leave(Wait::kExchange);
  const uint32_t lane = now.thread % now.lanes;
  return machine.coroutines[now.thread - lane + (lane ^ mask)].offered[turn];
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

void Run(const Grid& grid, const std::function<void()>& body) {
  if (machine.coroutines.size() < grid.threads) machine.coroutines.resize(grid.threads);
  machine.body = &body;
  machine.fault.clear();
  now.threads = grid.threads;
  now.lanes = grid.lanes;
  std::mt19937 random(1);
  for (now.block_y = 0; now.block_y < grid.y; ++now.block_y) {
    for (now.block_x = 0; now.block_x < grid.x; ++now.block_x) RunBlock(grid, random);
  }
}

}  // namespace rankfeed::handoff::emulation
