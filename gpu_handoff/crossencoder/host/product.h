// SPDX-License-Identifier: MIT
// crossencoder/host/product.h: the host's own matrix product, float32, in SIMD (Highway, chosen at
// run time), for layers that are so narrow that a BLAS takes longer to set out than to multiply.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_PRODUCT_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_PRODUCT_H_

#include <cstddef>
#include <cstdint>

namespace rankfeed::handoff {

// The deepest product that is done here. Wider layers are a BLAS's, whose blocks keep what is used
// again in every level of cache.
inline constexpr uint32_t kNarrowDepth = 256;

// Floats of scratch for a product of any number of rows and columns.
uint64_t NarrowScratch();

// out[m, n] = x[m, k] * w[n, k]^T + bias[n]; bias null: none. k <= kNarrowDepth. Row-major and
// compact; out touches neither x nor w. O(m * n * k).
void NarrowProduct(const float* x, const float* w, const float* bias, size_t m, size_t n, size_t k,
                   float* out, float* scratch);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_PRODUCT_H_
