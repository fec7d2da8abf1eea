// SPDX-License-Identifier: MIT
// crossencoder/host/exp-inl.h: exp of what is not positive. Included by what is compiled once per
// Highway target.
//
// Highway's own takes any number and goes to zero through the denormal ones; softmax and erfc ask
// for neither, and spend most of their time in it.

// Highway's guard: once for each target.
#if defined(RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_EXP_INL_H_
#undef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_EXP_INL_H_
#else
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x <= 0, exp(-87) below -87 (1.6e-38, next to nothing; denormal numbers begin there and
// are slow). Within 2e-7 of it, as a share of it. NaN: not said.
//
// x = n ln 2 + r, |r| <= ln(2) / 2, and exp(r) = 1 + r + r^2 q(r), q of degree 4: a least-maximum
// fit whose error is 3.1e-9 as a share, so that what remains is rounding.
template <class V>
HWY_INLINE V ExpOfNegative(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<hn::DFromV<V>> di;
  x = hn::Max(x, hn::Set(d, -87.0f));
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  // ln 2 in two parts, of which n times the first is exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V q = hn::Set(d, 0.001381459985f);
  q = hn::MulAdd(q, r, hn::Set(d, 0.008368716942f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.04166838803f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.1666652063f));
  q = hn::MulAdd(q, r, hn::Set(d, 0.4999999345f));
  q = hn::MulAdd(hn::MulAdd(q, r, hn::Set(d, 1.0f)), r, hn::Set(d, 1.0f));
  const auto exponent = hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127));
  return hn::Mul(q, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_EXP_INL_H_
