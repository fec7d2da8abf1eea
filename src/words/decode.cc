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

// Whether what is left of a segment holds nothing that sends its text to the plain path.
bool Decoder::Normalizable(std::string_view rest) const {
  for (size_t pos = 0; pos < rest.size();) {
    const utf8::Decoded c = utf8::Decode(rest, pos);
    if (!c.valid || (model_.word_chars[c.code_point] & image::kWordBail) != 0) return false;
    pos += c.size;
  }
  return true;
}

uint32_t Decoder::Short(const Segment* segments, const WordKey* keys, const uint16_t* misses,
                        uint32_t count, Decoded* out) {
  static_assert(ShortDecode::kMaxBytes < RunDecode::kCutFrom);
  // Groups of eight are written whole.
  constexpr uint32_t kRoom = ShortDecode::kMaxBytes + 1 + kReserve;
  ShortDecode to{basic_,
                 stream_.codes(),
                 sequences_,
                 stream_.size(),
                 count_,
                 Stream::kCapacity - kRoom,
                 Stream::kMaxSequences - 2,
                 static_cast<uint16_t>(model_.word_config->space_code)};
  const uint32_t done = kernels_.decode_short(segments, keys, misses, count, &to, out);
  stream_.Grow(to.size - stream_.size());
  count_ = to.count;
  return done;
}

DecodeStatus Decoder::Raw(std::string_view segment, bool more, uint32_t* at, bool* word_start) {
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
  // A character of three bytes that begins below run_end is read with the byte behind it.
  const size_t beyond = more ? 2 : 3;
  const size_t run_end = segment.size() > beyond ? segment.size() - beyond : 0;
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
    RunDecode run{basic_,
                  model_.word_pairs.data(),
                  alone_,
                  stream_.codes(),
                  sequences_,
                  stream_.size(),
                  count_,
                  Stream::kCapacity - kReserve,
                  Stream::kMaxSequences - 3,
                  previous,
                  open_,
                  open_word_start_,
                  nullptr};
    for (;;) {
      if (pos < run_end) {
        pos = static_cast<size_t>(
            kernels_.decode_run(segment.data() + pos, segment.data() + run_end, &run) -
            segment.data());
      }
      if (pos == segment.size() || run.size >= run.size_limit) break;
      const utf8::Decoded c = utf8::Decode(segment, pos);
      const uint32_t info = model_.word_chars[c.code_point];
      if (!c.valid || !Follows(info, run.previous)) break;
      if (run.size - run.open >= RunDecode::kCutFrom && (info & image::kWordExtend) == 0 &&
          run.Cuttable(run.codes[run.size - 1], info & image::kWordCodeMask)) {
        break;
      }
      run.codes[run.size++] = static_cast<uint16_t>(info);
      run.previous = info;
      pos += c.size;
    }
    previous = run.previous;
    count_ = run.count;
    open_ = run.open;
    open_word_start_ = run.open_word_start;
    if (run.resume != nullptr) resume = static_cast<uint32_t>(run.resume - segment.data());
    if (run.size != stream_.size()) {
      stream_.Grow(run.size - stream_.size());
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
        if (*at != 0 || !Normalizable({segment.data() + pos, segment.size() - pos})) {
          return DecodeStatus::kBail;
        }
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
    if ((info & image::kWordExtend) == 0 && stream_.size() - open_ >= RunDecode::kCutFrom &&
        run.Cuttable(run.codes[stream_.size() - 1], code)) {
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
