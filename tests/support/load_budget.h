// SPDX-License-Identifier: MIT
// tests/support/load_budget.h: what a loader may spend on a file, as SECURITY.md promises.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/sanitizers.h"

namespace rankfeed::test {

// A sanitizer's build does the same work with checks in between: 20 times the time and 4 times the
// memory (AddressSanitizer and UBSan with -O1: the dearest generated file took 4 times as long).
inline constexpr double kTimeFactor = kSanitized ? 20 : 1;
inline constexpr uint64_t kMemoryFactor = kSanitized ? 4 : 1;

constexpr double SecondsFor(size_t file_bytes) {
  return kTimeFactor * (1 + 100e-9 * static_cast<double>(file_bytes));
}
// image_bytes: of the image that came of it, 0 for a file that is refused.
constexpr uint64_t BytesFor(size_t file_bytes, uint64_t image_bytes = 0) {
  return kMemoryFactor * ((uint64_t{64} << 20) + 8 * uint64_t{file_bytes} + 2 * image_bytes);
}

}  // namespace rankfeed::test
