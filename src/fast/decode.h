// SPDX-License-Identifier: MIT
// fast/decode.h: segments that were not found, to spans of character codes and their best paths.
//
// Short segments of characters that are one code each, as most are, become one span each. Others
// are cut into several: at characters that normalize to a space, and in long runs where no piece
// holds the two characters there; without that, text in scripts without spaces would be one search
// per paragraph. From image::kFirstCjk on, where most neighbours share no piece, runs are cut
// wherever they can be, and go on over direct codes of other scripts. Half of those spans are one
// character and most others two: they are looked up in a table of the image (image::SpanEntry), and
// only what it lacks is searched. A run that fills a batch without a place to cut takes the
// general path.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/utf8.h"
#include "fast/group_reader.h"
#include "fast/look_up.h"
#include "fast/queue.h"
#include "fast/span_writer.h"
#include "fast/spans.h"
#include "image/model.h"
#include "models/spans.h"
#include "rankfeed/encode.h"

namespace rankfeed::fast {

// The place where a segment goes on whose spans did not fit into one batch. The codes of its open span come
// along.
struct Cursor {
  uint32_t at = 0;                   // byte
  image::CharInfo previous;          // of the character before it
  uint16_t open = 0, open_size = 0;  // codes of the open span, in the batch before
  uint16_t last = 0;                 // the code before that span; 0: none is known
  bool spaced = false;               // a space came last
  // In the segment: after the last sign of ASCII, with which nothing is read, and bytes that hold
  // no sign of ASCII.
  uint32_t after_sign = 0;
  uint32_t no_sign_begin = 0, no_sign_end = 0;
};

// The outcome of decoding a segment that was not found, or a batch of them.
struct Outcome {
  enum class Kind : uint8_t {
    kSearch,     // it is spans now
    kFull,       // the batch is; what did not fit comes first in the next one
    kNormalize,  // it must go through the normalizer; nothing was appended
    kGeneral,    // its stretch takes the general path
  };
  Kind kind = Kind::kSearch;
  rankfeed_reason reason = RANKFEED_REASON_NONE;  // with kGeneral

  static Outcome General(rankfeed_reason reason) { return {Kind::kGeneral, reason}; }
};

class SpanDecoder {
 public:
  // Codes of a segment that has a key, at most, the U+2581 included.
  static constexpr uint32_t kMaxSegmentCodes = image::kMaxExpansionCodes * sizeof(SegmentKey);
  static constexpr uint32_t kMaxSpans = SpanBatch::kCapacity + 1 + kVectorSlack;  // of a batch

  struct Scratch {
    GroupReader::Scratch reader;
    Decoded* decoded = nullptr;
    uint16_t* codes = nullptr;  // of the spans that are not short ones
    uint16_t* begins = nullptr;
    void Carve(Layout& layout);
  };

  SpanDecoder(const Model& model, const KernelTable& kernels,
              const NormalizedTokens& normalized_tokens, SpanBatch& search, const Scratch& scratch);

  // Decodes the misses of a batch of count segments, as far as they fit: short ones to the spans of the search.
  // Returns how many segments are decoded to their end: fewer than count when the batch is full, or when a
  // stretch takes the general path, whose run says why.
  uint32_t Decode(SegmentQueue& queue, uint32_t count, LookUp& look_up);

  // Returns whether the first segment of the next batch goes on after what was decoded of it.
  bool resumes() const { return resumes_; }
  // Forgets that segment.
  void ForgetCursor() { resumes_ = false; }

  // Returns how much of search_room() is used: every span may have to be searched, with its closing 0.
  uint32_t used() const { return search_.size() + run_.size + run_.count; }
  uint32_t search_room() const { return search_.room(); }

  // Segments that were decoded, in order, and the spans of those that are no short ones.
  Decoded* decoded() const { return decoded_; }
  uint32_t decoded_count() const { return decoded_count_; }
  const SpanList& runs() const { return run_; }
  uint32_t cjk_codes() const { return cjk_codes_; }  // of characters from image::kFirstCjk on

  // The reader of groups, which reads the codes of raw segments again; what was decoded of the batch stays.
  const GroupReader& reader() const { return reader_; }

 private:
  using CharInfo = image::CharInfo;
  // Half the room that one character may take, with the closing zeros of the spans it ends.
  static constexpr uint32_t kCharRoom = 32;
  static constexpr int kNoByte = -1;

  uint32_t DecodeShort(const Segments& segments, const LookUp& look_up, uint32_t first, Decoded* out);
  Outcome DecodeLong(std::string_view segment, bool word_start, bool resumed);
  Outcome DecodeChars(std::string_view segment, size_t pos);
  size_t AppendAscii(std::string_view segment, size_t at);
  Outcome SpecialChar(std::string_view segment, const Character& c, size_t* at);
  Outcome Full(size_t at);
  // The next three decode where words end beside signs (decode_signs.cc).
  Outcome DecodeBesideSigns(std::string_view segment, size_t pos);
  Outcome DecodeSign(std::string_view segment, size_t* at);
  size_t NextSign(std::string_view segment, size_t at);
  // Characters that are read together (decode_groups.cc).
  Outcome Together(std::string_view segment, size_t* at);
  Outcome AppendGroup(std::string_view segment, size_t begin, CharacterGroups::Extent extent);
  Outcome AsWhole(std::string_view segment, size_t begin);
  Outcome DecodeNormalized(std::string_view segment, bool word_start);
  bool TakeBackFrom(std::string_view segment, size_t begin, size_t at);
  bool MayBeginAt(uint32_t at) const;
  bool StandsApart(std::string_view segment, size_t at, CharInfo info);
  bool EndsApart(int neighbour, uint32_t drops) const;
  bool MayJoinLineEnds();
  bool IsJoined(std::string_view segment, size_t at, CharInfo info) const;
  bool IsDirect(const char* text) const;
  CharInfo InfoBefore(std::string_view segment, size_t at) const;
  uint32_t room() const { return search_.room() - used(); }

  const Model& model_;
  const SegmentTables& tables_;
  const KernelTable& kernels_;
  SpanBatch& search_;
  Decoded* const decoded_;
  GroupReader reader_;
  const CharacterGroups& groups_;
  const bool leaves_nothing_;  // a segment takes the general path where what it begins with vanishes
  SpanWriter run_;
  // Bytes before and after the segment that is decoded, in its stretch; kNoByte at an
  // end of that.
  int before_ = kNoByte, after_ = kNoByte;
  uint32_t cjk_codes_ = 0, decoded_count_ = 0;  // of the batch
  bool resumes_ = false;
  Cursor cursor_;
};

}  // namespace rankfeed::fast
