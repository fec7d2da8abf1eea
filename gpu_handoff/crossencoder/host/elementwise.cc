// SPDX-License-Identifier: MIT
// crossencoder/host/elementwise.cc: see elementwise.h. Compiled once per Highway target.
//
// erf is formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions:
// erfc(z) = (a1 t + ... + a5 t^5) exp(-z^2), t = 1 / (1 + p z), z >= 0, error below 1.5e-7. GELU of
// a negative x uses erfc directly, so that nothing cancels.
#include "crossencoder/host/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crossencoder/host/elementwise.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>

#include "crossencoder/host/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Calls step(vector) for all of x; the last, partial vector is filled with fill.
template <class Step>
HWY_INLINE void ForEach(float* x, size_t size, float fill, const Step& step) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(step(hn::LoadU(d, x + i)), d, x + i);
  if (i == size) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Set(d, fill), d, rest);
  for (size_t j = i; j < size; ++j) rest[j - i] = x[j];
  hn::Store(step(hn::Load(d, rest)), d, rest);
  for (size_t j = i; j < size; ++j) x[j] = rest[j - i];
}

float Dot(const float* a, const float* b, size_t size) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes)
    sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < size; ++i) total += a[i] * b[i];
  return total;
}

// out = a + b or a + b + c. Returns the sum of out.
template <bool three>
HWY_INLINE float Sum(const float* a, const float* b, const float* c, size_t size, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    V v = hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    if (three) v = hn::Add(v, hn::LoadU(d, c + i));
    hn::StoreU(v, d, out + i);
    sum = hn::Add(sum, v);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < size; ++i) {
    out[i] = a[i] + b[i];
    if (three) out[i] += c[i];
    total += out[i];
  }
  return total;
}

void AddNorm(const float* a, const float* b, const float* c, const float* gamma, const float* beta,
             float eps, size_t size, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const float total = c == nullptr ? Sum<false>(a, b, c, size, out) : Sum<true>(a, b, c, size, out);
  const float mean = total / static_cast<float>(size);
  const V mean_v = hn::Set(d, mean);
  V square = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const V centred = hn::Sub(hn::LoadU(d, out + i), mean_v);
    square = hn::MulAdd(centred, centred, square);
  }
  float variance = hn::GetLane(hn::SumOfLanes(d, square));
  for (; i < size; ++i) variance += (out[i] - mean) * (out[i] - mean);
  variance /= static_cast<float>(size);
  const float scale = 1.0f / std::sqrt(variance + eps);
  const V scale_v = hn::Set(d, scale);
  for (i = 0; i + lanes <= size; i += lanes) {
    const V unit = hn::Mul(hn::Sub(hn::LoadU(d, out + i), mean_v), scale_v);
    hn::StoreU(hn::MulAdd(unit, hn::LoadU(d, gamma + i), hn::LoadU(d, beta + i)), d, out + i);
  }
  for (; i < size; ++i) out[i] = (out[i] - mean) * scale * gamma[i] + beta[i];
}

HWY_INLINE V GeluOf(V x) {
  const D d;
  const V z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678118654752f));
  const V t = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(z, hn::Set(d, 0.3275911f), hn::Set(d, 1.0f)));
  V p = hn::Set(d, 1.061405429f);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592f));
  const V erfc = hn::Mul(hn::Mul(p, t), ExpOfNegative(hn::Neg(hn::Mul(z, z))));
  const V half = hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), erfc);  // x * Phi(-|x|)
  // NaN stays NaN: the comparison is false and half is NaN.
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::Sub(x, half), half);
}

void Gelu(float* x, size_t size) {
  ForEach(x, size, 0.0f, [](V v) { return GeluOf(v); });
}

void GeluTanh(float* x, size_t size) {
  const D d;
  ForEach(x, size, 0.0f, [&](V v) {
    const V cube = hn::Mul(hn::Mul(v, v), v);
    const V inner = hn::Mul(hn::Set(d, 0.79788456080286536f),  // sqrt(2 / pi)
                            hn::MulAdd(hn::Set(d, 0.044715f), cube, v));
    const V half = hn::Mul(v, hn::Set(d, 0.5f));
    return hn::MulAdd(half, hn::Tanh(d, inner), half);
  });
}

void Relu(float* x, size_t size) {
  const D d;
  ForEach(x, size, 0.0f, [&](V v) { return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v); });
}

void Tanh(float* x, size_t size) {
  const D d;
  ForEach(x, size, 0.0f, [&](V v) { return hn::Tanh(d, v); });
}

void Silu(float* x, size_t size) {
  const D d;
  ForEach(x, size, 0.0f, [&](V v) {
    const V e = ExpOfNegative(hn::Neg(hn::Abs(v)));  // nothing overflows
    const V share = hn::Div(v, hn::Add(hn::Set(d, 1.0f), e));
    return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(share, e), share);
  });
}

const ElementwiseKernels* Table() {
  static constexpr ElementwiseKernels kTable = {AddNorm, Gelu, GeluTanh, Tanh, Relu, Silu, Dot};
  return &kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::handoff {

HWY_EXPORT(Table);

const ElementwiseKernels& Elementwise() {
  static const ElementwiseKernels& table = *HWY_DYNAMIC_DISPATCH(Table)();
  return table;
}

}  // namespace rankfeed::handoff
#endif  // HWY_ONCE
