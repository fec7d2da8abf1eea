// SPDX-License-Identifier: MIT
// base/avx512.h: what the files that load from eight places at a time share (x86 with AVX-512).
// Intrinsics, as Highway 1.0 has neither masked gathers nor compression of bytes.
#pragma once

#include <hwy/detect_targets.h>

#include <array>
#include <cstdint>

#if HWY_ARCH_X86

#include <immintrin.h>

// GCC 12 warns of undefined vectors inside its own intrinsics (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// Function by function, so that nothing inline of another header is compiled for these CPUs.
#define RANKFEED_GATHER                                                       \
  __attribute__((                                                             \
      target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl," \
             "avx512cd,avx512vbmi,avx512vbmi2")))

namespace rankfeed::avx512 {

inline constexpr uint32_t kGatherLanes = 8;

// 0, 1 ... 63.
alignas(64) inline constexpr auto kBytePlaces = [] {
  std::array<uint8_t, 64> places{};
  for (uint8_t i = 0; i < 64; ++i) places[i] = i;
  return places;
}();

RANKFEED_GATHER inline __m512i Set(uint64_t value) {
  return _mm512_set1_epi64(static_cast<int64_t>(value));
}
RANKFEED_GATHER inline __m512i Load(const uint64_t* from) {
  return _mm512_loadu_si512(from);
}
// This is the mask of the lanes in use where `left` elements remain.
RANKFEED_GATHER inline __mmask8 Lanes(uint32_t left) {
  return static_cast<__mmask8>(left < kGatherLanes ? (1u << left) - 1 : 0xff);
}
// Eight times base[at].
RANKFEED_GATHER inline __m512i Gather(const uint64_t* base, __m512i at) {
  return _mm512_i64gather_epi64(at, base, sizeof(uint64_t));
}

// The numbers of those of i, i + 1 ... whose bits are set go to numbers; eight are written.
RANKFEED_GATHER inline void Append(__mmask8 which, uint32_t i, uint16_t* numbers) {
  const __m256i all = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int32_t>(i)),
                                       _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  // Compression by 32 bits is faster than vpcompressw.
  _mm_storeu_si128(reinterpret_cast<__m128i*>(numbers),
                   _mm256_cvtepi32_epi16(_mm256_maskz_compress_epi32(which, all)));
}
// Eight pairs of the first and the second go to pairs.
RANKFEED_GATHER inline void StorePairs(__m512i first, __m512i second, void* pairs) {
  auto* const to = static_cast<uint64_t*>(pairs);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(
                              first, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), second));
  _mm512_storeu_si512(to + 8, _mm512_permutex2var_epi64(
                                  first, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), second));
}

}  // namespace rankfeed::avx512

#endif  // HWY_ARCH_X86
