// SPDX-License-Identifier: MIT
// kernels/kernels.inl: all kernels of the cross-encoder, in one translation unit per compiler. The
// includer has opened its own namespace; headers were included before.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define RF_DEVICE_MEMBER static __device__ __forceinline__
#define RF_DEVICE_CALL __device__ __forceinline__
#else
#define RF_DEVICE_MEMBER static inline
#define RF_DEVICE_CALL inline
#endif

#include "kernels/elements.inl"
// One after the other: each uses those before.
#include "kernels/attention.inl"
#include "kernels/gemm.inl"
#include "kernels/norm.inl"
#include "kernels/rows.inl"
