// SPDX-License-Identifier: MIT
// words/decode.h: raw bytes of a segment to sequences of character codes in the stream.
//
// A segment is usually one sequence. It becomes several at characters that normalize to a space,
// and where a long run can be cut because no piece holds the two characters there; without that,
// text in scripts without spaces would be one search per paragraph.
#pragma once

#include <cstdint>
#include <string_view>

#include "image/model.h"
#include "words/stream.h"
#include "words/word_key.h"

namespace rankfeed::words {

enum class DecodeStatus {
  kDone,
  kFull,  // the stream is: *at and *word_start say where to go on
  kSlow,  // must go through the normalizer; nothing was appended
  kBail,  // the text needs the plain path
};

class Decoder {
 public:
  Decoder(const Model& model, const Kernels& kernels, Stream& stream, Sequence* sequences)
      : model_(model),
        kernels_(kernels),
        basic_(model.word_chars.data),
        alone_(model.word_states.data() + model.word_config->root_base),
        stream_(stream),
        sequences_(sequences) {}

  void Clear() { count_ = 0; }
  uint32_t count() const { return count_; }
  bool trailing_space() const { return trailing_space_; }
  // Whether the last segment held a character that normalizes to a space.
  bool spaces() const { return spaces_; }

  // Kernels::decode_short.
  uint32_t Short(const Segment* segments, const WordKey* keys, const uint16_t* misses,
                 uint32_t count, Decoded* out);

  // Appends segment[*at, end). word_start: a U+2581 stands before it. more: the byte behind the
  // segment may be read.
  DecodeStatus Raw(std::string_view segment, bool more, uint32_t* at, bool* word_start);

  // The same for text that the normalizer has seen.
  DecodeStatus Normalized(std::string_view text, bool word_start);

 private:
  static constexpr uint32_t kReserve = 16;  // room one character may take, and its closing zero

  void Open(bool word_start);
  void Close();
  bool Normalizable(std::string_view rest) const;

  const Model& model_;
  const Kernels& kernels_;
  const uint32_t* const basic_;  // model.word_chars by code point, of the first 65,536
  const image::WordState* const alone_;  // by code
  Stream& stream_;
  Sequence* sequences_;  // Stream::kMaxSequences
  uint32_t count_ = 0;
  uint32_t open_ = 0;  // begin of the open sequence
  bool open_word_start_ = false;
  bool trailing_space_ = false, spaces_ = false;
};

// Codes of a raw segment that Raw made one sequence of and that holds no spaces(); at most 7 codes
// a byte. Returns the count.
uint32_t DecodePlain(const Model& model, std::string_view segment, bool word_start,
                     uint16_t* codes);

}  // namespace rankfeed::words
