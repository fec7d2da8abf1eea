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

// Scores of keys further than the window from a lane's query become next to nothing. first: the
// block's first query, counted from the first of the keys. Only keys that some lane does not see
// are looked at. A lane after the last query sees what that query would at its place, or nothing.
HWY_INLINE void MaskWindow(float* scores, size_t width, size_t keys, ptrdiff_t first,
                           size_t window) {
  const D d;
  const hn::RebindToSigned<D> di;
  const size_t lanes = hn::Lanes(d);
  const auto last = first + static_cast<ptrdiff_t>(width) - 1;
  const auto most = hn::Set(di, static_cast<int32_t>(window));
  for (size_t j = 0; j < keys; ++j) {
    const auto key = static_cast<ptrdiff_t>(j), reach = static_cast<ptrdiff_t>(window);
    if (key + reach >= last && key - reach <= first) continue;
    for (size_t c = 0; c < width; c += lanes) {
      const auto away = hn::Iota(di, static_cast<int32_t>(first - key) + static_cast<int32_t>(c));
      float* const at = scores + j * width + c;
      const auto beyond = hn::RebindMask(d, hn::Gt(hn::Abs(away), most));
      hn::StoreU(hn::IfThenElse(beyond, hn::Set(d, -1e30f), hn::LoadU(d, at)), d, at);
    }
  }
}

// Some tokens' vectors of a head, laid out by dimension; zeros after the last of them.
HWY_INLINE void LayOut(const float* from, size_t stride, size_t count, size_t width,
                       size_t head_dim, float* by_dim) {
  for (size_t i = 0; i < head_dim; ++i) {
    for (size_t q = 0; q < count; ++q) by_dim[i * width + q] = from[q * stride + i];
    for (size_t q = count; q < width; ++q) by_dim[i * width + q] = 0;
  }
}

// Relative positions of one row and head. Buckets are taken as far as the row's distances go, and
// products with the tables' rows are made for the buckets between those that some tokens need:
//
//   buckets | first buckets of the key blocks | products of a query block | of each key block
struct Relative {
  RelativeHead head;
  int32_t* buckets;  // [tokens - 1 + distance]; a distance beyond the row has the last one's
  int32_t* lows;     // the first bucket in by_key of a block of keys
  float* by_query;   // [bucket][query]
  float* by_key;     // [block of keys][bucket][key]
  size_t block;      // floats of a block of keys
};

struct Span {
  int32_t low;
  size_t count;
};
HWY_INLINE Span SpanOf(const int32_t* some, size_t count) {
  int32_t low = some[0], high = some[0];
  for (size_t i = 1; i < count; ++i) {
    low = std::min(low, some[i]);
    high = std::max(high, some[i]);
  }
  return {low, static_cast<size_t>(high - low) + 1};
}

// Makes the products of keys, two vectors at a time, for the first `queries` queries. zeros and
// by_dim: as in Block.
HWY_INLINE void StartRelative(const AttentionHead& head, size_t queries, size_t tokens,
                              size_t head_dim, float* zeros, float* by_dim, float* scratch,
                              Relative* r) {
  const size_t width = kMostVectors * hn::Lanes(D());
  const size_t beyond = tokens - 1 + width, blocks = (tokens + width - 1) / width;
  const size_t most = r->head.rows;
  r->buckets = reinterpret_cast<int32_t*>(scratch);
  r->lows = r->buckets + tokens + beyond;
  r->by_query = scratch + tokens + beyond + blocks;
  r->by_key = r->by_query + most * width;
  r->block = most * width;
  const auto last = static_cast<ptrdiff_t>(tokens) - 1;
  for (ptrdiff_t d = -last; d <= last + static_cast<ptrdiff_t>(width); ++d)
    r->buckets[last + d] = r->head.buckets[std::min(d, last)];
  if (r->head.queries == nullptr) return;
  std::fill_n(zeros, width, 0.0f);
  const size_t seen = (queries + width - 1) / width * width;
  for (size_t b = 0; b < blocks; ++b) {
    const size_t first = b * width, some = std::min(width, tokens - first);
    // Distances from that of query 0 and the block's last key to that of the last query and the
    // first.
    const Span span = SpanOf(r->buckets + tokens - first - some, seen + some - 1);
    r->lows[b] = span.low;
    LayOut(head.k + first * head.stride, head.stride, some, width, head_dim, by_dim);
    Multiply<true>(
        {r->head.queries + static_cast<size_t>(span.low) * r->head.stride, r->head.stride, 1},
        span.count, by_dim, head_dim, zeros, r->by_key + b * r->block);
  }
}

// Adds both products to the scores of a block of queries, from `first` on.
template <bool two>
HWY_INLINE void AddRelative(const Relative& r, const float* by_dim, size_t first, size_t tokens,
                            size_t head_dim, const float* zeros, float* scores) {
  const D d;
  const hn::RebindToSigned<D> di;
  const size_t lanes = hn::Lanes(d), width = (two ? 2 : 1) * lanes, wide = kMostVectors * lanes;
  const Span span = SpanOf(r.buckets + first, tokens + width - 1);
  if (r.head.keys != nullptr) {
    Multiply<two>({r.head.keys + static_cast<size_t>(span.low) * r.head.stride, r.head.stride, 1},
                  span.count, by_dim, head_dim, zeros, r.by_query);
  }
  const auto by = hn::Set(di, static_cast<int32_t>(width)),
             key_by = hn::Set(di, static_cast<int32_t>(wide));
  for (size_t j = 0; j < tokens; ++j) {
    const int32_t* const buckets = r.buckets + first + tokens - 1 - j;
    for (size_t c = 0; c < width; c += lanes) {
      const auto bucket = hn::LoadU(di, buckets + c);
      float* const at = scores + j * width + c;
      V score = hn::LoadU(d, at);
      if (r.head.keys != nullptr) {
        const auto row = hn::Mul(hn::Sub(bucket, hn::Set(di, span.low)), by);
        score = hn::Add(score, hn::GatherIndex(d, r.by_query + c, hn::Add(row, hn::Iota(di, 0))));
      }
      if (r.head.queries != nullptr) {
        const auto row = hn::Mul(hn::Sub(bucket, hn::Set(di, r.lows[j / wide])), key_by);
        score = hn::Add(score, hn::GatherIndex(d, r.by_key + j / wide * r.block + j % wide, row));
      }
      hn::StoreU(score, d, at);
    }
  }
}

// The queries of one block, from head.q on. first and window as in MaskWindow; window 0: none.
template <bool two>
HWY_INLINE void Block(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim,
                      ptrdiff_t first, size_t window, float scale, float* scratch,
                      const Relative* relative) {
  const D d;
  const size_t lanes = hn::Lanes(d), width = (two ? 2 : 1) * lanes;
  float* const zeros = scratch;                     // [width]
  float* const by_dim = zeros + width;              // [head_dim][width]: queries, then the result
  float* const scores = by_dim + head_dim * width;  // [tokens][width]
  std::fill_n(zeros, width, 0.0f);
  LayOut(head.q, head.stride, queries, width, head_dim, by_dim);
  Multiply<two>({head.k, head.stride, 1}, tokens, by_dim, head_dim, zeros, scores);
  if (relative != nullptr) {
    AddRelative<two>(*relative, by_dim, static_cast<size_t>(first), tokens, head_dim, zeros,
                     scores);
  }
  if (window != 0) MaskWindow(scores, width, tokens, first, window);
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
                    size_t window, float scale, float* scratch, const RelativeHead& of) {
  const size_t lanes = hn::Lanes(D());
  Relative relative{of, nullptr, nullptr, nullptr, nullptr, 0};
  const Relative* const used = of.buckets != nullptr ? &relative : nullptr;
  if (used != nullptr) {
    // After what a block has (AttentionScratch).
    float* const own = scratch + AttentionScratch(tokens);
    StartRelative(head, queries, tokens, head_dim, scratch, scratch + kMostVectors * lanes, own,
                  &relative);
  }
  for (size_t q = 0; q < queries;) {
    const size_t some = std::min(kMostVectors * lanes, queries - q);
    // The keys that any of the block's queries sees.
    const size_t begin = window != 0 && q > window ? q - window : 0;
    const size_t end = window != 0 ? std::min(tokens, q + some + window) : tokens;
    const AttentionHead block{head.q + q * head.stride,       head.k + begin * head.stride,
                              head.v + begin * head.stride,   head.stride,
                              head.out + q * head.out_stride, head.out_stride};
    const auto first = static_cast<ptrdiff_t>(q - begin);
    if (some > lanes) {
      Block<true>(block, some, end - begin, head_dim, first, window, scale, scratch, used);
    } else {
      Block<false>(block, some, end - begin, head_dim, first, window, scale, scratch, used);
    }
    q += some;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::handoff
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::handoff {

HWY_EXPORT(AttendOnTarget);

uint64_t AttentionScratch(uint64_t tokens, uint64_t relative_rows) {
  constexpr uint64_t kWide = 2 * 64;  // of the widest target, SVE's 256 bytes
  const uint64_t block = (1 + RANKFEED_GPU_MAX_HEAD + tokens) * kWide;
  if (relative_rows == 0) return block;
  // Buckets, the blocks' first ones, and products of a block of queries and of all of keys.
  return block + 3 * tokens + kWide + relative_rows * (kWide + tokens + kWide);
}

void Attend(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim,
            size_t window, float scale, float* scratch, const RelativeHead& relative) {
  HWY_DYNAMIC_DISPATCH(AttendOnTarget)
  (head, queries, tokens, head_dim, window, scale, scratch, relative);
}

}  // namespace rankfeed::handoff
#endif  // HWY_ONCE
