// SPDX-License-Identifier: MIT
// fast/kernels/avx512_decode.cc: decoding of kernels.h, sixteen characters or eight parts at a
// time, and what scanning asks of characters, so that sixteen look-ups wait for memory together.
#include "fast/kernels/loops.h"

#if HWY_ARCH_X86

#include <algorithm>
#include <bit>
#include <cstddef>

namespace rankfeed::fast::avx512 {
namespace {

constexpr int kCharacters = 16;

RANKFEED_GATHER inline __m512i Set32(uint32_t value) {
  return _mm512_set1_epi32(static_cast<int32_t>(value));
}

// Sixteen code points and a mask of the lanes in use.
struct CodePoints {
  __m512i values;
  __mmask16 lanes;
};

// Decodes characters of three bytes below image::kFirstCjk. count: at most kCharacters; what is
// beyond is not read.
RANKFEED_GATHER inline CodePoints Threes(const char* text, uint32_t count) {
  // Bytes 3 i + 2, 3 i + 1 and 3 i go to 4 i on.
  alignas(64) static constexpr uint8_t kPlaces[64] = {
      2,  1,  0,  0,  5,  4,  3,  0,  8,  7,  6,  0,  11, 10, 9,  0,  14, 13, 12, 0,  17, 16,
      15, 0,  20, 19, 18, 0,  23, 22, 21, 0,  26, 25, 24, 0,  29, 28, 27, 0,  32, 31, 30, 0,
      35, 34, 33, 0,  38, 37, 36, 0,  41, 40, 39, 0,  44, 43, 42, 0,  47, 46, 45, 0};
  const __m512i bytes = _mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, 3 * count), text);
  const __m512i word = _mm512_maskz_permutexvar_epi8(0x7777777777777777, _mm512_load_si512(kPlaces), bytes);
  // 1110xxxx 10xxxxxx 10xxxxxx
  const __mmask16 whole = _mm512_cmpeq_epi32_mask(_mm512_and_si512(word, Set32(0xf0c0c0)), Set32(0xe08080));
  const __m512i low = _mm512_and_si512(word, Set32(0x3f));
  const __m512i middle = _mm512_and_si512(_mm512_srli_epi32(word, 2), Set32(0xfc0));
  const __m512i high = _mm512_and_si512(_mm512_srli_epi32(word, 4), Set32(0xf000));
  const __m512i at = _mm512_or_si512(_mm512_or_si512(low, middle), high);
  return {at, _mm512_mask_cmplt_epu32_mask(whole, _mm512_sub_epi32(at, Set32(0x800)),  // overlong
                                           Set32(image::kFirstCjk - 0x800))};
}

// Returns how many characters may be read: all that begin before end, up to `most`.
inline uint32_t Room(const char* text, const char* end, uint32_t most) {
  const auto begun = static_cast<uint32_t>(std::min<ptrdiff_t>((end - text + 2) / 3, kCharacters));
  return std::min(begun, most);
}

// Returns for each of values the one before it; for the first the last of before.
RANKFEED_GATHER inline __m512i Shifted(__m512i values, __m512i before) {
  return _mm512_alignr_epi32(values, before, 15);
}
// Returns the value whose bit is set.
RANKFEED_GATHER inline uint32_t One(__m512i values, uint32_t bit) {
  return static_cast<uint32_t>(_mm_cvtsi128_si32(
      _mm512_castsi512_si128(_mm512_maskz_compress_epi32(static_cast<__mmask16>(bit), values))));
}

// Returns image::Spanned of pairs of codes. In halves: products of 512-bit vectors lower the clock.
RANKFEED_GATHER inline __mmask16 Spanned(const uint64_t* pairs, __m512i first, __m512i second) {
  const __m256i factor = _mm256_set1_epi32(static_cast<int32_t>(image::kPairFactor));
  const __m512i both = _mm512_or_si512(_mm512_slli_epi32(first, 16), second);
  const __m256i low = _mm256_mullo_epi32(_mm512_castsi512_si256(both), factor);
  const __m256i high = _mm256_mullo_epi32(_mm512_extracti64x4_epi64(both, 1), factor);
  const __m512i bit = _mm512_srli_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1),
                                        image::kPairShift);
  const __m512i bits = _mm512_i32gather_epi32(_mm512_srli_epi32(bit, 5), pairs, 4);
  return _mm512_test_epi32_mask(_mm512_srlv_epi32(bits, _mm512_and_si512(bit, Set32(31))), Set32(1));
}

// Returns value, by a branch on whether it is the likely one, so that the next step need not wait for it.
inline uint32_t IfPredicted(uint32_t likely, uint32_t value) {
  if (value != likely) [[unlikely]] {
    likely = value;
    asm volatile("" : "+r"(likely));  // no conditional move
  }
  return likely;
}

// Masks of up to 64 bytes. leads: first bytes of characters; wrong: continuation bytes out of place, or
// missing. A character that has no end in the bytes is wrong after them.
struct Utf8Bytes {
  uint64_t leads, wrong;
};
// Returns the masks of the bytes. valid: mask of the bytes inside the text.
RANKFEED_GATHER inline Utf8Bytes Leads(__m512i bytes, uint64_t valid) {
  const auto from = [bytes, valid](uint32_t byte) RANKFEED_GATHER {
    return _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(static_cast<char>(byte))) & valid;
  };
  const uint64_t two = from(0xc0), three = from(0xe0), continuing = from(0x80) ^ two;
  return {valid ^ continuing, (two << 1 | three << 2) ^ continuing};
}

// Decodes characters of one to three bytes, with all that takes in registers.
class Utf8Decoder {
 public:
  RANKFEED_GATHER Utf8Decoder()
      : places_(_mm512_load_si512(kBytePlaces.data())),
        quads_(_mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0)),
        steps_(Set32(0x03020100)),
        shifts_(_mm512_setr_epi32(16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 8, 8, 0, 0)),
        leasts_(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x800, -1)) {}

  // Returns the numbers of the bytes in the mask, one after the other.
  RANKFEED_GATHER __m512i Places(uint64_t bytes) const {
    return _mm512_maskz_compress_epi8(bytes, places_);
  }

  // Decodes the characters that begin at places, in the lanes of the mask, each as long as its first byte
  // says. The result's lanes leave out the overlong ones and those of more than three bytes.
  RANKFEED_GATHER CodePoints Decode(__m512i bytes, __m128i places, __mmask16 lanes) const {
    return DecodeWords(_mm512_permutexvar_epi8(Quads(places), bytes), lanes);
  }
  // Does the same where the last character may end in the next bytes.
  RANKFEED_GATHER CodePoints Decode(const __m512i (&bytes)[2], __m128i places, __mmask16 lanes) const {
    return DecodeWords(_mm512_permutex2var_epi8(bytes[0], Quads(places), bytes[1]), lanes);
  }

 private:
  RANKFEED_GATHER __m512i Quads(__m128i places) const {
    return _mm512_add_epi8(_mm512_shuffle_epi8(_mm512_cvtepu8_epi32(places), quads_), steps_);
  }
  RANKFEED_GATHER CodePoints DecodeWords(__m512i word, __mmask16 lanes) const {
    // The high half of the first byte decides, as if there were three bytes.
    const __m512i kind = _mm512_srli_epi32(word, 4);
    word = _mm512_sllv_epi32(word, _mm512_permutexvar_epi32(kind, shifts_));
    const __m512i low = _mm512_and_si512(_mm512_srli_epi32(word, 16), Set32(0x7f));
    const __m512i middle = _mm512_and_si512(_mm512_srli_epi32(word, 2), Set32(0xfc0));
    const __m512i high = _mm512_and_si512(_mm512_slli_epi32(word, 12), Set32(0xf000));
    const __m512i at = _mm512_or_si512(_mm512_or_si512(low, middle), high);
    return {at, _mm512_mask_cmpge_epu32_mask(lanes, at, _mm512_permutexvar_epi32(kind, leasts_))};
  }

  __m512i places_, quads_, steps_, shifts_, leasts_;
};

constexpr uint64_t Low(size_t count) { return count < 64 ? (uint64_t{1} << count) - 1 : ~uint64_t{0}; }

// Reads 64 bytes of a text and the two after them; bytes after the `left` ones of the text are 0.
RANKFEED_GATHER inline void Read(const char* text, size_t left, __m512i (&bytes)[2]) {
  bytes[0] = _mm512_maskz_loadu_epi8(Low(left), text);
  bytes[1] = _mm512_maskz_loadu_epi8(left < 64 ? 0 : Low(std::min<size_t>(left - 64, 2)), text + 64);
}

// Returns a mask of the bytes in the set.
RANKFEED_GATHER inline uint64_t In(const LeadSet& set, __m512i bytes) {
  const __m128i low = _mm_load_si128(reinterpret_cast<const __m128i*>(set.low)),
                high = _mm_load_si128(reinterpret_cast<const __m128i*>(set.high));
  const __m512i low4 = _mm512_set1_epi8(0x0f), row = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low4);
  return _mm512_test_epi8_mask(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(low), _mm512_and_si512(bytes, low4)),
      _mm512_shuffle_epi8(_mm512_broadcast_i32x4(high), row));
}

// Returns the classes of split_classes, four bytes read at a time: of blocks past the first 256 too, and
// of classes from where such four begin.
RANKFEED_GATHER inline __m512i ClassesOf(const CharacterTables& tables, __m512i c, __mmask16 lanes) {
  const __m512i none = _mm512_setzero_si512();
  const __m512i block = _mm512_mask_i32gather_epi32(none, lanes, _mm512_srli_epi32(c, 8), tables.blocks, 2);
  const __m512i at = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(block, Set32(0xffff)), 8),
                                     _mm512_and_si512(c, Set32(0xff)));
  const __m512i four = _mm512_mask_i32gather_epi32(none, lanes, _mm512_srli_epi32(at, 2), tables.classes, 4);
  return _mm512_srlv_epi32(four, _mm512_slli_epi32(_mm512_and_si512(at, Set32(3)), 3));
}

}  // namespace

RANKFEED_GATHER void ClassifyLeads(const char* text, size_t size, size_t left, const CharacterTables& tables,
                                   LeadMasks* masks) {
  __m512i bytes[2];
  Read(text, left, bytes);
  const __m512i v = _mm512_maskz_mov_epi8(Low(size), bytes[0]);
  const auto from = [v](uint32_t byte) RANKFEED_GATHER {
    return _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8(static_cast<char>(byte)));
  };
  LeadMasks m = {.leads = from(0xc0), .threes = from(0xe0), .fours = from(0xf0), .cuts = In(tables.cuts, v)};
  m.inner = from(0x80) & ~m.leads;
  const uint64_t plain = In(tables.plain, v), ask = m.leads & ~plain & ~m.fours;
  const Utf8Decoder decoder;
  const __m512i kinds = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables.kinds)));
  __m512i places = decoder.Places(ask);
  uint64_t of_kind[3] = {}, unsure = 0;
  for (int done = 0; done < std::popcount(ask); done += kCharacters, places = _mm512_alignr_epi64(places, places, 2)) {
    const auto lanes = static_cast<__mmask16>(Low(static_cast<size_t>(std::popcount(ask) - done)));
    const CodePoints c = decoder.Decode(bytes, _mm512_castsi512_si128(places), lanes);
    const __m512i classes = ClassesOf(tables, c.values, lanes);
    const __m512i kind = _mm512_permutexvar_epi32(classes, kinds);  // by the low four bits
    for (int i = 0; i < 3; ++i) of_kind[i] |= uint64_t{_mm512_test_epi32_mask(kind, Set32(1u << i))} << done;
    const uint32_t bad = _mm512_cmpeq_epi32_mask(_mm512_and_si512(c.values, Set32(0xf800)), Set32(0xd800)) |
                         _mm512_test_epi32_mask(classes, Set32(tables.unstable));
    unsure |= uint64_t{bad | (c.lanes ^ 0xffffu)} << done;
  }
  for (int i = 0; i < 3; ++i) m.kinds[i] = _pdep_u64(of_kind[i], ask);
  m.kinds[0] |= plain;
  m.unsure = m.fours | _pdep_u64(unsure, ask);
  *masks = m;
}

RANKFEED_GATHER uint64_t FindApart(const char* text, size_t left, uint64_t leads, const CharacterTables& tables,
                                   char32_t* before) {
  __m512i bytes[2];
  Read(text, left, bytes);
  const Utf8Decoder decoder;
  const __m512i lows = Set32(static_cast<uint32_t>(tables.uncut_lasts)),
                highs = Set32(static_cast<uint32_t>(tables.uncut_lasts >> 32));
  __m512i places = decoder.Places(leads), last = Set32(*before);
  const int count = std::popcount(leads);
  uint64_t held = 0;
  for (int done = 0; done < count; done += kCharacters, places = _mm512_alignr_epi64(places, places, 2)) {
    const __m512i c = decoder.Decode(bytes, _mm512_castsi512_si128(places), 0xffff).values;
    const __m512i first = Shifted(c, last);
    const __m512i half = _mm512_mask_mov_epi32(lows, _mm512_test_epi32_mask(first, Set32(32)), highs);
    const __m512i uncut = _mm512_srlv_epi32(half, _mm512_and_si512(first, Set32(31)));
    const auto holds = static_cast<__mmask16>(Spanned(tables.pairs, first, c) | _mm512_test_epi32_mask(uncut, Set32(1)));
    held |= uint64_t{holds} << done;
    last = c;
  }
  *before = One(last, 1u << (count - 1) % kCharacters);
  return _pdep_u64(~held, leads);
}

// Answers the questions of image::CharInfo for sixteen infos at a time.
struct CharInfos {
  using Info = image::CharInfo;

  RANKFEED_GATHER static __m512i All(Info info) { return Set32(info.bits_); }
  RANKFEED_GATHER static Info One(__m512i infos, uint32_t i) { return Info(avx512::One(infos, 1u << i)); }
  RANKFEED_GATHER static __m512i Codes(__m512i infos) {
    return _mm512_and_si512(infos, Set32(Info::kCode));
  }
  RANKFEED_GATHER static __mmask16 Follow(__mmask16 lanes, __m512i infos, __m512i last) {
    const __m512i marks = _mm512_and_si512(
        _mm512_srli_epi32(last, Info::kBaseShift - Info::kMarkShift), Set32(Info::kMarks));
    return _mm512_mask_testn_epi32_mask(lanes, infos, _mm512_or_si512(marks, Set32(Info::kNotOne)));
  }
  RANKFEED_GATHER static __mmask16 Marks(__m512i infos) {
    return _mm512_test_epi32_mask(infos, Set32(Info::kMarks));
  }
  RANKFEED_GATHER static __mmask16 UnknownAfter(__m512i infos, __m512i last) {
    return _mm512_test_epi32_mask(_mm512_and_si512(infos, last), Set32(Info::kUnknown));
  }
};

RANKFEED_GATHER const char* DecodeRun(const char* text, RunDecode* to) {
  const char* const end = to->readable;
  uint32_t size = to->size;
  if (text >= end || size >= to->size_limit) return text;
  __m512i before = CharInfos::All(to->previous);
  __m512i codes_before = Set32(size != 0 ? to->codes[size - 1] : 0);
  for (;;) {
    const uint32_t count = Room(text, end, to->size_limit - size);
    const auto [code_points, lanes] = Threes(text, count);
    const __m512i info = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, code_points, to->basic, 4);
    const __m512i codes = CharInfos::Codes(info);
    const __m512i previous = Shifted(info, before);
    const uint32_t follow = CharInfos::Follow(lanes, info, previous);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to->codes + size), _mm512_cvtepi32_epi16(info));
    const uint32_t done = IfPredicted(count, static_cast<uint32_t>(std::countr_one(follow)));
    if (size + done > to->open() + RunDecode::kCutFrom) {
      const uint32_t spanned = Spanned(to->pairs, Shifted(codes, codes_before), codes);
      const uint32_t marked = CharInfos::Marks(info);
      const uint32_t unknown = CharInfos::UnknownAfter(info, previous);
      const uint32_t from = std::max(to->open() + RunDecode::kCutFrom, size) - size;
      // Parts are longer than a vector, so that there is one cut at most.
      static_assert(RunDecode::kCutFrom >= kCharacters);
      const uint32_t cuts = _bzhi_u32(~(spanned | marked | unknown), done) >> from << from;
      if (cuts != 0) {
        const auto i = static_cast<uint32_t>(std::countr_zero(cuts));
        to->size = size + i;
        to->Cut();
      }
    }
    if (done == kCharacters && end - text > 3 * kCharacters && size + done < to->size_limit) {
      text += 3 * kCharacters;
      size += kCharacters;
      before = info;
      codes_before = codes;
      continue;
    }
    // The last one; if none was appended, the last of those before.
    to->previous = done != 0 ? CharInfos::One(info, done - 1)
                             : CharInfos::One(before, kCharacters - 1);
    to->size = size + done;
    text += 3 * done;
    if (text >= end || to->size >= to->size_limit || !AppendExpansion(text, to)) return text;
    text += 3;
    if (text >= end || to->size >= to->size_limit) return text;
    size = to->size;
    before = CharInfos::All(to->previous);
    codes_before = Set32(to->codes[size - 1]);
  }
}

RANKFEED_GATHER const char* DecodeCjk(const char* text, RunDecode* to) {
  const char* const end = to->end;
  uint32_t size = to->size;
  if (text == end || size >= to->size_limit) return text;
  const Utf8Decoder utf8;
  // The first of an open part is no place to cut.
  uint32_t cuttable = size != to->open() ? ~0u : ~1u;
  __m512i before = Set32(size != 0 ? to->codes[size - 1] : 0);
  const __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const char* const begin = text;
  __m512i last = before;  // code points
  for (;;) {
    // More bytes than sixteen characters take.
    const auto left = static_cast<uint32_t>(std::min<ptrdiff_t>(end - text, 64));
    const uint64_t valid = _bzhi_u64(~uint64_t{0}, left);
    const __m512i bytes = _mm512_maskz_loadu_epi8(valid, text);
    const auto [leads, wrong] = Leads(bytes, valid);
    auto count = static_cast<uint32_t>(std::popcount(leads));
    if (wrong != 0) {
      // The last one before may be cut short there, or go on for too long.
      count = static_cast<uint32_t>(
          std::popcount(_bzhi_u64(leads, static_cast<uint32_t>(std::countr_zero(wrong)))));
      count -= count != 0;
    }
    count = std::min({count, to->size_limit - size, uint32_t{kCharacters}});
    const auto lanes = static_cast<__mmask16>(_bzhi_u32(0xffff, count));
    const auto [code_points, known] = utf8.Decode(bytes, _mm512_castsi512_si128(utf8.Places(leads)), lanes);
    const __m512i codes = _mm512_and_si512(
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), known, code_points, to->direct, 2),
        Set32(0xffff));
    const uint32_t done = IfPredicted(
        count,
        static_cast<uint32_t>(std::countr_one(uint32_t{_mm512_test_epi32_mask(codes, codes)})));
    const uint32_t spanned = Spanned(to->pairs, Shifted(codes, before), codes);
    const uint32_t cuts = _bzhi_u32(~spanned & cuttable, done);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to->codes + size), _mm512_cvtepi32_epi16(codes));
    const __m512i places = _mm512_add_epi32(Set32(size), numbers);
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(to->begins + to->count + 1),
        _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(static_cast<__mmask16>(cuts), places)));
    to->count += static_cast<uint32_t>(std::popcount(cuts));
    // Returns where character i begins; after the last, where the bytes end.
    const auto place = [leads = leads, left](uint32_t i) RANKFEED_GATHER {
      return std::min(static_cast<uint32_t>(_tzcnt_u64(_pdep_u64(uint64_t{1} << i, leads))), left);
    };
    size += done;
    text += place(done);
    if (done == kCharacters && text != end && size < to->size_limit) {
      before = codes;
      last = code_points;
      cuttable = ~0u;
      continue;
    }
    to->size = size;
    if (done != 0) {
      to->previous = to->basic[One(code_points, 1u << (done - 1))];
    } else if (text != begin) {
      to->previous = to->basic[One(last, 1u << (kCharacters - 1))];
    }
    return text;
  }
}

// Does not branch on the scripts of the characters or on how many they are, which follow no pattern.
RANKFEED_GATHER uint32_t DecodeShort(const Segments& segments, const SegmentKey* keys,
                                     const uint16_t* misses, uint32_t count, ShortDecode* to) {
  const Utf8Decoder utf8;
  const image::CharInfo* const basic = to->basic;
  uint16_t* const all_codes = to->codes;
  uint32_t size = to->size, span = to->count, done = 0;
  for (; done < count && size < to->size_limit && span < to->count_limit; ++done) {
    const uint16_t i = misses[done];
    const bool word_start = segments.word_start(i);
    const uint32_t bytes = segments.size(i);
    if (bytes > ShortDecode::kMaxBytes) break;
    // The bytes of the key, after its tag.
    const __m512i key = _mm512_zextsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(&keys[i])));
    const Utf8Bytes masks = Leads(key, _bzhi_u64(~uint64_t{1}, bytes + 1));
    bool is_plain = masks.wrong == 0;
    const __m512i places = utf8.Places(masks.leads);
    const auto codes_count = static_cast<uint32_t>(std::popcount(masks.leads));
    all_codes[size] = to->metaspace;
    uint16_t* const codes = all_codes + size + word_start;
    __m512i previous = _mm512_setzero_si512();
    for (uint32_t k = 0; k < codes_count; k += kCharacters) {
      const auto lanes = static_cast<__mmask16>(_bzhi_u32(0xffff, codes_count - k));
      const auto [code_points, known] = utf8.Decode(
          key, k == 0 ? _mm512_castsi512_si128(places) : _mm512_extracti32x4_epi32(places, 1),
          lanes);
      const __m512i info = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), known, code_points, basic, 4);
      is_plain &= lanes == CharInfos::Follow(known, info, Shifted(info, previous));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + k), _mm512_cvtepi32_epi16(info));
      previous = info;
    }
    if (!is_plain) break;
    to->decoded[done] = EndShort(*to, i, word_start, codes_count, &size, &span);
  }
  to->size = size;
  to->count = span;
  return done;
}

}  // namespace rankfeed::fast::avx512

#endif  // HWY_ARCH_X86
