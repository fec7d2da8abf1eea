// SPDX-License-Identifier: MIT
// crossencoder/host/product.h: the host's matrix products, float32, in SIMD (Highway, chosen at run
// time).
//
// An element of a product is its bias and the sums of at most kProductDepth multiplied elements at
// a time, in order, each added to the sum before it in one rounding where the CPU has fused
// multiply-add. So what a row gets depends on that row alone, and is the same to the bit on every
// such CPU.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_PRODUCT_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace rankfeed::handoff {

// The most that is summed at a time: 32 columns of it lie in a first-level cache of 48 KB, which
// CPUs with AVX-512 have since Ice Lake, 16 in one of 32 KB.
inline constexpr size_t kProductDepth = 256;

// Floats of scratch for a product of any size.
uint64_t ProductScratch();

// w[n, k], row-major and compact, and what every row of the product begins with.
struct ProductWeights {
  const float* w;
  bool packed;        // PackWeights has been there
  const float* bias;  // [n]; null: zeros
  size_t n, k;
};

// Lays w[n, k] out in its place as products read it: columns that a product computes at once, side
// by side. Which those are depends on the CPU: never kept in a file. Columns that are left over
// stay where they are. Returns false when there is no memory for that many columns of it.
bool PackWeights(float* w, size_t n, size_t k);

// out[m, n] = x[m, k] * w[n, k]^T + bias[n], any of them 0; row-major and compact; out touches
// neither x nor w. activate, nullable: called with each part of out, one after the other, when it
// is done. No allocation. O(m * n * k), and O(n * k) copying for each 192 rows of x where w is not
// packed.
void Product(const float* x, size_t m, const ProductWeights& weights,
             void (*activate)(float* x, size_t size), float* out, float* scratch);

// The name of what Highway chose for this CPU, for example "AVX2"; "AVX3" is AVX-512.
const char* ProductTarget();

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_PRODUCT_H_
