// SPDX-License-Identifier: MIT
// emulation/emulator.h: TEST SURFACE. Runs kernels (kernels/portable.h) on the CPU: block after
// block, the threads of a block as coroutines that switch at Sync only. Finds wrong indices (with
// AddressSanitizer, which sees shared memory as a heap block of exactly the launch's size), missing
// synchronization (threads run in another order between two Syncs when Order changes; results must
// not), and threads that leave others waiting.
#ifndef RANKFEED_GPU_HANDOFF_EMULATION_EMULATOR_H_
#define RANKFEED_GPU_HANDOFF_EMULATION_EMULATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace rankfeed::handoff::emulation {

struct Position {
  uint32_t thread = 0, threads = 0, block_x = 0, block_y = 0;
  float* shared = nullptr;
};

// Where the running thread is. Only inside kernels.
const Position& Now();
void Sync();

// The order in which threads run between two Syncs.
enum class Order { kForward, kBackward, kShuffled };
void SetOrder(Order order);  // for the calling thread; kForward at first

// Runs body once per thread of every block. Throws std::logic_error when some threads of a block
// have returned while others wait in Sync.
void Run(uint32_t blocks_x, uint32_t blocks_y, uint32_t threads, size_t shared_floats,
         const std::function<void()>& body);

}  // namespace rankfeed::handoff::emulation

#endif  // RANKFEED_GPU_HANDOFF_EMULATION_EMULATOR_H_
