// SPDX-License-Identifier: MIT
// crossencoder/host/elementwise.h: the row-wise float32 steps of the host's forward pass, in SIMD
// (Highway, chosen at run time). Pointers need no alignment; sizes are in elements.
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ELEMENTWISE_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ELEMENTWISE_H_

#include <cstddef>

namespace rankfeed::handoff {

struct ElementwiseKernels {
  // sum = a + b + c, and out = (sum - mean) / sqrt(variance + eps) * gamma + beta, with the biased
  // variance. c null: a + b, and b null: a; sum null: it is not kept; beta null: none. out or sum
  // may be a or b.
  void (*norm)(const float* a, const float* b, const float* c, const float* gamma,
               const float* beta, float eps, size_t size, float* sum, float* out);
  // Turns x[i] and x[half + i] by the angle with these cosines and sines.
  void (*rotate)(const float* cosines, const float* sines, size_t half, float* x);
  // x = x * by.
  void (*multiply)(const float* by, size_t size, float* x);
  // x = x * Phi(x), Phi by erf.
  void (*gelu)(float* x, size_t size);
  // x = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
  void (*gelu_tanh)(float* x, size_t size);
  void (*tanh)(float* x, size_t size);
  // x = max(x, 0); NaN stays NaN.
  void (*relu)(float* x, size_t size);
  // x = x / (1 + exp(-x)).
  void (*silu)(float* x, size_t size);
  float (*dot)(const float* a, const float* b, size_t size);
};

// The best this CPU has; constant after the first call.
const ElementwiseKernels& Elementwise();

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ELEMENTWISE_H_
