// SPDX-License-Identifier: MIT
// kernels/kernels.inl: all kernels of the cross-encoder, in one translation unit per compiler. The
// includer has opened its own namespace; headers were included before.
#undef RF_DEVICE_MEMBER
#undef RF_DEVICE_CALL
#if defined(__CUDACC__) || defined(__HIPCC__)
#define RF_DEVICE_MEMBER static __device__ __forceinline__
#define RF_DEVICE_CALL __device__ __forceinline__
#else
#define RF_DEVICE_MEMBER static inline
#define RF_DEVICE_CALL inline
#endif

// One after the other: each uses those before.
// clang-format off
#include "crossencoder/kernels/elements.inl"
#include "crossencoder/kernels/pieces.inl"
#include "crossencoder/kernels/mma.inl"
#include "crossencoder/kernels/attention.inl"
#include "crossencoder/kernels/attention_halves.inl"
#include "crossencoder/kernels/gemm.inl"
#include "crossencoder/kernels/norm.inl"
#include "crossencoder/kernels/rows.inl"
// clang-format on
