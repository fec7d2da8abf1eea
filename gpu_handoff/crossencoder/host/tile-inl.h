// SPDX-License-Identifier: MIT
// crossencoder/host/tile-inl.h: the one product that the host's operations are made of: rows of a,
// an element at a time, times whole vectors of b. Included by what is compiled once per Highway
// target.

// Highway's guard: once for each target.
#if defined(RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_TILE_INL_H_
#undef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_TILE_INL_H_
#else
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Twelve sums, two vectors of b and an element of a: what sixteen registers hold, and more than two
// multipliers of four cycles need to be kept busy.
constexpr size_t kTileRows = 6;

// a[r][i] lies at at + r * stride + i * step.
struct TileRows {
  const float* at;
  size_t stride, step;
};

// c[r] = start + sum over i < depth of a[r][i] * b[i], for up to kTileRows rows and one or two
// vectors of columns. Rows after the last of `rows` compute that one again: no case of its own for what
// is left over.
template <bool two>
HWY_INLINE void Tile(const TileRows& a, size_t rows, const float* b, size_t b_stride, size_t depth,
                     const float* start, float* c, size_t c_stride) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const auto row = [rows](size_t r) { return std::min(r, rows - 1); };
  const float *const a0 = a.at, *const a1 = a0 + row(1) * a.stride,
                     *const a2 = a0 + row(2) * a.stride, *const a3 = a0 + row(3) * a.stride,
                     *const a4 = a0 + row(4) * a.stride, *const a5 = a0 + row(5) * a.stride;
  V c00 = hn::LoadU(d, start), c10 = c00, c20 = c00, c30 = c00, c40 = c00, c50 = c00;
  V c01 = two ? hn::LoadU(d, start + lanes) : c00, c11 = c01, c21 = c01, c31 = c01, c41 = c01,
    c51 = c01;
  for (size_t i = 0, at = 0; i < depth; ++i, at += a.step, b += b_stride) {
    const V b0 = hn::LoadU(d, b);
    const V b1 = two ? hn::LoadU(d, b + lanes) : b0;
    const auto add = [&](const float* from, V& first, V& second) HWY_ATTR {
      const V e = hn::Set(d, from[at]);
      first = hn::MulAdd(e, b0, first);
      if (two) second = hn::MulAdd(e, b1, second);
    };
    add(a0, c00, c01);
    add(a1, c10, c11);
    add(a2, c20, c21);
    add(a3, c30, c31);
    add(a4, c40, c41);
    add(a5, c50, c51);
  }
  const auto store = [&](size_t r, V first, V second) HWY_ATTR {
    hn::StoreU(first, d, c + row(r) * c_stride);
    if (two) hn::StoreU(second, d, c + row(r) * c_stride + lanes);
  };
  store(0, c00, c01);
  store(1, c10, c11);
  store(2, c20, c21);
  store(3, c30, c31);
  store(4, c40, c41);
  store(5, c50, c51);
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_TILE_INL_H_
