// SPDX-License-Identifier: MIT
// words/decode.cc: see decode.h.
#include "words/decode.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace rankfeed::words {

void Decoder::Open(bool word_start) {
  open_ = stream_.size();
  open_word_start_ = word_start;
  if (word_start) stream_.Add(model_.word_config->space_code);
}

// Empty words vanish, and so do the separators around them.
void Decoder::Close() {
  const uint32_t size = stream_.size() - open_;
  if (size == (open_word_start_ ? 1u : 0u)) {
    stream_.Truncate(open_);
    return;
  }
  sequences_[count_++] = {static_cast<uint16_t>(open_), static_cast<uint16_t>(stream_.size()),
                          open_word_start_};
  stream_.Close();
}

// Whether a sequence of at least kCutFrom codes may end between these two. Unknown characters next
// to each other are one token, so two that are no pieces of their own stay together, even if longer
// pieces hold them.
bool Decoder::Cuttable(uint32_t last, uint32_t code) const {
  const uint32_t bit = image::PairBit(last, code);
  if ((model_.word_pairs[bit / 64] >> bit % 64 & 1) != 0) return false;
  const image::WordState* const alone = &model_.word_states[model_.word_config->root_base];
  const auto unknown = [&](uint32_t c) {
    return image::EdgeId(alone[c].edge[0]) == image::kEdgeUnknown;
  };
  return !(unknown(last) && unknown(code));
}

// Whether what is left of a segment holds nothing that sends its text to the plain path.
bool Decoder::Normalizable(std::string_view rest) const {
  for (size_t pos = 0; pos < rest.size();) {
    const utf8::Decoded c = utf8::Decode(rest, pos);
    if (!c.valid || (model_.word_chars[c.code_point] & image::kWordBail) != 0) return false;
    pos += c.size;
  }
  return true;
}

// A segment that is not cut and in which each character stands for one code, as most are. Returns
// false, with nothing appended, for others.
//
// Segments of ASCII only and of two-byte characters only are read several characters at a time from
// their key, with the first character again in the place of what is missing in the last group: how
// long a segment is follows no pattern that a branch predictor could learn.
inline bool Decoder::ShortSegment(std::string_view segment, const WordKey& key, bool word_start) {
  constexpr uint32_t kPlain = image::kWordCodeMask | image::kWordKeyStart | image::kWordLoose;
  static_assert(kShortBytes <= WordKey::kMaxBytes && kShortBytes <= kCutFrom);
  if (segment.size() >= kShortBytes || stream_.room() < kShortBytes + kReserve ||
      count_ + 2 >= Stream::kMaxSequences) {
    return false;
  }
  uint16_t* const codes = stream_.codes() + stream_.size();
  codes[0] = static_cast<uint16_t>(model_.word_config->space_code);
  uint16_t* const out = codes + word_start;
  const auto size = static_cast<uint32_t>(segment.size());
  uint64_t bytes[3], mask[3];  // of the segment; kShortBytes are enough
  std::memcpy(bytes, reinterpret_cast<const char*>(&key) + 1, sizeof(bytes));
  std::memcpy(mask, kKeyMasks.of[size] + 1, sizeof(mask));
  constexpr uint64_t kHigh = 0x8080808080808080, kTwoMask = 0xc0e0c0e0c0e0c0e0,
                     kTwo = 0x80c080c080c080c0;
  uint32_t count = size;
  if (((bytes[0] | bytes[1] | bytes[2]) & kHigh) == 0) {
    const uint64_t fill = 0x0101010101010101 * (bytes[0] & 0xff);
    for (int i = 0; i < 3; ++i) bytes[i] |= fill & ~mask[i];
    uint32_t flags = 0;
    for (uint32_t i = 0; i < size; i += 8) {
      for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t info = basic_[bytes[i / 8] >> 8 * k & 0x7f];
        flags |= info;
        out[i + k] = static_cast<uint16_t>(info);
      }
    }
    if ((flags & ~kPlain) != 0) return false;
  } else if ((((bytes[0] ^ kTwo) & kTwoMask & mask[0]) | ((bytes[1] ^ kTwo) & kTwoMask & mask[1]) |
              ((bytes[2] ^ kTwo) & kTwoMask & mask[2])) == 0 &&
             size % 2 == 0) {
    const uint64_t fill = 0x0001000100010001 * (bytes[0] & 0xffff);
    for (int i = 0; i < 3; ++i) bytes[i] |= fill & ~mask[i];
    count = size / 2;
    uint32_t flags = 0;
    for (uint32_t i = 0; i < count; i += 4) {
      for (uint32_t k = 0; k < 4; ++k) {
        const auto two = static_cast<uint32_t>(bytes[i / 4] >> 16 * k);
        const uint32_t c = (two & 0x1f) << 6 | (two >> 8 & 0x3f);
        const uint32_t info = basic_[c];
        flags |= info | (c < 0x80 ? ~uint32_t{0} : 0);  // overlong
        out[i + k] = static_cast<uint16_t>(info);
      }
    }
    if ((flags & ~kPlain) != 0) return false;
  } else {
    count = 0;
    for (size_t pos = 0; pos < segment.size();) {
      const utf8::Decoded c = utf8::Decode(segment, pos);
      const uint32_t info = c.size <= 3 ? basic_[c.code_point] : model_.word_chars[c.code_point];
      if (!c.valid || (info & ~kPlain) != 0) return false;
      pos += c.size;
      out[count++] = static_cast<uint16_t>(info);
    }
  }
  open_ = stream_.size();
  open_word_start_ = word_start;
  stream_.Grow(count + word_start);
  Close();
  return true;
}

uint32_t Decoder::Short(std::string_view text, const Segment* segments, const WordKey* keys,
                        uint32_t end, const uint16_t* misses, uint32_t count, Decoded* out) {
  uint32_t done = 0;
  for (; done < count && misses[done] < end; ++done) {
    const uint16_t i = misses[done];
    const uint32_t begin = segments[i].begin & ~Segment::kWordStart;
    const auto first = static_cast<uint16_t>(count_);
    if (!ShortSegment({text.data() + begin, segments[i].end - begin}, keys[i],
                      segments[i].begin >= Segment::kWordStart)) {
      break;
    }
    out[done] = {i, first, static_cast<uint16_t>(first + 1), true, false};
  }
  return done;
}

// Whether a character is one code after the one before it. Marks are, unless that one begins a key.
bool Decoder::Follows(uint32_t info, uint32_t previous) {
  constexpr uint32_t kNotOne = image::kWordSlow | image::kWordBail | image::kWordSpace |
                               image::kWordMappedChar;
  static_assert(image::kWordKeyStart == image::kWordExtend << 1);
  return (info & (kNotOne | (image::kWordExtend & previous >> 1))) == 0;
}

// Appends characters of three bytes, as scripts without spaces have, behind codes[size], as long as
// each is one code, and cuts sequences where it may. May leave the last few. Returns the new size.
uint32_t Decoder::ThreeByteRun(std::string_view segment, uint32_t size, size_t* at, uint32_t* last,
                               uint32_t* resume) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(segment.data());
  const auto* p = begin + *at;
  const auto* const end = begin + segment.size();
  uint16_t* const codes = stream_.codes();
  constexpr uint32_t kLimit = Stream::kCapacity - kReserve;
  uint32_t previous = *last, info = 0;
  const auto read = [&] {
    if (size >= kLimit || end - p < 4) return false;
    uint32_t word;
    std::memcpy(&word, p, sizeof(word));  // the layouts of the image are little-endian too
    // 1110xxxx 10xxxxxx 10xxxxxx, not overlong (E0 80..9F). Surrogates are no plain code.
    const uint32_t c = (word & 0x0f) << 12 | (word >> 2 & 0xfc0) | (word >> 16 & 0x3f);
    info = basic_[c];
    return (word & 0xc0c0f0) == 0x8080e0 && c >= 0x800 && Follows(info, previous);
  };
  const auto append = [&] {
    codes[size++] = static_cast<uint16_t>(info);
    previous = info;
    p += 3;
  };
  for (bool more = true; more;) {
    const uint32_t cut_from = open_ + kCutFrom;
    while ((more = read()) && size < cut_from) append();
    while (more && ((info & image::kWordExtend) != 0 ||
                    !Cuttable(codes[size - 1], info & image::kWordCodeMask))) {
      append();
      more = read();
    }
    if (!more || count_ + 3 >= Stream::kMaxSequences) break;
    codes[size] = 0;
    sequences_[count_++] = {static_cast<uint16_t>(open_), static_cast<uint16_t>(size),
                            open_word_start_};
    open_ = ++size;
    open_word_start_ = false;
    *resume = static_cast<uint32_t>(p - begin);
    append();
  }
  *at = static_cast<size_t>(p - begin);
  *last = previous;
  return size;
}

DecodeStatus Decoder::Raw(std::string_view segment, uint32_t* at, bool* word_start) {
  const uint32_t first_size = stream_.size(), first_count = count_;
  uint32_t previous = 0;
  if (*at == 0) previous = image::kWordKeyStart;  // a mark at the start is no plain code
  uint32_t resume = *at;  // where the open sequence begins in the segment
  trailing_space_ = spaces_ = false;
  if (stream_.room() < kReserve || count_ + 1 >= Stream::kMaxSequences) {
    return first_size == 0 ? DecodeStatus::kBail : DecodeStatus::kFull;
  }
  Open(*word_start);
  const bool huggingface = model_.huggingface();
  for (size_t pos = *at; pos < segment.size();) {
    if (stream_.room() < kReserve || count_ + 2 >= Stream::kMaxSequences) {
      if (count_ == first_count) {
        stream_.Truncate(first_size);
        return first_size == 0 ? DecodeStatus::kBail : DecodeStatus::kFull;
      }
      stream_.Truncate(open_);
      *at = resume;
      *word_start = open_word_start_;
      return DecodeStatus::kFull;
    }
    // Characters that stand for one code each, as most do, up to a place to cut.
    constexpr uint32_t kSpecial =
        image::kWordSlow | image::kWordBail | image::kWordExtend | image::kWordSpace;
    uint16_t* const codes = stream_.codes();
    const uint32_t first = stream_.size();
    uint32_t size = first;
    for (;;) {
      size = ThreeByteRun(segment, size, &pos, &previous, &resume);
      if (pos == segment.size() || size >= Stream::kCapacity - kReserve) break;
      const utf8::Decoded c = utf8::Decode(segment, pos);
      const uint32_t info = model_.word_chars[c.code_point];
      if (!c.valid || !Follows(info, previous)) break;
      if (size - open_ >= kCutFrom && (info & image::kWordExtend) == 0 &&
          Cuttable(codes[size - 1], info & image::kWordCodeMask)) {
        break;
      }
      codes[size++] = static_cast<uint16_t>(info);
      previous = info;
      pos += c.size;
    }
    if (size != first) {
      stream_.Grow(size - first);
      trailing_space_ = false;
      continue;
    }
    const utf8::Decoded c = utf8::Decode(segment, pos);
    if (!c.valid) return DecodeStatus::kBail;
    const uint32_t info = model_.word_chars[c.code_point];
    if ((info & kSpecial) != 0) {
      if ((info & image::kWordBail) != 0) return DecodeStatus::kBail;
      const bool extend = (info & image::kWordExtend) != 0;
      // A mark at the start of a word may belong to a cluster with the separator before it.
      if (extend && huggingface && pos == 0 && *word_start) return DecodeStatus::kBail;
      // SentencePiece takes the longest key there is. HuggingFace looks clusters below 6 bytes up
      // as a whole (precompiled.rs). Both matter only after a character that begins a key.
      if ((info & image::kWordSlow) != 0 ||
          (extend && pos != 0 && (previous & image::kWordKeyStart) != 0 &&
           (!huggingface || pos - utf8::Previous(segment, pos) + c.size < 6))) {
        if (*at != 0 || !Normalizable({segment.data() + pos, segment.size() - pos})) return DecodeStatus::kBail;
        stream_.Truncate(first_size);
        count_ = first_count;
        return DecodeStatus::kSlow;
      }
    }
    previous = info;
    pos += c.size;
    if ((info & image::kWordSpace) != 0) {
      Close();
      Open(true);
      resume = static_cast<uint32_t>(pos);
      trailing_space_ = spaces_ = true;
      continue;
    }
    if ((info & image::kWordMappedChar) != 0) {
      const uint16_t* list = model_.word_mapped.data() + (info & image::kWordCodeMask);
      trailing_space_ &= list[0] == 0;  // characters that vanish change nothing
      static_assert(image::kMaxMappedCodes <= kReserve - 2);
      for (uint32_t i = 0; i < list[0]; ++i) stream_.Add(list[1 + i]);
      continue;
    }
    trailing_space_ = false;
    const uint32_t code = info & image::kWordCodeMask;
    if ((info & image::kWordExtend) == 0 && stream_.size() - open_ >= kCutFrom &&
        Cuttable(codes[stream_.size() - 1], code)) {
      Close();
      Open(false);
      resume = static_cast<uint32_t>(pos - c.size);
    }
    stream_.Add(code);
  }
  Close();
  return DecodeStatus::kDone;
}

DecodeStatus Decoder::Normalized(std::string_view text, bool word_start) {
  trailing_space_ = false;
  if (stream_.room() < kReserve || count_ + 1 >= Stream::kMaxSequences) return DecodeStatus::kFull;
  const uint32_t first_size = stream_.size(), first_count = count_;
  Open(word_start);
  for (size_t pos = 0; pos < text.size();) {
    if (stream_.room() < kReserve || count_ + 2 >= Stream::kMaxSequences) {
      stream_.Truncate(first_size);
      count_ = first_count;
      return first_size == 0 ? DecodeStatus::kBail : DecodeStatus::kFull;
    }
    uint32_t size;
    const char32_t c = utf8::DecodeValid(text.data() + pos, &size);
    pos += size;
    trailing_space_ = c == ' ';
    if (trailing_space_) {
      Close();
      Open(true);
      continue;
    }
    uint32_t code = model_.codes[c];
    if (code == 0) code = model_.config->code_count;
    stream_.Add(code);
  }
  Close();
  return DecodeStatus::kDone;
}

uint32_t DecodePlain(const Model& model, std::string_view segment, bool word_start,
                     uint16_t* codes) {
  uint32_t count = 0;
  if (word_start) codes[count++] = static_cast<uint16_t>(model.word_config->space_code);
  for (size_t pos = 0; pos < segment.size();) {
    uint32_t size;
    const uint32_t info = model.word_chars[utf8::DecodeValid(segment.data() + pos, &size)];
    pos += size;
    if ((info & image::kWordMappedChar) != 0) {
      const uint16_t* list = model.word_mapped.data() + (info & image::kWordCodeMask);
      for (uint32_t i = 0; i < list[0]; ++i) codes[count++] = list[1 + i];
    } else {
      codes[count++] = static_cast<uint16_t>(info & image::kWordCodeMask);
    }
  }
  return count;
}

}  // namespace rankfeed::words
