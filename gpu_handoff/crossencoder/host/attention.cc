// SPDX-License-Identifier: MIT
// crossencoder/host/attention.cc: see attention.h. Compiled once per Highway target.
//
// Keys are laid out by dimension and values by token, both without gaps, so that either product is
// the same small one: rows of a, an element at a time, times whole vectors of b. In a fused
// projection a token's keys are kilobytes behind the ones before, which the first-level cache would
// hold few of. Queries go through in tiles, so that the scores of a tile stay in that cache.
#include "crossencoder/host/attention.h"

#include "crossencoder/ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crossencoder/host/attention.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cfloat>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr size_t kQueryTile = 16;
constexpr size_t kTileRows = 4;

// Rows of keys, values and scores begin at whole vectors.
HWY_INLINE size_t Padded(size_t size) {
  const size_t lanes = hn::Lanes(D());
  return (size + lanes - 1) / lanes * lanes;
}

struct Matrix {
  const float* at;
  size_t stride;
};

// c[r] = sum over i < depth of a[r][i] * b[i], for kTileRows rows and one or two vectors of
// columns. Behind the last of `rows` it is computed again: no case of its own for what is left
// over.
template <bool two>
HWY_INLINE void Tile(Matrix a, size_t rows, Matrix b, size_t depth, float* c, size_t c_stride) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t r1 = std::min<size_t>(1, rows - 1), r2 = std::min<size_t>(2, rows - 1),
               r3 = rows - 1;
  const float *const a0 = a.at, *const a1 = a0 + r1 * a.stride, *const a2 = a0 + r2 * a.stride,
                     *const a3 = a0 + r3 * a.stride;
  V c00 = hn::Zero(d), c10 = c00, c20 = c00, c30 = c00, c01 = c00, c11 = c00, c21 = c00, c31 = c00;
  const float* row = b.at;
  for (size_t i = 0; i < depth; ++i, row += b.stride) {
    const V b0 = hn::LoadU(d, row);
    const V e0 = hn::Set(d, a0[i]), e1 = hn::Set(d, a1[i]), e2 = hn::Set(d, a2[i]),
            e3 = hn::Set(d, a3[i]);
    c00 = hn::MulAdd(e0, b0, c00);
    c10 = hn::MulAdd(e1, b0, c10);
    c20 = hn::MulAdd(e2, b0, c20);
    c30 = hn::MulAdd(e3, b0, c30);
    if (two) {
      const V b1 = hn::LoadU(d, row + lanes);
      c01 = hn::MulAdd(e0, b1, c01);
      c11 = hn::MulAdd(e1, b1, c11);
      c21 = hn::MulAdd(e2, b1, c21);
      c31 = hn::MulAdd(e3, b1, c31);
    }
  }
  const auto store = [&](size_t r, V first, V second) {
    hn::StoreU(first, d, c + r * c_stride);
    if (two) hn::StoreU(second, d, c + r * c_stride + lanes);
  };
  store(0, c00, c01);
  store(r1, c10, c11);
  store(r2, c20, c21);
  store(r3, c30, c31);
}

// c = a b, of which b and c have `columns`, rounded up to whole vectors.
HWY_INLINE void Multiply(Matrix a, size_t rows, Matrix b, size_t depth, size_t columns, float* c,
                         size_t c_stride) {
  const size_t lanes = hn::Lanes(D());
  for (size_t r = 0; r < rows; r += kTileRows) {
    const size_t some = std::min(kTileRows, rows - r);
    const Matrix part{a.at + r * a.stride, a.stride};
    size_t at = 0;
    for (; at + lanes < columns; at += 2 * lanes)
      Tile<true>(part, some, {b.at + at, b.stride}, depth, c + r * c_stride + at, c_stride);
    if (at < columns)
      Tile<false>(part, some, {b.at + at, b.stride}, depth, c + r * c_stride + at, c_stride);
  }
}

// x = exp(x * scale - max), of which the first `size` count and the rest up to `padded` is written
// too. Returns their sum.
HWY_INLINE float Exponentials(float* x, float scale, size_t size, size_t padded) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  std::fill(x + size, x + padded, -FLT_MAX);
  V most = hn::LoadU(d, x);
  for (size_t i = lanes; i < padded; i += lanes) most = hn::Max(most, hn::LoadU(d, x + i));
  const V shift = hn::Neg(hn::Mul(hn::MaxOfLanes(d, most), hn::Set(d, scale)));
  const V scale_v = hn::Set(d, scale);
  // Next to the 1 of the largest exp(-87) is nothing; below it begin denormal numbers, which are
  // slow.
  const V least = hn::Set(d, -87.0f);
  V sums = hn::Zero(d);
  for (size_t i = 0; i < padded; i += lanes) {
    const V e = hn::Exp(d, hn::Max(hn::MulAdd(hn::LoadU(d, x + i), scale_v, shift), least));
    hn::StoreU(e, d, x + i);
    sums = hn::Add(sums, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

void AttendOnTarget(const AttentionHead& head, size_t tokens, size_t head_dim, float scale,
                    float* scratch) {
  const size_t padded = Padded(tokens), width = Padded(head_dim);
  float* const keys = scratch;                         // [head_dim][padded]
  float* const values = keys + head_dim * padded;      // [tokens][width]
  float* const scores = values + tokens * width;       // [kQueryTile][padded]
  float* const result = scores + kQueryTile * padded;  // [kQueryTile][width]
  for (size_t t = 0; t < tokens; ++t) {
    const float *const k = head.k + t * head.stride, *const v = head.v + t * head.stride;
    for (size_t i = 0; i < head_dim; ++i) keys[i * padded + t] = k[i];
    std::copy_n(v, head_dim, values + t * width);
    std::fill(values + t * width + head_dim, values + (t + 1) * width, 0.0f);
  }
  for (size_t i = 0; i < head_dim; ++i)
    std::fill(keys + i * padded + tokens, keys + (i + 1) * padded, 0.0f);
  for (size_t begin = 0; begin < tokens; begin += kQueryTile) {
    const size_t queries = std::min(kQueryTile, tokens - begin);
    Multiply({head.q + begin * head.stride, head.stride}, queries, {keys, padded}, head_dim, tokens,
             scores, padded);
    float inverse[kQueryTile];
    for (size_t j = 0; j < queries; ++j)
      inverse[j] = 1.0f / Exponentials(scores + j * padded, scale, tokens, padded);
    Multiply({scores, padded}, queries, {values, width}, tokens, head_dim, result, width);
    for (size_t j = 0; j < queries; ++j) {
      float* const out = head.out + (begin + j) * head.out_stride;
      for (size_t i = 0; i < head_dim; ++i) out[i] = result[j * width + i] * inverse[j];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::handoff {

HWY_EXPORT(AttendOnTarget);

uint64_t AttentionScratch(uint64_t tokens) {
  constexpr uint64_t kLanes = 64, kQueryTile = 16;  // of the widest target, SVE's 256 bytes
  constexpr uint64_t kHead = RANKFEED_GPU_MAX_HEAD;
  static_assert(kHead % kLanes == 0);
  const uint64_t padded = (tokens + kLanes - 1) / kLanes * kLanes;
  return (kHead + kQueryTile) * padded + (tokens + kQueryTile) * kHead;
}

void Attend(const AttentionHead& head, size_t tokens, size_t head_dim, float scale,
            float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttendOnTarget)(head, tokens, head_dim, scale, scratch);
}

}  // namespace rankfeed::handoff
#endif  // HWY_ONCE
