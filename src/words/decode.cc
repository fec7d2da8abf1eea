// SPDX-License-Identifier: MIT
// words/decode.cc: see decode.h.
#include "words/decode.h"

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
    return (alone[c].edge[0] & image::kEdgeIdMask) == image::kEdgeUnknown;
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
bool Decoder::Short(std::string_view segment, bool word_start) {
  constexpr uint32_t kPlain = image::kWordCodeMask | image::kWordKeyStart | image::kWordLoose;
  if (segment.size() >= kCutFrom || stream_.room() < kCutFrom + kReserve ||
      count_ + 2 >= Stream::kMaxSequences) {
    return false;
  }
  uint16_t* const codes = stream_.codes() + stream_.size();
  uint32_t count = 0;
  codes[0] = static_cast<uint16_t>(model_.word_config->space_code);
  count += word_start;
  for (size_t pos = 0; pos < segment.size();) {
    const utf8::Decoded c = utf8::Decode(segment, pos);
    const uint32_t info = c.size == 1 ? ascii_[c.code_point & 0x7f] : model_.word_chars[c.code_point];
    if (!c.valid || (info & ~kPlain) != 0) return false;
    pos += c.size;
    codes[count++] = static_cast<uint16_t>(info);
  }
  open_ = stream_.size();
  open_word_start_ = word_start;
  stream_.Grow(count);
  Close();
  return true;
}

// Whether a character is one code after the one before it. Marks are, unless that one begins a key.
bool Decoder::Follows(uint32_t info, uint32_t previous) {
  constexpr uint32_t kNotOne = image::kWordSlow | image::kWordBail | image::kWordSpace |
                               image::kWordMappedChar;
  static_assert(image::kWordKeyStart == image::kWordExtend << 1);
  return ((info & kNotOne) | (info & image::kWordExtend & previous >> 1)) == 0;
}

// Appends characters of three bytes, as scripts without spaces have, behind codes[size], as long as
// each is one code; may leave the last few. Returns the new size. A third of what the loop below
// takes for them.
uint32_t Decoder::ThreeByteRun(std::string_view segment, uint32_t size, size_t* at,
                               uint32_t* last) const {
  const auto* const begin = reinterpret_cast<const unsigned char*>(segment.data());
  const auto* p = begin + *at;
  const auto* const end = begin + segment.size();
  const uint16_t* const blocks = model_.word_chars.blocks;
  const uint32_t* const chars = model_.word_chars.data;
  uint16_t* const codes = stream_.codes();
  const uint32_t limit = Stream::kCapacity - kReserve, cut_from = open_ + kCutFrom;
  uint32_t previous = *last;
  for (; end - p >= 4 && size < limit; p += 3) {
    uint32_t word;
    std::memcpy(&word, p, sizeof(word));  // the layouts of the image are little-endian too
    // 1110xxxx 10xxxxxx 10xxxxxx, neither overlong (E0 80..9F) nor a surrogate (ED A0..BF).
    if ((word & 0xc0c0f0) != 0x8080e0 || (word & 0x200f) == 0 || (word & 0x200f) == 0x200d) break;
    const uint32_t c = (word & 0x0f) << 12 | (word >> 2 & 0xfc0) | (word >> 16 & 0x3f);
    const uint32_t info = chars[uint32_t{blocks[c >> 8]} << 8 | (c & 0xff)];
    if (!Follows(info, previous)) break;
    if (size >= cut_from && (info & image::kWordExtend) == 0 &&
        Cuttable(codes[size - 1], info & image::kWordCodeMask)) {
      break;
    }
    codes[size++] = static_cast<uint16_t>(info);
    previous = info;
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
  if (*at == 0 && Short(segment, *word_start)) return DecodeStatus::kDone;
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
      size = ThreeByteRun(segment, size, &pos, &previous);
      if (pos == segment.size() || size == Stream::kCapacity - kReserve) break;
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
      if (list[0] > kReserve - 2) return DecodeStatus::kBail;  // the builder makes none
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
