// SPDX-License-Identifier: MIT
// crossencoder/host/elementwise.cc: see elementwise.h. Compiled once per
// Highway target.
//
// erf is formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical
// Functions: erfc(z) = (a1 t + ... + a5 t^5) exp(-z^2), t = 1 / (1 + p z), z >=
// 0, error below 1.5e-7. GELU of a negative x uses erfc directly, so that
// nothing cancels.
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

// Calls step(vector) for all of x; the last, partial vector is filled with
// fill.
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

// out = a, a + b or a + b + c, by the number of terms. Returns the sum of out.
template <int terms>
HWY_INLINE float Sum(const float* a, const float* b, const float* c, size_t size, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    V v = hn::LoadU(d, a + i);
    if (terms > 1) v = hn::Add(v, hn::LoadU(d, b + i));
    if (terms > 2) v = hn::Add(v, hn::LoadU(d, c + i));
    hn::StoreU(v, d, out + i);
    sum = hn::Add(sum, v);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < size; ++i) {
    out[i] = terms > 1 ? a[i] + b[i] : a[i];
    if (terms > 2) out[i] += c[i];
    total += out[i];
  }
  return total;
}

// Calls step(tag, i) for all of size: vectors of lanes, then the rest one by
// one, which round alike.
template <class Step>
HWY_INLINE void ForParts(size_t size, const Step& step) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) step(D(), i);
  for (; i < size; ++i) step(hn::CappedTag<float, 1>(), i);
}

void Norm(const float* a, const float* b, const float* c, const float* gamma, const float* beta,
          float eps, size_t size, float* sum, float* out) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  float* const s = sum != nullptr ? sum : out;
  const float total = b == nullptr   ? Sum<1>(a, b, c, size, s)
                      : c == nullptr ? Sum<2>(a, b, c, size, s)
                                     : Sum<3>(a, b, c, size, s);
  const float mean = total / static_cast<float>(size);
  const V mean_v = hn::Set(d, mean);
  V square = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const V centred = hn::Sub(hn::LoadU(d, s + i), mean_v);
    square = hn::MulAdd(centred, centred, square);
  }
  float variance = hn::GetLane(hn::SumOfLanes(d, square));
  for (; i < size; ++i) variance += (s[i] - mean) * (s[i] - mean);
  variance /= static_cast<float>(size);
  const float scale = 1.0f / std::sqrt(variance + eps);
  ForParts(size, [=](auto tag, size_t at) {
    const auto unit =
        hn::Mul(hn::Sub(hn::LoadU(tag, s + at), hn::Set(tag, mean)), hn::Set(tag, scale));
    const auto shift = beta != nullptr ? hn::LoadU(tag, beta + at) : hn::Zero(tag);
    hn::StoreU(hn::MulAdd(unit, hn::LoadU(tag, gamma + at), shift), tag, out + at);
  });
}

void Rotate(const float* cosines, const float* sines, size_t half, float* x) {
  float* const y = x + half;
  ForParts(half, [=](auto tag, size_t i) {
    const auto a = hn::LoadU(tag, x + i), b = hn::LoadU(tag, y + i),
               c = hn::LoadU(tag, cosines + i), s = hn::LoadU(tag, sines + i);
    hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), tag, x + i);
    hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), tag, y + i);
  });
}

void Multiply(const float* by, size_t size, float* x) {
  ForParts(size, [=](auto tag, size_t i) {
    hn::StoreU(hn::Mul(hn::LoadU(tag, x + i), hn::LoadU(tag, by + i)), tag, x + i);
  });
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
  static constexpr ElementwiseKernels kTable = {Norm, Rotate, Multiply, Gelu, GeluTanh,
                                                Tanh, Relu,   Silu,     Dot};
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
