// SPDX-License-Identifier: MIT
// crossencoder/host/attention.cc: see attention.h. Compiled once per Highway target.
//
// Vectors go over queries: a block of them is laid out by dimension, and then keys and values are
// read an element at a time where the projection left them. What softmax needs of a query stays in
// its lane, so that nothing is summed across a vector, and a narrow head wastes no lanes. Only the
// queries after a row's last one are computed for nothing.
#include "crossencoder/host/attention.h"

#include "crossencoder/ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crossencoder/host/attention.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

#include <algorithm>

#include "crossencoder/host/exp-inl.h"
#include "crossencoder/host/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// One or two vectors of queries.
constexpr size_t kMostVectors = 2;

// c[r] = sum over i < depth of a[r][i] * b[i], vectors of b one after the other.
template <bool two>
HWY_INLINE void Multiply(const TileRows& a, size_t rows, const float* b, size_t depth,
                         const float* zeros, float* c) {
  const size_t width = (two ? 2 : 1) * hn::Lanes(D());
  for (size_t r = 0; r < rows; r += kTileRows) {
    Tile<two>({a.at + r * a.stride, a.stride, a.step}, std::min(kTileRows, rows - r), b, width,
              depth, zeros, c + r * width, width);
  }
}

// x[j] = exp(scale * (x[j] - the largest of x[0 .. size))) lane by lane. Returns 1 / their sum.
HWY_INLINE V Exponentials(float* x, size_t stride, float scale, size_t size) {
  const D d;
  V most = hn::LoadU(d, x);
  for (size_t j = 1; j < size; ++j) most = hn::Max(most, hn::LoadU(d, x + j * stride));
  const V scale_v = hn::Set(d, scale);
  const V shift = hn::Neg(hn::Mul(most, scale_v));
  V sum = hn::Zero(d);
  for (size_t j = 0; j < size; ++j) {
    float* const at = x + j * stride;
    const V e = ExpOfNegative(hn::MulAdd(hn::LoadU(d, at), scale_v, shift));
    hn::StoreU(e, d, at);
    sum = hn::Add(sum, e);
  }
  return hn::Div(hn::Set(d, 1.0f), sum);
}

// The queries of one block, from head.q on.
template <bool two>
HWY_INLINE void Block(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim,
                      float scale, float* scratch) {
  const D d;
  const size_t lanes = hn::Lanes(d), width = (two ? 2 : 1) * lanes;
  float* const zeros = scratch;                     // [width]
  float* const by_dim = zeros + width;              // [head_dim][width]: queries, then the result
  float* const scores = by_dim + head_dim * width;  // [tokens][width]
  std::fill_n(zeros, width, 0.0f);
  for (size_t i = 0; i < head_dim; ++i) {
    for (size_t q = 0; q < queries; ++q) by_dim[i * width + q] = head.q[q * head.stride + i];
    for (size_t q = queries; q < width; ++q) by_dim[i * width + q] = 0;
  }
  Multiply<two>({head.k, head.stride, 1}, tokens, by_dim, head_dim, zeros, scores);
  const V inverse0 = Exponentials(scores, width, scale, tokens);
  const V inverse1 = two ? Exponentials(scores + lanes, width, scale, tokens) : inverse0;
  Multiply<two>({head.v, 1, head.stride}, head_dim, scores, tokens, zeros, by_dim);
  for (size_t i = 0; i < head_dim; ++i) {
    float* const at = by_dim + i * width;
    hn::StoreU(hn::Mul(hn::LoadU(d, at), inverse0), d, at);
    if (two) hn::StoreU(hn::Mul(hn::LoadU(d, at + lanes), inverse1), d, at + lanes);
  }
  for (size_t q = 0; q < queries; ++q) {
    for (size_t i = 0; i < head_dim; ++i) head.out[q * head.out_stride + i] = by_dim[i * width + q];
  }
}

void AttendOnTarget(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim,
                    float scale, float* scratch) {
  const size_t lanes = hn::Lanes(D());
  AttentionHead block = head;
  while (queries != 0) {
    const size_t some = std::min(kMostVectors * lanes, queries);
    if (some > lanes) {
      Block<true>(block, some, tokens, head_dim, scale, scratch);
    } else {
      Block<false>(block, some, tokens, head_dim, scale, scratch);
    }
    queries -= some;
    block.q += some * head.stride;
    block.out += some * head.out_stride;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::handoff {

HWY_EXPORT(AttendOnTarget);

uint64_t AttentionScratch(uint64_t tokens) {
  constexpr uint64_t kLanes = 64;  // of the widest target, SVE's 256 bytes
  return (1 + RANKFEED_GPU_MAX_HEAD + tokens) * 2 * kLanes;
}

void Attend(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim, float scale,
            float* scratch) {
  HWY_DYNAMIC_DISPATCH(AttendOnTarget)(head, queries, tokens, head_dim, scale, scratch);
}

}  // namespace rankfeed::handoff
#endif  // HWY_ONCE
