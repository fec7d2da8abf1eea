// SPDX-License-Identifier: MIT
// crossencoder/host/product.cc: see product.h. Compiled once per Highway target.
//
// After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008): rows of
// x are copied to lie in the second-level cache, a panel of w, two vectors of columns wide and
// kProductDepth deep, passes into the first, and a tile of rows by those columns is summed in
// registers. Here w was laid out in panels when the model was opened, so that a product of few
// rows, which is little more than a reading of w, reads it from start to end.
#include "crossencoder/host/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crossencoder/host/product.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

#include <algorithm>
#include <memory>
#include <new>

#ifndef RANKFEED_PRODUCT_SCRATCH
#define RANKFEED_PRODUCT_SCRATCH
namespace rankfeed::handoff {
namespace {

// Rows of x that are copied together. At kProductDepth they are 204 KB, for second-level caches of
// 256 KB and more.
constexpr size_t kMostRows = 192;
// Floats from a copied row to the next, which the compiler knows. The last 16 keep the rows of a
// tile from falling on the same lines of the first-level cache.
constexpr size_t kRowStride = kProductDepth + 16;
constexpr size_t kMostLanes = 16, kMostTileRows = 12, kMostColumns = 2 * kMostLanes;

struct ScratchOfProduct {
  float rows[kMostRows * kRowStride];
  float panel[kProductDepth * kMostColumns];
  float tile[kMostTileRows * kMostColumns];
  float start[kMostColumns], zeros[4 * kMostColumns];
};

}  // namespace
}  // namespace rankfeed::handoff
#endif

HWY_BEFORE_NAMESPACE();
namespace rankfeed::handoff {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kMostLanes>;
using V = hn::Vec<D>;

// Two sums for each row, two vectors of columns and an element: what 32 registers hold, or 16.
constexpr size_t kTileRows =
    HWY_ARCH_ARM_A64 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3) ? kMostTileRows : 6;

HWY_INLINE size_t Width() {
  return 2 * hn::Lanes(D());
}

struct TileTask {
  const float* rows;   // of x, kRowStride apart
  const float* panel;  // [depth][width]
  size_t panel_step;   // to the panel beside it
  const float* next;   // the panel that is read after it
  size_t depth;
  const float* start;  // what the sums begin with, [width] for each panel
  bool add;            // true: the sums are added to what out holds
  float* out;
  size_t stride;
};

// Sums have names, and are in no array, where SVE's vectors cannot be.
#define RANKFEED_SUMS(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)

// Multiplies the first `rows` of kRows rows by kPanels panels that stand side by side.
template <size_t kRows, size_t kPanels>
HWY_NOINLINE void Tile(const TileTask& task, size_t rows) {
  const D d;
  const size_t lanes = hn::Lanes(d), width = 2 * lanes, step = task.panel_step;
  const float *const a = task.rows, *b = task.panel;
  // A lone row waits for its panels: 12 steps ahead they come to the first-level cache in time.
  constexpr bool kLone = kRows == 1 && kPanels > 1;
  constexpr int kCache = kLone ? 3 : 2;
  const float* next = kLone && b ? b + 12 * width : task.next;  // null: a product of no depth has no panel
#define RANKFEED_START(i)                                                   \
  [[maybe_unused]] V f##i = hn::LoadU(d, task.start + i % kPanels * width), \
                     s##i = hn::LoadU(d, task.start + i % kPanels * width + lanes);
  RANKFEED_SUMS(RANKFEED_START)
  for (size_t j = 0; j < task.depth; ++j, b += width, next += width) {
#define RANKFEED_ADD(i)                                                                \
  if constexpr (i < kPanels) {                                                         \
    __builtin_prefetch(next + i * step, 0, kCache);                                    \
    if (width == kMostColumns) __builtin_prefetch(next + i * step + lanes, 0, kCache); \
  }                                                                                    \
  if constexpr (i < kRows * kPanels) {                                                 \
    const V e = hn::Set(d, a[i / kPanels * kRowStride + j]);                           \
    f##i = hn::MulAdd(e, hn::LoadU(d, b + i % kPanels * step), f##i);                  \
    s##i = hn::MulAdd(e, hn::LoadU(d, b + i % kPanels * step + lanes), s##i);          \
  }
    RANKFEED_SUMS(RANKFEED_ADD)
  }
#define RANKFEED_STORE(i)                                                         \
  if (i < kRows * kPanels && i / kPanels < rows) {                                \
    float* const to = task.out + i / kPanels * task.stride + i % kPanels * width; \
    if (task.add) f##i = hn::Add(hn::LoadU(d, to), f##i);                         \
    if (task.add) s##i = hn::Add(hn::LoadU(d, to + lanes), s##i);                 \
    hn::StoreU(f##i, d, to);                                                      \
    hn::StoreU(s##i, d, to + lanes);                                              \
  }
  RANKFEED_SUMS(RANKFEED_STORE)
#undef RANKFEED_SUMS
#undef RANKFEED_START
#undef RANKFEED_ADD
#undef RANKFEED_STORE
}

// Returns how many panels are taken at once: several for few rows, because two multipliers of four
// cycles need eight sums.
HWY_INLINE size_t PanelsFor(size_t rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

HWY_INLINE void AnyTile(const TileTask& task, size_t rows, size_t panels) {
  constexpr size_t kMore = std::min<size_t>(8, kTileRows);
  if (panels == 4) return Tile<1, 4>(task, rows);
  if (panels == 2 && rows == 2) return Tile<2, 2>(task, rows);
  if (panels == 2) return Tile<3, 2>(task, rows);
  if (rows > kMore) return Tile<kTileRows, 1>(task, rows);
  if (rows > 6) return Tile<kMore, 1>(task, rows);
  if (rows > 4) return Tile<6, 1>(task, rows);
  if (rows > 3) return Tile<4, 1>(task, rows);
  if (rows > 2) return Tile<3, 1>(task, rows);
  if (rows > 1) return Tile<2, 1>(task, rows);
  Tile<1, 1>(task, rows);
}

// panel[i][c] = w[c][i] of `columns` columns, k apart; zeros up to `width`.
void PackPanel(const float* w, size_t k, size_t columns, size_t depth, size_t width, float* panel) {
  for (size_t i = 0; i < depth; ++i, panel += width) {
    for (size_t c = 0; c < columns; ++c) panel[c] = w[c * k + i];
    for (size_t c = columns; c < width; ++c) panel[c] = 0;
  }
}

bool PackOnTarget(float* w, size_t n, size_t k) {
  const size_t width = Width();
  if (n < width) return true;
  const std::unique_ptr<float[]> columns(new (std::nothrow) float[width * k]);
  if (columns == nullptr) return false;
  for (size_t at = 0; at + width <= n; at += width, w += width * k) {
    std::copy_n(w, width * k, columns.get());
    PackPanel(columns.get(), k, width, k, width, w);
  }
  return true;
}

// The depth of a product in equal parts, and those of them, from first to end, whose rows of x lie
// in the scratch: `rows` rows for each part, filled up with zeros to whole tiles.
struct Copied {
  size_t k, step, first, end, rows, tiled_rows;
  size_t Begin(size_t part) const { return part * step; }
  size_t Size(size_t part) const { return std::min(step, k - part * step); }
};

HWY_INLINE void CopyRows(const float* x, const Copied& copied, float* to) {
  for (size_t p = copied.first; p < copied.end; ++p) {
    for (size_t r = 0; r < copied.tiled_rows; ++r, to += kRowStride) {
      if (r < copied.rows) {
        std::copy_n(x + r * copied.k + copied.Begin(p), copied.Size(p), to);
      } else {
        std::fill_n(to, copied.Size(p), 0.0f);
      }
    }
  }
}

// Computes all tiles of one panel, or of several side by side; those that reach beyond the columns
// by way of the scratch.
HWY_INLINE void TilesOfPanel(TileTask task, const Copied& copied, size_t panels, size_t columns,
                             ScratchOfProduct* scratch) {
  const size_t width = Width(), n = task.stride;
  const bool whole = columns == width, add = task.add;
  float* out = task.out;
  if (!whole) {
    task.out = scratch->tile;
    task.stride = width;
    task.add = false;
  }
  for (size_t r = 0; r < copied.rows; r += kTileRows, out += kTileRows * n) {
    const size_t rows = std::min(kTileRows, copied.rows - r);
    if (whole) task.out = out;
    for (size_t i = 0; whole && i < rows; ++i) {
      __builtin_prefetch(out + i * n, 1);
      __builtin_prefetch(out + i * n + width - 1, 1);
    }
    AnyTile(task, rows, panels);
    for (size_t i = 0; !whole && i < rows; ++i) {
      const float* const from = scratch->tile + i * width;
      for (size_t c = 0; c < columns; ++c)
        out[i * n + c] = add ? out[i * n + c] + from[c] : from[c];
    }
    task.rows += kTileRows * kRowStride;
    task.next = task.panel;  // the next one was read with the first tile
  }
}

// Returns what the sums of columns from `at` on begin with.
HWY_INLINE const float* StartOf(const float* bias, size_t at, size_t columns,
                                ScratchOfProduct* scratch) {
  if (bias == nullptr) return scratch->zeros;
  if (columns == Width()) return bias + at;
  std::fill_n(std::copy_n(bias + at, columns, scratch->start), Width() - columns, 0.0f);
  return scratch->start;
}

// out = or += the rows of x that are copied, over the depths that are copied, times w.
void MultiplyCopied(const ProductWeights& w, const Copied& copied, float* out,
                    ScratchOfProduct* scratch) {
  const size_t width = Width(), n = w.n, k = w.k;
  for (size_t at = 0, panels = 1; at < n; at += panels * width) {
    const size_t columns = std::min(width, n - at);
    const bool packed = w.packed && columns == width;
    panels = packed ? PanelsFor(copied.rows) : 1;
    if (at + panels * width > n) panels = 1;
    const float* const start = StartOf(w.bias, at, columns, scratch);
    for (size_t p = copied.first; p < copied.end; ++p) {
      const size_t begin = copied.Begin(p), depth = copied.Size(p);
      const float* panel = w.w + at * k + begin * width;
      const float* next = panel;
      if (!packed) {
        PackPanel(w.w + at * k + begin, k, columns, depth, width, scratch->panel);
        next = panel = scratch->panel;
      } else if (p + 1 < copied.end) {
        next = panel + depth * width;
      } else if (at + 2 * panels * width <= n) {
        next = w.w + (at + panels * width) * k + copied.Begin(copied.first) * width;
      }
      const float* const rows = scratch->rows + (p - copied.first) * copied.tiled_rows * kRowStride;
      const float* const from = p == 0 ? start : scratch->zeros;
      TilesOfPanel({rows, panel, k * width, next, depth, from, p != 0, out + at, n}, copied, panels,
                   columns, scratch);
    }
  }
}

void ProductOnTarget(const float* x, size_t m, const ProductWeights& w,
                     void (*activate)(float* x, size_t size), float* out,
                     ScratchOfProduct* scratch) {
  const auto divide = [](size_t a, size_t b) { return (a + b - 1) / b; };
  std::fill(std::begin(scratch->zeros), std::end(scratch->zeros), 0.0f);
  const size_t depths = std::max<size_t>(1, divide(w.k, kProductDepth));
  const size_t most_rows =
      divide(divide(m, std::max<size_t>(1, divide(m, kMostRows))), kTileRows) * kTileRows;
  for (size_t r = 0; r < m; r += most_rows) {
    Copied copied{w.k, divide(w.k, depths), 0, 0, std::min(most_rows, m - r), 0};
    copied.tiled_rows = copied.rows <= 3 ? copied.rows : divide(copied.rows, kTileRows) * kTileRows;
    float* const part = out + r * w.n;
    while (copied.end < depths) {
      copied.first = copied.end;
      copied.end = std::min(depths, copied.first + kMostRows / copied.tiled_rows);
      CopyRows(x + r * w.k, copied, scratch->rows);
      MultiplyCopied(w, copied, part, scratch);
    }
    if (activate != nullptr) activate(part, copied.rows * w.n);
  }
}

const char* NameOnTarget() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::handoff {

HWY_EXPORT(PackOnTarget);
HWY_EXPORT(ProductOnTarget);
HWY_EXPORT(NameOnTarget);

uint64_t ProductScratch() {
  return sizeof(ScratchOfProduct) / sizeof(float);
}

bool PackWeights(float* w, size_t n, size_t k) {
  return HWY_DYNAMIC_DISPATCH(PackOnTarget)(w, n, k);
}

void Product(const float* x, size_t m, const ProductWeights& weights,
             void (*activate)(float* x, size_t size), float* out, float* scratch) {
  HWY_DYNAMIC_DISPATCH(ProductOnTarget)
  (x, m, weights, activate, out, reinterpret_cast<ScratchOfProduct*>(scratch));
}

const char* ProductTarget() {
  return HWY_DYNAMIC_DISPATCH(NameOnTarget)();
}

}  // namespace rankfeed::handoff
#endif  // HWY_ONCE
