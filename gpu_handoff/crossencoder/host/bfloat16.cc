// SPDX-License-Identifier: MIT
// crossencoder/host/bfloat16.cc: see bfloat16.h. Intrinsics and not Highway, whose version of
// Debian 12 has no product of pairs.
//
// As product.cc: 32 columns of weights at a time are laid out by depth, here in pairs, and six rows
// of x pass by them, rounded on their way.
#include "crossencoder/host/bfloat16.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rankfeed::handoff {

namespace {
constexpr size_t kRows = 6, kColumns = 32, kPairs = kBfloat16Depth / 2;
}  // namespace

uint64_t Bfloat16Scratch() {
  return kPairs * (kColumns + kRows);  // a pair is as large as a float
}

#if defined(__x86_64__)
namespace {

#define RANKFEED_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

// to[i] = the pair (from[2 i], from[2 i + 1]); after an odd end a zero. Writes whole vectors of
// pairs.
RANKFEED_BFLOAT16 void RoundPairs(const float* from, size_t size, uint32_t* to) {
  for (size_t i = 0; i < size; i += 32, to += 16) {
    const size_t left = size - i;
    const auto low = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
    const auto high = static_cast<__mmask16>(left >= 32   ? 0xffff
                                             : left <= 16 ? 0
                                                          : (1u << (left - 16)) - 1);
    const __m512 first = _mm512_maskz_loadu_ps(low, from + i);
    const __m512 second =
        left <= 16 ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(high, from + i + 16);
    _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first)));
  }
}

struct Panel {
  const uint32_t* pairs;  // [count][kColumns]
  size_t count;
  const float* bias;        // nullable
  __mmask16 first, second;  // which columns there are
};

// Six rows of pairs, row after row `stride` apart, times the panel. The last of fewer rows is taken
// for those that are not there.
RANKFEED_BFLOAT16 void MultiplyRows(const uint32_t* x, size_t stride, size_t rows,
                                    const Panel& panel, float* out, size_t n) {
  const auto row = [rows](size_t r) { return std::min(r, rows - 1); };
  __m512 sums[kRows][2];
  for (auto& sum : sums) {
    sum[0] = sum[1] = _mm512_setzero_ps();
    if (panel.bias == nullptr) continue;
    sum[0] = _mm512_maskz_loadu_ps(panel.first, panel.bias);
    if (panel.second != 0) sum[1] = _mm512_maskz_loadu_ps(panel.second, panel.bias + 16);
  }
  const uint32_t* at[kRows];
  for (size_t r = 0; r < kRows; ++r) at[r] = x + row(r) * stride;
  const uint32_t* b = panel.pairs;
  for (size_t i = 0; i < panel.count; ++i, b += kColumns) {
    const auto b0 = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b));
    const auto b1 = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + 16));
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) {
      const auto e = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int32_t>(at[r][i])));
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], e, b0);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], e, b1);
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    _mm512_mask_storeu_ps(out + r * n, panel.first, sums[r][0]);
    if (panel.second != 0) _mm512_mask_storeu_ps(out + r * n + 16, panel.second, sums[r][1]);
  }
}

// pairs[i][c] = pair i of row c of w, zeros where there is no such row.
RANKFEED_BFLOAT16 void PackPairs(const float* w, size_t columns, size_t k, uint32_t* row,
                                 uint32_t* pairs) {
  const size_t count = (k + 1) / 2;
  for (size_t c = 0; c < kColumns; ++c) {
    if (c < columns) RoundPairs(w + c * k, k, row);
    for (size_t i = 0; i < count; ++i) pairs[i * kColumns + c] = c < columns ? row[i] : 0;
  }
}

}  // namespace

bool HasBfloat16() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

void Bfloat16Product(const float* x, const float* w, const float* bias, size_t m, size_t n,
                     size_t k, float* out, float* scratch) {
  auto* const pairs = reinterpret_cast<uint32_t*>(scratch);
  uint32_t* const rounded = pairs + kPairs * kColumns;
  const size_t count = (k + 1) / 2, stride = (count + 15) / 16 * 16;
  const auto mask = [](size_t columns) {
    return static_cast<__mmask16>(columns >= 16 ? 0xffff : (1u << columns) - 1);
  };
  for (size_t at = 0; at < n; at += kColumns) {
    const size_t columns = std::min(kColumns, n - at);
    PackPairs(w + at * k, columns, k, rounded, pairs);
    const Panel panel{pairs, count, bias == nullptr ? nullptr : bias + at, mask(columns),
                      columns > 16 ? mask(columns - 16) : __mmask16{0}};
    for (size_t r = 0; r < m; r += kRows) {
      const size_t rows = std::min(kRows, m - r);
      for (size_t i = 0; i < rows; ++i) RoundPairs(x + (r + i) * k, k, rounded + i * stride);
      MultiplyRows(rounded, stride, rows, panel, out + r * n + at, n);
    }
  }
}

#else

bool HasBfloat16() {
  return false;
}
void Bfloat16Product(const float*, const float*, const float*, size_t, size_t, size_t, float*,
                     float*) {}

#endif

}  // namespace rankfeed::handoff
