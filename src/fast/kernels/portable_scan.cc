// SPDX-License-Identifier: MIT
// fast/kernels/portable_scan.cc: bytes to classes. Compiled once per Highway target.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/utf8.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fast/kernels/portable_scan.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include "fast/kernels/loops.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::fast {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 64 lanes, so that one vector never spans two mask words.
using Bytes = hn::CappedTag<uint8_t, 64>;

// In an integer of as many bits as lanes: GCC merges them into a wider one, four instructions a mask.
template <class D>
HWY_INLINE uint64_t MaskBits(D d, hn::Mask<D> mask) {
  hwy::UnsignedFromSize<std::max<size_t>(hn::MaxLanes(D()) / 8, 1)> bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

// The 64 bytes at a place, in `tail` if fewer than that are left, with others after them.
HWY_INLINE const uint8_t* Block(const char* from, size_t left, uint8_t other, uint8_t (&tail)[64]) {
  if (left >= 64) return reinterpret_cast<const uint8_t*>(from);
  std::memset(tail, other, sizeof(tail));
  std::memcpy(tail, from, left);
  return tail;
}

// Returns the sets, given by the halves low and high, that each byte of v is in; zero is none.
template <class V>
HWY_INLINE V Has(Bytes d, const uint8_t (&low)[16], const uint8_t (&high)[16], V v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, static_cast<uint8_t>(low[hn::GetLane(v) & 15] & high[hn::GetLane(v) >> 4]));
#else
  const auto row = hn::TableLookupBytes(hn::LoadDup128(d, low), hn::And(v, hn::Set(d, 0x0f)));
  return hn::And(row, hn::TableLookupBytes(hn::LoadDup128(d, high), hn::ShiftRight<4>(v)));
#endif
}

// Tables from which Has gives bits: a byte is beyond ASCII (0x80), a letter (0x40, the later ones 0x20), a digit (0x10), a blank
// (0x04), white space that is none (0x08), a newline (0x02), an apostrophe (0x01).
constexpr LeadSet kSplitSets = {
    {0xb4, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf1, 0xf0, 0xf8, 0xea, 0xc8, 0xc8, 0xca, 0xc0, 0xc0},
    {0x0a, 0x00, 0x05, 0x10, 0x40, 0x20, 0x40, 0x20, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}};

bool Classify(const char* text, size_t size, const ByteClasses& classes, ClassMasks* masks) {
  const Bytes d;
  auto found = hn::Zero(d);
  alignas(64) uint8_t tail[64];
  for (size_t at = 0; at < size; at += 64) {
    const uint8_t* const from = Block(text + at, size - at, 0xff, tail);  // in no set
    ClassMasks m = {};
    for (size_t i = 0; i < 64; i += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, from + i);
      const auto in = [&](const ByteSet& set) HWY_ATTR {
        return MaskBits(d, hn::Ne(Has(d, set.low, classes.separators.high, v), hn::Zero(d))) << i;
      };
      m.separator |= in(classes.separators);
      m.common |= in(classes.common);
      m.letter |= in(classes.letters);
      found = hn::Or(found, Has(d, classes.stop_bytes.low, classes.separators.high, v));
    }
    if (size - at < 64) m.separator |= ~uint64_t{0} << (size - at);
    masks[at / 64] = m;
  }
  return !hn::AllFalse(d, hn::Ne(found, hn::Zero(d)));
}

bool ClassifySplits(const char* text, size_t size, const ByteSet& stop_bytes, SplitMasks* masks) {
  const Bytes d;
  const hn::RebindToSigned<Bytes> di;
  auto found = hn::Zero(d);
  alignas(64) uint8_t tail[64];
  for (size_t at = 0; at < size; at += 64) {
    const uint8_t* const from = Block(text + at, size - at, '\t', tail);
    SplitMasks m = {};
    for (size_t i = 0; i < 64; i += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, from + i);
      found = hn::Or(found, Has(d, stop_bytes.low, stop_bytes.high, v));
      auto sets = Has(d, kSplitSets.low, kSplitSets.high, v);
      // From the highest bit on: that is the sign, and to test it takes no constant, which GCC 12 makes anew each time.
      const auto put = [&](auto*... of_sets) HWY_ATTR {
        ((*of_sets |= MaskBits(d, hn::RebindMask(d, hn::Lt(hn::BitCast(di, sets), hn::Zero(di)))) << i,
          sets = hn::Add(sets, sets)), ...);
      };
      put(&m.beyond_ascii, &m.letters, &m.letters, &m.digits, &m.spaces, &m.blanks, &m.newlines, &m.apostrophes);
    }
    m.spaces |= m.blanks;
    masks[at / 64] = m;
  }
  return !hn::AllFalse(d, hn::Ne(found, hn::Zero(d)));
}

void ClassifyLeads(const char* text, size_t size, size_t left, const CharacterTables& tables,
                   LeadMasks* masks) {
  const Bytes d;
  alignas(64) uint8_t tail[64 + 8] = {};  // a character that begins in it may end past 64 bytes
  if (left < sizeof(tail)) std::memcpy(tail, text, left);
  const uint8_t* const from = left < sizeof(tail) ? tail : reinterpret_cast<const uint8_t*>(text);
  const uint64_t valid = size < 64 ? (uint64_t{1} << size) - 1 : ~uint64_t{0};
  LeadMasks m = {};
  uint64_t plain = 0;
  for (size_t i = 0; i < 64; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, from + i);
    const auto put = [&](uint64_t* mask, auto has) HWY_ATTR { *mask |= MaskBits(d, has) << i & valid; };
    const auto at_least = [&](uint8_t byte) HWY_ATTR {
      return hn::Eq(hn::Max(v, hn::Set(d, byte)), v);
    };
    put(&m.inner, hn::Eq(hn::And(v, hn::Set(d, 0xc0)), hn::Set(d, 0x80)));
    put(&m.leads, at_least(0xc0));
    put(&m.threes, at_least(0xe0));
    put(&m.fours, at_least(0xf0));
    put(&plain, hn::Ne(Has(d, tables.plain.low, tables.plain.high, v), hn::Zero(d)));
    put(&m.cuts, hn::Ne(Has(d, tables.cuts.low, tables.cuts.high, v), hn::Zero(d)));
  }
  m.kinds[0] = plain;
  m.unsure = m.fours;
  for (uint64_t leads = m.leads & ~plain & ~m.fours; leads != 0; leads &= leads - 1) {
    const auto bit = static_cast<uint32_t>(std::countr_zero(leads));
    uint32_t bytes;
    const char32_t c = utf8::DecodeValid(reinterpret_cast<const char*>(from + bit), &bytes);
    const uint8_t classes = tables.classes[tables.blocks[c >> 8] << 8 | (c & 0xff)];
    for (int i = 0; i < 3; ++i) m.kinds[i] |= (uint64_t{tables.kinds[classes & 15]} >> i & 1) << bit;
    const bool bad = c < (bytes == 2 ? 0x80u : 0x800u) || (c & 0xf800) == 0xd800;
    m.unsure |= uint64_t{bad || (classes & tables.unstable) != 0} << bit;
  }
  *masks = m;
}

uint64_t FindApart(const char* text, size_t, uint64_t leads, const CharacterTables& tables, char32_t* before) {
  uint64_t apart = 0;
  for (char32_t c; leads != 0; leads &= leads - 1, *before = c) {
    const auto bit = static_cast<uint32_t>(std::countr_zero(leads));
    uint32_t bytes;
    c = utf8::DecodeValid(text + bit, &bytes);
    apart |= uint64_t{!tables.MayHold(*before, c)} << bit;
  }
  return apart;
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::fast
HWY_AFTER_NAMESPACE();
