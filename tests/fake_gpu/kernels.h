// SPDX-License-Identifier: MIT
// kernels.h: the device source (gpu_handoff/crossencoder/kernels) run on the CPU by the emulation,
// by the names that nvcc and hipcc register.
#ifndef RANKFEED_TESTS_FAKE_GPU_KERNELS_H_
#define RANKFEED_TESTS_FAKE_GPU_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fake_gpu {

struct EmulatedKernel {
  std::string name;  // "HalvesAttentionKernel<F16, 64u>"
  std::vector<size_t> argument_bytes;
  std::function<void(void** arguments)> thread;  // what one thread does
};

// lanes: of a warp, 32 or 64. Null: there is none of that name.
const EmulatedKernel* FindKernel(const char* mangled, uint32_t lanes);
// Runs a grid; throws std::logic_error when threads of a block part at a barrier.
void RunKernel(const EmulatedKernel& kernel, uint32_t x, uint32_t y, uint32_t threads,
               uint32_t lanes, size_t shared_bytes, void** arguments);

// A place of a barrier that all threads pass, counted from 0 as kernels met them; -1: none.
void OmitBarrier(int place);

}  // namespace fake_gpu

#endif  // RANKFEED_TESTS_FAKE_GPU_KERNELS_H_
