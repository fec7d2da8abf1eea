// SPDX-License-Identifier: MIT
// crossencoder/kernels/portable.h: the few words that the kernels are written in, for nvcc, for
// hipcc, and for a C++ compiler with the emulation (emulation/emulator.h). No inline assembly.
// A warp has RF_WARP lanes, 32 on NVIDIA and 64 on CDNA. Lanes meet at
// RF_SYNC_WARP and in RF_FROM_LANE_XOR, the threads of a block at RF_SYNC and in shared memory;
// matrix units have a file of their own (mma.inl).
//
//   RF_KERNEL(threads)  a function that a grid of blocks of at most that many threads runs
//   RF_DEVICE           a function that kernels call
//   RF_THREAD, RF_THREADS   index of the thread in its block, threads of a block
//   RF_BLOCK_X, RF_BLOCK_Y  index of the block in the grid
//   RF_SYNC()           all threads of the block wait for one another; all of them must come
//   RF_SYNC_WARP()      the same of the lanes of a warp, and what they wrote to shared memory is
//                       there for each other
//   RF_FROM_LANE_XOR(value, mask)   the float `value` of lane (own lane ^ mask); all lanes come
//   RF_UNROLL           before a loop of constant length over an array that has to stay in
//                       registers; RF_UNROLL_BY(times), a constant: no further than that
//   RF_SHARED(name)     the block's shared memory, as large as the launch said, of type
//   RF_SHARED_POINTER(type)   float, int32_t or uint32_t; RF_SHARED_AS(type, pointer) from one to
//                       another
//   RF_TOUCH(pointer)   before an access to global memory, for the emulation's counts
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_PORTABLE_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_PORTABLE_H_

#if defined(__CUDACC__) || defined(__HIPCC__)

#define RF_KERNEL(threads) static __global__ void __launch_bounds__(threads)
#define RF_DEVICE static __device__ inline
#define RF_THREAD static_cast<uint32_t>(threadIdx.x)
#define RF_THREADS static_cast<uint32_t>(blockDim.x)
#define RF_BLOCK_X static_cast<uint32_t>(blockIdx.x)
#define RF_BLOCK_Y static_cast<uint32_t>(blockIdx.y)
#define RF_SYNC() __syncthreads()
#define RF_UNROLL _Pragma("unroll")
#define RF_PRAGMA(text) _Pragma(#text)
#define RF_UNROLL_BY(times) RF_PRAGMA(unroll times)
#define RF_SHARED_POINTER(type) type*
#define RF_SHARED(name) extern __shared__ __align__(16) float name[]
#define RF_SHARED_AS(type, pointer) reinterpret_cast<type*>(pointer)
#define RF_TOUCH(pointer) static_cast<void>(0)

#if defined(__CUDACC__)
#define RF_WARP 32u
#define RF_SYNC_WARP() __syncwarp()
#define RF_FROM_LANE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#else
// Every CDNA device; RDNA, which may have 32, has no target here.
#define RF_WARP 64u
#if defined(__HIP_DEVICE_COMPILE__)
static_assert(__AMDGCN_WAVEFRONT_SIZE == 64, "the launches count on warps of 64 lanes");
#endif
// The lanes run in step; the compiler alone must not move accesses across.
#define RF_SYNC_WARP()                                     \
  do {                                                     \
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); \
    __builtin_amdgcn_wave_barrier();                       \
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); \
  } while (false)
#define RF_FROM_LANE_XOR(value, mask) __shfl_xor(value, mask)
#endif

#else

#include "crossencoder/emulation/emulator.h"

// RF_WARP: the includer of kernels.inl says which warp it emulates.
#define RF_KERNEL(threads) static void
#define RF_DEVICE static inline
#define RF_THREAD (::rankfeed::handoff::emulation::Now().thread)
#define RF_THREADS (::rankfeed::handoff::emulation::Now().threads)
#define RF_BLOCK_X (::rankfeed::handoff::emulation::Now().block_x)
#define RF_BLOCK_Y (::rankfeed::handoff::emulation::Now().block_y)
#define RF_UNROLL
#define RF_UNROLL_BY(times)
#define RF_SYNC() ::rankfeed::handoff::emulation::Sync(__FILE__, __LINE__)
#define RF_SYNC_WARP() ::rankfeed::handoff::emulation::SyncWarp(__FILE__, __LINE__)
#define RF_FROM_LANE_XOR(value, mask) ::rankfeed::handoff::emulation::FromLaneXor(value, mask)
#define RF_SHARED_POINTER(type) ::rankfeed::handoff::emulation::Shared<type>
#define RF_SHARED(name) RF_SHARED_POINTER(float) const name(0)
#define RF_SHARED_AS(type, pointer) (pointer).As<type>()
#define RF_TOUCH(pointer)                                                                \
  ::rankfeed::handoff::emulation::Touch(::rankfeed::handoff::emulation::Memory::kGlobal, \
                                        reinterpret_cast<uint64_t>(pointer), sizeof *(pointer))

#endif

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_PORTABLE_H_
