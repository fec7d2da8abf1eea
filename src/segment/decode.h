// SPDX-License-Identifier: MIT
// segment/decode.h: raw bytes of segments to character codes, and their best paths.
//
// Short segments of characters that are one code each, as most are, become one sequence of the
// stream each. Others become parts: they are cut at characters that normalize to a space, and in
// long runs where no piece holds the two characters there; without that, text in scripts without
// spaces would be one search per paragraph. From image::kFirstCjk on, where most neighbours share
// no piece, runs are cut wherever they can be, and go on over plain characters of other scripts.
// Half of those parts are one character and most others two: they are looked up in a table of the
// image (image::SpanEntry), and only what it lacks goes to the stream.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "image/model.h"
#include "segment/search.h"
#include "segment/key.h"

namespace rankfeed::segment {

enum class DecodeStatus {
  kDone,
  kFull,  // the stream is: *at and *word_start say where to go on
  kSlow,  // must go through the normalizer; nothing was appended
  kBail,  // the text needs the general path
};

// The parts of a batch.
struct PartScratch {
  uint16_t* codes = nullptr;
  uint16_t* begins = nullptr;
  Found* found = nullptr;         // by part
  uint16_t* searches = nullptr;   // parts that are not in the table
  uint16_t* sequences = nullptr;  // by part, of those

  void Carve(Layout& layout) {
    constexpr uint32_t kParts = Stream::kCapacity + 1 + RunDecode::kBeyond;
    static_assert(RunDecode::kBeyond >= Stream::kPadding);
    codes = layout.Take<uint16_t>(kParts);
    begins = layout.Take<uint16_t>(kParts);
    found = layout.Take<Found>(kParts);
    searches = layout.Take<uint16_t>(kParts);
    sequences = layout.Take<uint16_t>(Stream::kCapacity);
  }
};

class Decoder {
 public:
  Decoder(const Model& model, const Kernels& kernels, Stream& stream, const PartScratch& scratch)
      : model_(model), kernels_(kernels), stream_(stream), scratch_(scratch) {
    run_.basic = model.segment.char_info.data;
    run_.plain = model.segment.direct_codes.data();
    run_.pairs = model.segment.spanned_pairs.data();
    run_.mapped = model.segment.expansions.data();
    run_.codes = scratch.codes;
    run_.begins = scratch.begins;
  }

  void Clear() {
    stream_.Clear();
    run_.size = run_.count = 0;
    has_cjk_ = phrases_ = false;
  }
  bool trailing_space() const { return trailing_space_; }
  // Whether the last segment held a character that normalizes to a space.
  bool spaces() const { return spaces_; }

  // Kernels::decode_short, to the stream.
  uint32_t Short(const Segments& segments, const SegmentKey* keys, const uint16_t* misses,
                 uint32_t count, Decoded* out);

  // Where a segment goes on that did not fit.
  struct Resume {
    uint32_t at;      // byte
    uint32_t skip;    // elements of the list that the character there is replaced by
    bool word_start;  // a U+2581 stands before it
  };

  // Appends the parts of the segment from `from` on, which kFull moves on. more: the byte behind
  // the segment may be read.
  DecodeStatus Raw(std::string_view segment, bool more, Resume* from);

  // The same for text that the normalizer has seen.
  DecodeStatus Normalized(std::string_view text, bool word_start);

  uint32_t part_count() const { return run_.count; }
  std::span<const uint16_t> part(uint32_t i) const {
    return {run_.codes + run_.begins[i], run_.codes + run_.begins[i + 1]};
  }
  bool BeginsWord(std::span<const uint16_t> codes) const {
    return codes[0] == model_.segment.config->space_code;
  }

  // Of Stream::kCapacity, before Solve: every part may become a sequence, with its closing zero.
  uint32_t used() const { return stream_.size() + run_.size + run_.count; }

  // Finds the best paths of everything appended since Clear.
  void Solve(const ExactnessRule& rule);

  // What was found of a part; ids stay until the next Solve. Of no ids if only part_result has it.
  const Found* part_found() const { return scratch_.found; }
  const PathResult& part_result(uint32_t i) const {
    return stream_.result(scratch_.sequences[i]);
  }

 private:
  // Half the room that one character may take, with the closing zeros of the parts it ends.
  static constexpr uint32_t kReserve = 32;

  static constexpr int kSlotBits = 8;

  uint32_t room() const { return Stream::kCapacity - used(); }
  void Add(uint32_t code) { run_.codes[run_.size++] = static_cast<uint16_t>(code); }
  void Open(bool word_start, const char* resume, uint32_t skip = 0);
  void Close();
  void AddExpansion(uint32_t info, const char* text, uint32_t skip);
  bool MayCut(uint32_t info) const;
  bool Normalizable(std::string_view rest) const;
  uint32_t AppendOnce(uint32_t part, uint16_t* slots);

  const Model& model_;
  const Kernels& kernels_;
  Stream& stream_;
  const PartScratch& scratch_;
  RunDecode run_{};
  bool trailing_space_ = false, spaces_ = false;
  bool has_cjk_ = false;    // some part holds a character from image::kFirstCjk on
  bool phrases_ = false;  // some character became several words
  // Resume::skip of a part that began at that text.
  const char* skip_at_ = nullptr;
  uint32_t skip_ = 0;
};

// Codes of a raw segment that Raw made one part of and that holds no spaces(). Returns the count.
uint32_t DecodePlain(const Model& model, std::string_view segment, bool word_start,
                     uint16_t* codes);

}  // namespace rankfeed::segment
