// SPDX-License-Identifier: MIT
// words/gather.h: what the files that load from eight places at a time share (x86 with AVX-512).
//
// Only for CPUs on which a gather is as fast as the loads it stands for: Intel CPUs before Sapphire
// Rapids are mended against gather data sampling (INTEL-SA-00828) at the cost of their speed.
// Intrinsics, as Highway 1.0 has neither masked gathers nor compression of bytes.
#pragma once

#include <hwy/targets.h>

#include <cstdint>

#if HWY_ARCH_X86

#include <cpuid.h>
#include <immintrin.h>

// Of the undefined vectors inside GCC 12's own intrinsics (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Function by function, so that nothing inline of another header is compiled for these CPUs.
#define RANKFEED_GATHER                                                                  \
  __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl," \
                        "avx512cd,avx512vbmi,avx512vbmi2")))

namespace rankfeed::words {

inline constexpr uint32_t kGatherLanes = 8;

// AVX512-FP16 came with Sapphire Rapids.
inline bool FastGathers() {
  uint32_t a, b, c, d;
  return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0 &&
         __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0;
}

RANKFEED_GATHER inline __m512i Set(uint64_t value) {
  return _mm512_set1_epi64(static_cast<int64_t>(value));
}
RANKFEED_GATHER inline __m512i Load(const uint64_t* from) { return _mm512_loadu_si512(from); }
// Eight times base[at].
RANKFEED_GATHER inline __m512i Gather(const uint64_t* base, __m512i at) {
  return _mm512_i64gather_epi64(at, base, sizeof(uint64_t));
}

}  // namespace rankfeed::words

#endif  // HWY_ARCH_X86
