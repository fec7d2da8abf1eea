// SPDX-License-Identifier: MIT
// segment/kernels/portable_scan.cc: bytes to classes. Compiled once per Highway target.
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "segment/kernels/portable_scan.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include "segment/kernels/portable.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::segment {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
bool Classify(const char* text, size_t size, const ByteClasses& classes, ClassMasks* masks) {
  bool found = false;
  for (size_t at = 0; at < size; at += 64) {
    ClassMasks m = {};
    for (size_t i = 0; i < 64; ++i) {
      const bool inside = at + i < size;
      const auto byte = static_cast<uint8_t>(inside ? text[at + i] : 0);
      m.separator |= uint64_t{!inside || classes.separators.Has(byte)} << i;
      m.common |= uint64_t{inside && classes.common.Has(byte)} << i;
      m.letter |= uint64_t{inside && classes.letters.Has(byte)} << i;
      found |= inside && classes.stop_bytes.Has(byte);
    }
    masks[at / 64] = m;
  }
  return found;
}

bool ClassifySplits(const char* text, size_t size, SplitMasks* masks) {
  bool beyond = false;
  for (size_t at = 0; at < size; at += 64) {
    SplitMasks m = {};
    for (size_t i = 0; i < 64; ++i) {
      const auto byte = static_cast<uint8_t>(at + i < size ? text[at + i] : '\t');
      const auto put = [&](uint64_t* mask, bool has) { *mask |= uint64_t{has} << i; };
      const auto lower = static_cast<uint8_t>(byte | 0x20);
      put(&m.letters, lower >= 'a' && lower <= 'z');
      put(&m.digits, byte >= '0' && byte <= '9');
      put(&m.spaces, byte == ' ' || (byte >= '\t' && byte <= '\r'));
      put(&m.blanks, byte == ' ');
      put(&m.newlines, byte == '\r' || byte == '\n');
      put(&m.apostrophes, byte == '\'');
      put(&m.beyond_ascii, byte >= 0x80);
    }
    beyond |= m.beyond_ascii != 0;
    masks[at / 64] = m;
  }
  return beyond;
}

void ClassifyLeads(const char* text, size_t size, const LeadSet& plain, LeadMasks* masks) {
  LeadMasks m = {};
  for (size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    m.inner |= uint64_t{(byte & 0xc0) == 0x80} << i;
    m.leads |= uint64_t{byte >= 0xc0} << i;
    m.threes |= uint64_t{byte >= 0xe0} << i;
    m.fours |= uint64_t{byte >= 0xf0} << i;
    m.plain |= uint64_t{plain.Has(byte)} << i;
  }
  *masks = m;
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// At most 64 lanes, so that one vector never spans two mask words.
using Bytes = hn::CappedTag<uint8_t, 64>;

template <class D>
HWY_INLINE uint64_t MaskBits(D d, hn::Mask<D> mask) {
  uint8_t bits[8] = {};
  hn::StoreMaskBits(d, mask, bits);
  uint64_t word;
  std::memcpy(&word, bits, sizeof(word));
  return word;
}

bool Classify(const char* text, size_t size, const ByteClasses& classes, ClassMasks* masks) {
  const Bytes d;
  const size_t lanes = hn::Lanes(d);
  const auto high = hn::LoadDup128(d, classes.separators.high);
  const auto low_s = hn::LoadDup128(d, classes.separators.low),
             low_c = hn::LoadDup128(d, classes.common.low),
             low_l = hn::LoadDup128(d, classes.letters.low),
             low_f = hn::LoadDup128(d, classes.stop_bytes.low);
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

bool ClassifySplits(const char* text, size_t size, SplitMasks* masks) {
  const Bytes d;
  const size_t lanes = hn::Lanes(d);
  const auto* bytes = reinterpret_cast<const uint8_t*>(text);
  // Whether bytes are of [first, last].
  const auto between = [d](auto v, uint8_t first, uint8_t last) HWY_ATTR {
    const auto from_first = hn::Sub(v, hn::Set(d, first));
    return hn::Eq(hn::Min(from_first, hn::Set(d, static_cast<uint8_t>(last - first))), from_first);
  };
  uint64_t beyond = 0;
  alignas(64) uint8_t tail[64];
  for (size_t at = 0; at < size; at += 64) {
    const uint8_t* from = bytes + at;
    if (size - at < 64) {
      std::memset(tail, '\t', sizeof(tail));
      std::memcpy(tail, from, size - at);
      from = tail;
    }
    SplitMasks m = {};
    for (size_t i = 0; i < 64; i += lanes) {
      const auto v = hn::LoadU(d, from + i);
      const auto put = [&](uint64_t* mask, auto has) HWY_ATTR { *mask |= MaskBits(d, has) << i; };
      const auto blank = hn::Eq(v, hn::Set(d, ' '));
      put(&m.letters, between(hn::Or(v, hn::Set(d, 0x20)), 'a', 'z'));
      put(&m.digits, between(v, '0', '9'));
      put(&m.spaces, hn::Or(blank, between(v, '\t', '\r')));
      put(&m.blanks, blank);
      put(&m.newlines, hn::Or(hn::Eq(v, hn::Set(d, '\r')), hn::Eq(v, hn::Set(d, '\n'))));
      put(&m.apostrophes, hn::Eq(v, hn::Set(d, '\'')));
      put(&m.beyond_ascii, between(v, 0x80, 0xff));
    }
    beyond |= m.beyond_ascii;
    masks[at / 64] = m;
  }
  return beyond != 0;
}

void ClassifyLeads(const char* text, size_t size, const LeadSet& plain, LeadMasks* masks) {
  const Bytes d;
  const size_t lanes = hn::Lanes(d);
  const auto low = hn::LoadDup128(d, plain.low), high = hn::LoadDup128(d, plain.high);
  const auto* from = reinterpret_cast<const uint8_t*>(text);
  alignas(64) uint8_t tail[64] = {};
  if (size < 64) {
    std::memcpy(tail, text, size);
    from = tail;
  }
  LeadMasks m = {};
  for (size_t i = 0; i < 64; i += lanes) {
    const auto v = hn::LoadU(d, from + i);
    const auto put = [&](uint64_t* mask, auto has) HWY_ATTR { *mask |= MaskBits(d, has) << i; };
    const auto at_least = [&](uint8_t byte) HWY_ATTR {
      return hn::Eq(hn::Max(v, hn::Set(d, byte)), v);
    };
    put(&m.inner, hn::Eq(hn::And(v, hn::Set(d, 0xc0)), hn::Set(d, 0x80)));
    put(&m.leads, at_least(0xc0));
    put(&m.threes, at_least(0xe0));
    put(&m.fours, at_least(0xf0));
    const auto row = hn::TableLookupBytes(low, hn::And(v, hn::Set(d, 0x0f)));
    const auto column = hn::TableLookupBytes(high, hn::ShiftRight<4>(v));
    put(&m.plain, hn::Ne(hn::And(row, column), hn::Zero(d)));
  }
  *masks = m;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::segment
HWY_AFTER_NAMESPACE();
