// SPDX-License-Identifier: MIT
// simd/fast_gathers.cc: see fast_gathers.h.
#include "simd/fast_gathers.h"

#include <hwy/targets.h>

#include <atomic>
#include <cstdint>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace rankfeed::simd {

#if HWY_ARCH_X86
// Asked for once: in a virtual machine cpuid takes tens of microseconds.
static bool SapphireRapids() {
  enum : int { kUnknown, kNo, kYes };
  static std::atomic<int> known{kUnknown};
  int is = known.load(std::memory_order_relaxed);
  if (is == kUnknown) {
    // AVX512-FP16 (leaf 7, EDX bit 23) came with it.
    uint32_t a, b, c, d;
    is = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0 ? kYes : kNo;
    known.store(is, std::memory_order_relaxed);
  }
  return is == kYes;
}
#endif

static std::atomic<Gathers> gathers_for_test{Gathers::kWhereFast};

void SetGathersForTest(Gathers gathers) {
  gathers_for_test = gathers;
}

bool CanGather() {
#if HWY_ARCH_X86
  return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0;
#else
  return false;
#endif
}

bool FastGathers() {
#if HWY_ARCH_X86
  const Gathers gathers = gathers_for_test.load(std::memory_order_relaxed);
  return CanGather() && gathers != Gathers::kNever &&
         (gathers == Gathers::kAlways || SapphireRapids());
#else
  return false;
#endif
}

}  // namespace rankfeed::simd
