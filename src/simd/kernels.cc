// SPDX-License-Identifier: MIT
// simd/kernels.cc: see kernels.h. Compiled once per Highway target.
#include "simd/kernels.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rankfeed::simd {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
bool Classify(const char* text, size_t size, const ByteSet& separators, const ByteSet& common,
              const ByteSet& letters, const ByteSet& stop_bytes, ClassMasks* masks) {
  bool found = false;
  for (size_t at = 0; at < size; at += 64) {
    ClassMasks m = {};
    for (size_t i = 0; i < 64; ++i) {
      const bool inside = at + i < size;
      const auto byte = static_cast<uint8_t>(inside ? text[at + i] : 0);
      m.separator |= uint64_t{!inside || separators.Has(byte)} << i;
      m.common |= uint64_t{inside && common.Has(byte)} << i;
      m.letter |= uint64_t{inside && letters.Has(byte)} << i;
      found |= inside && stop_bytes.Has(byte);
    }
    masks[at / 64] = m;
  }
  return found;
}

// One lane has no byte table to look up in; these are also the definitions the others must meet.

size_t FindFirst(const char* text, size_t size, const ByteSet& set) {
  size_t at = 0;
  while (at < size && !set.Has(static_cast<uint8_t>(text[at]))) ++at;
  return at;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// At most 64 lanes, so that one vector never spans two mask words.
using Bytes = hn::CappedTag<uint8_t, 64>;

template <class D, class V>
HWY_INLINE hn::Mask<D> InSet(D d, V bytes, V low, V high) {
  // Bytes from 0x80 on find a zero in `high`, whatever their low nibble finds.
  const V nibble = hn::Set(d, 0x0f);
  const V row = hn::TableLookupBytes(low, hn::And(bytes, nibble));
  const V column = hn::TableLookupBytes(high, hn::ShiftRight<4>(bytes));
  return hn::Ne(hn::And(row, column), hn::Zero(d));
}

template <class D>
HWY_INLINE uint64_t MaskBits(D d, hn::Mask<D> mask) {
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, mask, bits);
  uint64_t word;
  std::memcpy(&word, bits, sizeof(word));
  return word;
}

bool Classify(const char* text, size_t size, const ByteSet& separators, const ByteSet& common,
              const ByteSet& letters, const ByteSet& stop_bytes, ClassMasks* masks) {
  const Bytes d;
  const size_t lanes = hn::Lanes(d);
  const auto high = hn::LoadDup128(d, separators.high);
  const auto low_s = hn::LoadDup128(d, separators.low), low_c = hn::LoadDup128(d, common.low),
             low_l = hn::LoadDup128(d, letters.low), low_f = hn::LoadDup128(d, stop_bytes.low);
  auto found = hn::Zero(d);
  const auto zero = hn::Zero(d);
  const auto nibble = hn::Set(d, 0x0f);
  const auto* bytes = reinterpret_cast<const uint8_t*>(text);
  alignas(64) uint8_t tail[64];
  for (size_t at = 0; at < size; at += 64) {
    const uint8_t* from = bytes + at;
    if (size - at < 64) {
      std::memset(tail, 0xff, sizeof(tail));  // in no set
      std::memcpy(tail, from, size - at);
      from = tail;
    }
    ClassMasks m = {};
    for (size_t i = 0; i < 64; i += lanes) {
      const auto v = hn::LoadU(d, from + i);
      // Bytes from 0x80 on find a zero in `high`, whatever their low nibble finds.
      const auto row = hn::And(v, nibble);
      const auto column = hn::TableLookupBytes(high, hn::ShiftRight<4>(v));
      const auto in = [&](auto low) {
        return MaskBits(d, hn::Ne(hn::And(hn::TableLookupBytes(low, row), column), zero)) << i;
      };
      m.separator |= in(low_s);
      m.common |= in(low_c);
      m.letter |= in(low_l);
      found = hn::Or(found, hn::And(hn::TableLookupBytes(low_f, row), column));
    }
    if (from == tail) {
      const uint64_t outside = ~uint64_t{0} << (size - at);
      m.separator |= outside;
      m.common &= ~outside;
      m.letter &= ~outside;
    }
    masks[at / 64] = m;
  }
  return !hn::AllFalse(d, hn::Ne(found, zero));
}

size_t FindFirst(const char* text, size_t size, const ByteSet& set) {
  const Bytes d;
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::LoadDup128(d, set.low);
  const auto high = hn::LoadDup128(d, set.high);
  const auto* bytes = reinterpret_cast<const uint8_t*>(text);
  const auto in = [&](size_t at) { return InSet(d, hn::LoadU(d, bytes + at), low, high); };
  size_t at = 0;
  // One branch for several vectors; the loop below finds the byte.
  for (; at + 4 * lanes <= size; at += 4 * lanes) {
    const auto first = hn::Or(in(at), in(at + lanes));
    const auto second = hn::Or(in(at + 2 * lanes), in(at + 3 * lanes));
    if (!hn::AllFalse(d, hn::Or(first, second))) break;
  }
  for (; at + lanes <= size; at += lanes) {
    const auto found = hn::FindFirstTrue(d, in(at));
    if (found >= 0) return at + static_cast<size_t>(found);
  }
  // The last bytes, and some before them that are not in the set.
  if (size >= lanes) {
    const auto found = hn::FindFirstTrue(d, in(size - lanes));
    return found >= 0 ? size - lanes + static_cast<size_t>(found) : size;
  }
  while (at < size && !set.Has(bytes[at])) ++at;
  return at;
}

#endif  // HWY_TARGET == HWY_SCALAR

constexpr Kernels kKernels = {Classify, FindFirst};
const Kernels* Get() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankfeed::simd {

HWY_EXPORT(Get);

const Kernels& Dispatch() { return *HWY_DYNAMIC_DISPATCH(Get)(); }

}  // namespace rankfeed::simd
#endif  // HWY_ONCE
