// SPDX-License-Identifier: MIT
// crossencoder/emulation/access_counts.h: TEST SURFACE. What the memory accesses of an emulated
// kernel would cost a device: bank conflicts in shared memory, sectors of global memory.
//
// The k-th access that the lanes of a warp make at one place of the code between two Syncs is one
// request. Shared memory has 32 banks of 4 bytes; a request of 4, 8 or 16 bytes a lane goes 32, 16
// or 8 lanes at a time, and takes as many cycles as the bank with the most different words has of
// them (CUDA C++ Programming Guide, compute capability 5.x and later; AMD CDNA2 ISA, LDS: the same
// number and width of banks). Global memory moves sectors of 32 bytes.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_ACCESS_COUNTS_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_ACCESS_COUNTS_H_

#include <cstddef>
#include <cstdint>

namespace rankfeed::handoff::emulation {

enum class Memory { kShared, kGlobal };

struct AccessCounts {
  uint64_t shared_requests = 0;
  uint64_t shared_cycles = 0;          // 1 for every group of lanes that go at once, and conflicts
  uint64_t shared_cycles_at_best = 0;  // without conflicts
  uint64_t global_requests = 0;
  uint64_t sectors = 0;
  uint64_t sectors_at_best = 0;  // the bytes that lanes asked for, each once, in whole sectors
};

// Counts what the calling thread's kernels do from here on; null: stops. Kept by the caller.
void CountAccesses(AccessCounts* counts);

// One access of the running lane: `bytes` from `address` on, an offset in shared memory.
inline thread_local AccessCounts* counting = nullptr;
void TouchSlowly(Memory memory, uint64_t address, uint32_t bytes, const void* place);
#if defined(__GNUC__)
__attribute__((noinline))
#endif
inline void
TouchHere(Memory memory, uint64_t address, uint32_t bytes) {
  TouchSlowly(memory, address, bytes, __builtin_return_address(0));
}
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
inline void
Touch(Memory memory, uint64_t address, uint32_t bytes) {
  if (counting != nullptr) [[unlikely]]
    TouchHere(memory, address, bytes);
}
// The end of what one Sync orders: requests are complete.
void EndOfPhase();

// The cost of a warp's load of an operand of 16 x 16 half types, rows of shared memory `stride`
// bytes apart. 32 lanes: 8 rows of 16 bytes at a time (PTX ISA, ldmatrix). 64 lanes: four elements
// of depth each, beside one another where depth runs along the rows (AMD CDNA2 ISA, MFMA register
// layout).
void TouchMatrix(uint64_t address, uint32_t stride, bool depth_along_rows);

}  // namespace rankfeed::handoff::emulation

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_EMULATION_ACCESS_COUNTS_H_
