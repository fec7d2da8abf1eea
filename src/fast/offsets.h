// SPDX-License-Identifier: MIT
// fast/offsets.h: where the tokens of a segment stand in its text (HuggingFace parity).
//
// What a character becomes on its own has its place, all of it; so the places of a segment's codes
// are those of its raw characters, and a token has as many codes as its piece has characters. The
// U+2581 in front of a word has the place of the space that became it, the last one of a run
// (NormalizedString:: replace of tokenizers 0.23.2), or of the word's first character where none
// did. The word that spaces make in front of a sign has the place of the last one.
//
// Not known here, and left to the general path: the places in segments that go through the
// normalizer as a whole, of two unknown tokens in one segment, and where a stretch begins with what
// vanishes (the reference's alignment is off by one there).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/token_sink.h"
#include "stretch/signs.h"
#include "image/model.h"

namespace rankfeed::fast {

// The data by which both parity modes find places: a stretch, whose first byte is at that offset of
// the text, and how many codes its bytes and the pieces have.
class PlacesInStretch {
 protected:
  explicit PlacesInStretch(const Model& model) : model_(model) {
    for (uint8_t b = 0; b < 128; ++b) {
      const image::CharInfo info = model.segment.char_info[b];
      SetPlain(b, info.IsOneCode() && !info.IsMark() && !rankfeed::IsSeparator(model.segment, static_cast<char>(b)));
    }
  }

  void SetPlain(uint8_t byte, bool plain) {
    plain_[byte] = plain;
    graphic_are_plain_ &= plain || byte < 0x21 || byte > 0x7e;
  }

  bool IsSeparator(uint32_t at) const { return rankfeed::IsSeparator(model_.segment, stretch_[at]); }
  // Returns whether each of these bytes is a character and a code.
  bool ArePlain(uint32_t begin, uint32_t end) const {
    if (graphic_are_plain_ && AreGraphic(begin, end)) return true;
    bool plain = true;
    for (uint32_t at = begin; at < end; ++at) plain &= plain_[static_cast<uint8_t>(stretch_[at])];
    return plain;
  }
  // Returns whether each of these bytes is one from 0x21 to 0x7e; false, too, where eight from the last eighth on are not of
  // the stretch.
  bool AreGraphic(uint32_t begin, uint32_t end) const {
    for (; end - begin > 8; begin += 8) {
      if (!IsGraphicWord(begin, 8)) return false;
    }
    return IsGraphicWord(begin, end - begin);
  }
  // Returns the same of one to eight bytes.
  bool IsGraphicWord(uint32_t begin, uint32_t size) const {
    constexpr uint64_t kOnes = 0x0101010101010101;
    if (stretch_.size() - begin < 8) return false;
    uint64_t bytes;
    std::memcpy(&bytes, stretch_.data() + begin, sizeof(bytes));
    // A byte that borrows from the one after it is marked itself.
    const uint64_t marks = (bytes | (bytes + kOnes) | (bytes - 0x21 * kOnes)) & 0x80 * kOnes;
    return marks << (64 - 8 * size) == 0;
  }
  // Returns how many codes the piece of a token has.
  uint32_t CodesOf(const TokenSink& sink, uint32_t token) const {
    return model_.segment.id_codes[static_cast<uint32_t>(sink.ids[token])];
  }
  // Returns how many codes tokens [first, last) have. An unknown one has none.
  uint32_t CodesOf(const TokenSink& sink, uint32_t first, uint32_t last) const {
    uint32_t codes = 0;
    while (first < last) codes += CodesOf(sink, first++);
    return codes;
  }
  bool IsUnknown(int32_t id) const { return id == static_cast<int32_t>(model_.config->unk_id); }
  // Counts the codes of the unknown token among them, which covers what the others do not. Returns false if
  // there are several, or nothing remains.
  template <class CountAll>
  bool FindUnknown(const TokenSink& sink, uint32_t first, uint32_t last, const CountAll& count_all,
                   uint32_t* codes) const {
    const auto unknowns = std::count(sink.ids + first, sink.ids + last, static_cast<int32_t>(model_.config->unk_id));
    if (unknowns != 1) return unknowns == 0;
    const uint32_t all = count_all(), known = CodesOf(sink, first, last);
    *codes = all - std::min(all, known);
    return all > known;
  }

  const Model& model_;
  bool plain_[256] = {};  // by byte, whatever is around it
  bool graphic_are_plain_ = true;  // all from 0x21 to 0x7e
  std::string_view stretch_;
  uint32_t offset_ = 0;
};

class Offsets : PlacesInStretch {
 public:
  explicit Offsets(const Model& model)
      : PlacesInStretch(model), rules_(model.segment.config->rules), signs_(model) {}

  // Begins a stretch, with that token.
  void Begin(std::string_view stretch, uint32_t offset, uint32_t token);

  // Gives tokens [first, last), those of bytes [begin, end) of the stretch, their places. False if they
  // are not known here. O(bytes + tokens).
  bool Place(uint32_t begin, uint32_t end, bool word_start, uint32_t first, uint32_t last,
             TokenSink& sink) const {
    return (last - first == 1 && PlaceGraphicWord(begin, end, word_start, first, sink)) ||
           PlaceAny(begin, end, word_start, first, last, sink);
  }
  // Does the same for the token of the separators that end the stretch.
  bool PlaceTrailing(uint32_t token, TokenSink& sink) const;

  // Returns whether the stretch begins with a character that stays, whatever comes after it: the places of
  // what follows do not depend on how it begins.
  bool begins_plainly() const { return begins_plainly_; }

 private:
  struct Range {
    uint32_t begin, end;  // in the stretch
  };
  class Walker;

  // Places the token of a segment that most are like: graphic bytes, each a code, after a space or beside other bytes. Returns
  // false, and does nothing, where it is not like that.
  bool PlaceGraphicWord(uint32_t begin, uint32_t end, bool word_start, uint32_t token, const TokenSink& sink) const {
    const uint32_t size = end - begin;
    if (!known_ || signs_.any() || !graphic_are_plain_ || size > 8 || token >= sink.capacity) return false;
    if (!IsGraphicWord(begin, size) || (begin != 0 && stretch_[begin - 1] == '\n')) return false;
    if (CodesOf(sink, token) != size + word_start) return false;
    const bool spaced = word_start && begin != 0 && (rules_ & image::kSpaceHasNoOffsets) == 0;
    Set(sink, token, spaced ? Range{begin - 1, begin} : Range{begin, begin + 1}, {begin, end});
    return true;
  }
  bool PlaceAny(uint32_t begin, uint32_t end, bool word_start, uint32_t first, uint32_t last, TokenSink& sink) const;
  bool PlacePlain(uint32_t begin, uint32_t end, bool word_start, uint32_t first, uint32_t last,
                  TokenSink& sink) const;
  bool PlaceEmptyWord(uint32_t begin, uint32_t end, uint32_t first, uint32_t last, TokenSink& sink) const;
  bool PlaceWalking(uint32_t begin, uint32_t end, bool word_start, uint32_t first, uint32_t last,
                    TokenSink& sink) const;
  Range SpaceBefore(uint32_t at) const;
  // Returns the place of what the U+2581 of a word stands for. One before a sign may be a word itself.
  Range SpaceOf(uint32_t begin) const {
    return IsAfterWord(begin) ? Range{0, 0} : SpaceBefore(begin);
  }
  bool IsLineEndTakenApart(uint32_t at) const {
    return at >= 2 && stretch_[at - 1] == '\n' && (rules_ & image::kCrLfIsOne) != 0 && IsLineFeedTakenApart(at);
  }
  bool IsLineFeedTakenApart(uint32_t at) const;
  void Set(const TokenSink& sink, uint32_t token, Range first, Range last) const {
    if (sink.begin != nullptr) sink.begin[token] = offset_ + first.begin;
    if (sink.end != nullptr) sink.end[token] = offset_ + last.end;
  }
  // Returns whether a space before that place is a word.
  bool IsAfterWord(uint32_t at) const {
    return signs_.after_space() && at != stretch_.size() && signs_.Has(stretch_[at]);
  }

  const uint32_t rules_;  // image::SegmentRule
  const Signs signs_;
  bool known_ = true;  // the stretch does not begin with a character that vanishes
  bool begins_plainly_ = true;
};

}  // namespace rankfeed::fast
