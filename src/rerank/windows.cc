// SPDX-License-Identifier: MIT
// rerank/windows.cc: counting and placing windows.
#include "rerank/windows.h"

#include <algorithm>

namespace rankfeed::rerank {

Range Windows::At(uint32_t i) const {
  if (tokens <= size) return {0, tokens};
  // In the direction of counting; i * step < tokens because the window before i does not reach the
  // end.
  const uint32_t start = i * step;
  Range window{start, start + std::min(size, tokens - start)};
  if (aligned_last && window.end == tokens) window.begin = tokens - size;
  if (side == RANKFEED_LEFT) window = {tokens - window.end, tokens - window.begin};
  return window;
}

Range Windows::Covered() const {
  const Range first = At(0), last = At(count - 1);
  return {std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

bool MakeWindows(uint32_t tokens, uint32_t size, uint32_t stride, uint8_t overflow, uint8_t side,
                 uint32_t max_windows, Windows* out) {
  const bool aligned = overflow == RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST;
  *out = {tokens, size, size, 1, aligned, side};
  if (tokens <= size) return true;
  const uint32_t overlap = aligned ? std::min(stride, size / kAlignedOverlapDivisor) : stride;
  if (overlap >= size) return false;
  out->step = size - overlap;
  // Windows start every step tokens until one reaches the end.
  out->count = 1 + (tokens - size - 1) / out->step + 1;
  if (max_windows != 0) out->count = std::min(out->count, max_windows);
  return true;
}

}  // namespace rankfeed::rerank
