// SPDX-License-Identifier: MIT
// crossencoder/host/bfloat16.h: matrix products of numbers rounded to bfloat16, summed in float32,
// where the CPU multiplies them in pairs (x86: AVX512_BF16; Cooper Lake, Sapphire Rapids, Zen 4).
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_BFLOAT16_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_BFLOAT16_H_

#include <cstddef>
#include <cstdint>

namespace rankfeed::handoff {

// The deepest product.
inline constexpr uint32_t kBfloat16Depth = 8192;

// Whether this CPU can.
bool HasBfloat16();

// Floats of scratch for a product of any number of rows and columns.
uint64_t Bfloat16Scratch();

// out[m, n] = x[m, k] * w[n, k]^T + bias[n], both rounded to nearest even first; bias null: none.
// 0 < k <= kBfloat16Depth; HasBfloat16. Row-major and compact; out touches neither x nor w. What a
// row gets depends on that row alone. O(m * n * k).
void Bfloat16Product(const float* x, const float* w, const float* bias, size_t m, size_t n,
                     size_t k, float* out, float* scratch);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_BFLOAT16_H_
