// SPDX-License-Identifier: MIT
// crossencoder/host/product.cc: see product.h. Compiled once per Highway target.
//
// Two vectors of columns at a time: their weights are laid out by depth, after a row of the bias,
// and every row of x passes by them. That lies in the first-level cache for as long as it is used.
#include "crossencoder/host/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crossencoder/host/product.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

#include <algorithm>

#include "crossencoder/host/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {

// panel[0] = bias, panel[1 + i][c] = w[c][i] of `columns` columns, padded with zeros to `width`.
HWY_INLINE void Pack(const float* w, const float* bias, size_t columns, size_t k, size_t width,
                     float* panel) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t lanes = hn::Lanes(d);
  std::fill_n(panel, width, 0.0f);
  if (bias != nullptr) std::copy_n(bias, columns, panel);
  const auto rows = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(k)));
  for (size_t c = 0; c < width; c += lanes) {
    float* to = panel + width + c;
    const size_t some = std::min(lanes, columns - c);
    for (size_t i = 0; i < k; ++i, to += width) {
      if (some == lanes) {
        hn::StoreU(hn::GatherIndex(d, w + c * k + i, rows), d, to);
      } else {
        for (size_t j = 0; j < some; ++j) to[j] = w[(c + j) * k + i];
        std::fill(to + some, to + lanes, 0.0f);
      }
    }
  }
}

template <bool two>
HWY_INLINE void Columns(const float* x, size_t m, size_t k, size_t columns, size_t width,
                        const float* panel, float* out, size_t n) {
  HWY_ALIGN float some[kTileRows * 2 * HWY_MAX_BYTES / sizeof(float)];
  for (size_t r = 0; r < m; r += kTileRows) {
    const size_t rows = std::min(kTileRows, m - r);
    const bool whole = columns == width;  // otherwise vectors reach beyond the columns
    Tile<two>({x + r * k, k, 1}, rows, panel + width, width, k, panel, whole ? out + r * n : some,
              whole ? n : width);
    for (size_t i = 0; !whole && i < rows; ++i)
      std::copy_n(some + i * width, columns, out + (r + i) * n);
  }
}

void ProductOnTarget(const float* x, const float* w, const float* bias, size_t m, size_t n,
                     size_t k, float* out, float* panel) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  for (size_t at = 0; at < n; at += 2 * lanes) {
    const size_t columns = std::min(2 * lanes, n - at);
    const size_t width = columns > lanes ? 2 * lanes : lanes;
    Pack(w + at * k, bias == nullptr ? nullptr : bias + at, columns, k, width, panel);
    if (columns > lanes) {
      Columns<true>(x, m, k, columns, width, panel, out + at, n);
    } else {
      Columns<false>(x, m, k, columns, width, panel, out + at, n);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::handoff {

HWY_EXPORT(ProductOnTarget);

uint64_t NarrowScratch() {
  constexpr uint64_t kLanes = 64;  // of the widest target, SVE's 256 bytes
  return (uint64_t{kNarrowDepth} + 1) * 2 * kLanes;
}

void NarrowProduct(const float* x, const float* w, const float* bias, size_t m, size_t n, size_t k,
                   float* out, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ProductOnTarget)(x, w, bias, m, n, k, out, scratch);
}

}  // namespace rankfeed::handoff
#endif  // HWY_ONCE
