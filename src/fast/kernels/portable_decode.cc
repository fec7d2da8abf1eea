// SPDX-License-Identifier: MIT
// fast/kernels/portable_decode.cc: raw bytes to character codes, and short spans to their ids.
// Compiled once per Highway target.
#include <algorithm>
#include <bit>
#include <cstring>

// GCC 12 spills general registers to vector registers in AVX-512 functions: 15 % slower than the
// AVX2 ones on the same CPU (bench/NOTES.md).
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fast/kernels/portable_decode.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h, which defines the target.
#include "fast/kernels/loops.h"

HWY_BEFORE_NAMESPACE();
namespace rankfeed::fast {
namespace HWY_NAMESPACE {

using image::CharInfo;

// Characters of three bytes from kFirst up to kEnd, as long as each is one code and begins before
// end. Reads four bytes from there. *codes and *previous, of the last, are moved on;
// returns where it stopped.
template <uint32_t kFirst, uint32_t kEnd>
HWY_INLINE const char* DecodeThree(const CharInfo* basic, const char* text, const char* end,
                                   uint16_t** codes, CharInfo* previous) {
  CharInfo last = *previous;
  uint16_t* out = *codes;
  for (; text < end; text += 3) {
    // Not overlong (E0 80..9F). Surrogates are no direct code.
    const uint32_t word = utf8::LoadThree(text), c = utf8::CodePointOfThree(word);
    const CharInfo info = basic[c];
    if (!utf8::IsThree(word) || c - kFirst >= kEnd - kFirst || !info.Follows(last)) break;
    *out++ = static_cast<uint16_t>(info.code());
    last = info;
  }
  *codes = out;
  *previous = last;
  return text;
}

const char* DecodeRun(const char* text, RunDecode* to) {
  const char* const end = to->readable;
  const CharInfo* const basic = to->basic;
  // To the next place where a part is long enough, and from there on one by one.
  while (text < end && to->size < to->size_limit) {
    const uint32_t most = std::min(std::max(to->size, to->open() + RunDecode::kCutFrom), to->size_limit);
    if (to->size < most) {
      const ptrdiff_t room = ptrdiff_t{3} * (most - to->size);
      const char* const stop = text + std::min<ptrdiff_t>(end - text, room);
      uint16_t* out = to->codes + to->size;
      text = DecodeThree<0x800, image::kFirstCjk>(basic, text, stop, &out, &to->previous);
      to->size = static_cast<uint32_t>(out - to->codes);
      if (text >= stop) continue;
      if (!AppendExpansion(text, to)) return text;
      text += 3;
      continue;
    }
    uint16_t code;
    uint16_t* out = &code;
    CharInfo info = to->previous;
    if (DecodeThree<0x800, image::kFirstCjk>(basic, text, text + 1, &out, &info) == text) {
      if (!AppendExpansion(text, to)) return text;
      text += 3;
      continue;
    }
    const uint16_t last_code = to->codes[to->size - 1];
    if (!info.IsMark() && MayEndBetween(to->pairs, last_code, to->previous, info)) {
      to->Cut();
    }
    to->codes[to->size++] = code;
    to->previous = info;
    text += 3;
  }
  return text;
}

// In Chinese two of three neighbours share no piece; which ones follows no pattern, so there is no
// branch on it.
const char* DecodeCjk(const char* text, RunDecode* to) {
  if (text >= to->readable) return text;
  const uint16_t* const direct = to->direct;
  uint16_t *const codes = to->codes, *begin = to->begins + to->count;
  uint32_t size = to->size, open = to->open();
  uint32_t some = size != open;  // characters in the open part
  uint32_t last = some ? codes[size - 1] : 0;
  const ptrdiff_t room = ptrdiff_t{3} * (to->size_limit - size);
  const char* const stop = text + std::min(to->readable - text, room);
  for (; text < stop; text += 3) {
    const uint32_t word = utf8::LoadThree(text), c = utf8::CodePointOfThree(word), code = direct[c];
    if (!utf8::IsThree(word) || c < image::kFirstCjk || code == 0) break;
    const uint32_t cut = some & ~uint32_t{image::Spanned(to->pairs, last, code)};
    *begin = static_cast<uint16_t>(open);
    begin += cut;
    open += (size - open) & (0 - cut);
    codes[size++] = static_cast<uint16_t>(code);
    last = code;
    some = 1;
  }
  *begin = static_cast<uint16_t>(open);
  if (size == to->size) return text;
  to->previous = to->basic[utf8::CodePointOfThree(utf8::LoadThree(text - 3))];
  to->count = static_cast<uint32_t>(begin - to->begins);
  to->size = size;
  return text;
}

// Several characters at a time, with the first again in the place of what is missing in the last
// group: how long a segment is follows no pattern that a branch predictor could learn. Returns the
// count of codes, 0 if some character is not one.
HWY_INLINE uint32_t DecodeOnes(const CharInfo* basic, const uint64_t (&key)[3],
                               const uint64_t (&mask)[3], uint32_t size, uint16_t* out) {
  const uint64_t fill = 0x0101010101010101 * (key[0] & 0xff);
  uint8_t bytes[24];
  for (int i = 0; i < 3; ++i) {
    const uint64_t filled = key[i] | (fill & ~mask[i]);
    std::memcpy(bytes + 8 * i, &filled, sizeof(filled));
  }
  CharInfo all;
  for (uint32_t i = 0; i < size; i += 8) {
    for (uint32_t k = 0; k < 8; ++k) {
      const CharInfo info = basic[bytes[i + k]];
      all |= info;
      out[i + k] = static_cast<uint16_t>(info.code());
    }
  }
  return all.IsDirect() ? size : 0;
}

HWY_INLINE uint32_t DecodeTwos(const CharInfo* basic, const uint64_t (&key)[3],
                               const uint64_t (&mask)[3], uint32_t size, uint16_t* out) {
  const uint64_t fill = 0x0001000100010001 * (key[0] & 0xffff);
  CharInfo all;
  bool overlong = false;
  for (uint32_t i = 0; 2 * i < size; i += 4) {
    const uint64_t filled = key[i / 4] | (fill & ~mask[i / 4]);
    for (uint32_t k = 0; k < 4; ++k) {
      const auto two = static_cast<uint32_t>(filled >> 16 * k);
      const uint32_t c = (two & 0x1f) << 6 | (two >> 8 & 0x3f);
      const CharInfo info = basic[c];
      all |= info;
      overlong |= c < 0x80;
      out[i + k] = static_cast<uint16_t>(info.code());
    }
  }
  return all.IsDirect() && !overlong ? size / 2 : 0;
}

uint32_t DecodeMixed(const CharInfo* basic, const char* bytes, uint32_t size, uint16_t* out) {
  CharInfo previous;
  uint16_t* to = out;
  size_t pos = static_cast<size_t>(
      DecodeThree<0x800, 0x10000>(basic, bytes, bytes + size, &to, &previous) - bytes);
  while (pos < size) {
    const utf8::Decoded c = utf8::DecodeInline({bytes, size}, pos);
    if (!c.valid || c.size > 3) return 0;
    const CharInfo info = basic[c.code_point];
    if (!info.Follows(previous)) return 0;
    *to++ = static_cast<uint16_t>(info.code());
    previous = info;
    pos += c.size;
  }
  return static_cast<uint32_t>(to - out);
}

uint32_t DecodeShort(const Segments& segments, const SegmentKey* keys, const uint16_t* misses,
                     uint32_t count, ShortDecode* to) {
  constexpr uint64_t kHigh = 0x8080808080808080, kTwoMask = 0xc0e0c0e0c0e0c0e0, kTwo = 0x80c080c080c080c0;
  uint32_t size = to->size, span = to->count, done = 0;
  for (; done < count && size < to->size_limit && span < to->count_limit; ++done) {
    const uint16_t i = misses[done];
    const bool word_start = segments.word_start(i);
    const uint32_t bytes = segments.size(i);
    if (bytes > ShortDecode::kMaxBytes) break;
    uint16_t* const codes = to->codes + size;
    codes[0] = to->metaspace;
    const char* const begin = reinterpret_cast<const char*>(&keys[i]) + 1;
    uint64_t key[3], mask[3];
    std::memcpy(key, begin, sizeof(key));
    std::memcpy(mask, kKeyRows.masks + 2 * bytes * sizeof(SegmentKey) + 1, sizeof(mask));
    uint32_t codes_count;
    if (bytes > sizeof(key)) {
      codes_count = DecodeMixed(to->basic, begin, bytes, codes + word_start);
    } else if (((key[0] | key[1] | key[2]) & kHigh) == 0) {
      codes_count = DecodeOnes(to->basic, key, mask, bytes, codes + word_start);
    } else if ((((key[0] ^ kTwo) & kTwoMask & mask[0]) | ((key[1] ^ kTwo) & kTwoMask & mask[1]) |
                ((key[2] ^ kTwo) & kTwoMask & mask[2])) == 0 &&
               bytes % 2 == 0) {
      codes_count = DecodeTwos(to->basic, key, mask, bytes, codes + word_start);
      // The order of its characters matters where there are marks.
      if (codes_count == 0) {
        codes_count = DecodeMixed(to->basic, begin, bytes, codes + word_start);
      }
    } else {
      codes_count = DecodeMixed(to->basic, begin, bytes, codes + word_start);
    }
    if (codes_count == 0) break;
    to->decoded[done] = EndShort(*to, i, word_start, codes_count, &size, &span);
  }
  to->size = size;
  to->count = span;
  return done;
}

}  // namespace HWY_NAMESPACE
}  // namespace rankfeed::fast
HWY_AFTER_NAMESPACE();
