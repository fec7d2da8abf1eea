// SPDX-License-Identifier: MIT
// crossencoder/kernels/portable.h: the few words that the kernels are written in, for nvcc, for
// hipcc, and for a C++ compiler with the emulation (emulation/emulator.h). No inline assembly, no
// lanes, no warp size: threads of a block meet at RF_SYNC and in shared memory only, so 32 and 64
// lanes are the same.
//
//   RF_KERNEL(threads)  a function that a grid of blocks of at most that many threads runs
//   RF_DEVICE           a function that kernels call
//   RF_THREAD, RF_THREADS   index of the thread in its block, threads of a block
//   RF_BLOCK_X, RF_BLOCK_Y  index of the block in the grid
//   RF_SYNC()           all threads of the block wait for one another; all of them must come
//   RF_UNROLL           before a loop of constant length over an array that has to stay in
//   registers RF_SHARED(name)     the block's shared memory, as large as the launch said, of type
//   RF_SHARED_POINTER(type)   float or int32_t; RF_SHARED_AS(type, pointer) from one to the other
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
#define RF_SHARED_POINTER(type) type*
#define RF_SHARED(name) extern __shared__ float name[]
#define RF_SHARED_AS(type, pointer) reinterpret_cast<type*>(pointer)

#else

#include "crossencoder/emulation/emulator.h"

#define RF_KERNEL(threads) static void
#define RF_DEVICE static inline
#define RF_THREAD (::rankfeed::handoff::emulation::Now().thread)
#define RF_THREADS (::rankfeed::handoff::emulation::Now().threads)
#define RF_BLOCK_X (::rankfeed::handoff::emulation::Now().block_x)
#define RF_BLOCK_Y (::rankfeed::handoff::emulation::Now().block_y)
#define RF_UNROLL
#define RF_SYNC() ::rankfeed::handoff::emulation::Sync(__FILE__, __LINE__)
#define RF_SHARED_POINTER(type) ::rankfeed::handoff::emulation::Shared<type>
#define RF_SHARED(name) RF_SHARED_POINTER(float) const name(0)
#define RF_SHARED_AS(type, pointer) (pointer).As<type>()

#endif

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_KERNELS_PORTABLE_H_
