// SPDX-License-Identifier: MIT
// simd/fast_gathers.cc: see fast_gathers.h.
#include "simd/fast_gathers.h"

#include <hwy/targets.h>

#include <cstdint>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace rankfeed::simd {

bool FastGathers() {
#if HWY_ARCH_X86
  // AVX512-FP16 (leaf 7, EDX bit 23) came with Sapphire Rapids.
  uint32_t a, b, c, d;
  return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0 &&
         __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0;
#else
  return false;
#endif
}

}  // namespace rankfeed::simd
