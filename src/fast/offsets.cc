// SPDX-License-Identifier: MIT
// fast/offsets.cc: see offsets.h.
#include "fast/offsets.h"

#include <algorithm>

#include "base/utf8.h"
#include "fast/spans.h"

namespace rankfeed::fast {

// The codes of a segment in order, as SpanDecoder makes them, with their places only.
class Offsets::Walker {
 public:
  Walker(const Offsets& offsets, uint32_t begin, uint32_t end, bool word_start)
      : offsets_(offsets), tables_(offsets.model_.segment), at_(begin), end_(end) {
    if (!word_start) return;
    Open(offsets.SpaceOf(begin),
         begin != 0 && offsets.IsSeparator(begin - 1) && !offsets.IsAfterWord(begin));
  }

  // Returns whether characters came that are not normalized one by one, or not here.
  bool failed() const { return failed_; }

  // Finds the places of the first and the last of the next count codes. Returns false if there are fewer.
  bool Take(uint32_t count, Range* first, Range* last) {
    for (uint32_t taken = 0; taken < count;) {
      if (!More()) return false;
      uint32_t some = 1;
      *last = char_;
      if (opens_) {
        opens_ = false;
        if (space_.end != 0) *last = space_;
      } else if (alone_) {
        alone_ = false;
        left_ = 0;
        *last = space_;
      } else {
        some = std::min(left_, count - taken);
        left_ -= some;
      }
      if (taken == 0) *first = *last;
      taken += some;
    }
    return true;
  }

  // Returns whether there are more codes.
  bool More() {
    while (left_ == 0) {
      if (list_ == list_end_) {
        if (at_ == end_ || failed_) return offsets_.IsAfterWord(at_) && EndsInSpace();
        Read();
      } else if (*list_ == image::kSign) {
        if (EndsInSpace()) return true;
        Open({0, 0}, false);
        after_sign_ = true;
        if (++list_ != list_end_) ++list_;
        left_ = 1;
        spaced_ = false;
      } else if (*list_ == 0) {
        ++list_;
        Open(char_, true);
      } else {
        EndSign();
        for (; list_ != list_end_ && *list_ != 0 && *list_ != image::kSign; ++list_) ++left_;
        spaced_ = false;
      }
    }
    return true;
  }

  // Counts the codes to the end.
  uint32_t Count() {
    uint32_t count = 0;
    for (; More(); left_ = 0, opens_ = alone_ = false) count += left_ + opens_;
    return count;
  }

 private:
  // Begins a word after that space, or without one.
  void Open(Range space, bool spaced) {
    opens_ = true;
    after_sign_ = false;
    spaced_ = spaced && offsets_.signs_.after_space();
    const bool first_character = (offsets_.rules_ & image::kSpaceHasNoOffsets) != 0;
    space_ = first_character ? Range{0, 0} : space;
    // There every one of them counts, also those of empty words.
    failed_ |= (offsets_.rules_ & image::kEverySpaceIsWord) != 0 && left_before_ != 0;
  }

  // Ends the word of a sign, as another character comes.
  void EndSign() {
    if (after_sign_) Open({0, 0}, false);
  }

  // Makes a space in front of a sign a word of its own, where it may be one.
  bool EndsInSpace() {
    if (!spaced_) return false;
    spaced_ = opens_ = false;
    alone_ = true;
    left_ = 1;
    return true;
  }

  void Read() {
    const Character c = CharacterAt(tables_, {offsets_.stretch_.data(), end_}, at_);
    const image::CharInfo info = c.info;
    failed_ |= info.NormalizesAfter(previous_) || info.TakesGeneralPath();
    char_ = {at_, static_cast<uint32_t>(at_ + c.size)};
    at_ = char_.end;
    previous_ = info;
    left_before_ = 1;
    if (c.size == 1 && offsets_.signs_.Has(offsets_.stretch_[char_.begin])) return ReadSign();
    if (info.Expands()) {
      const std::span<const uint16_t> codes = ExpansionOf(tables_, info);
      list_ = codes.data();
      list_end_ = list_ + codes.size();
      // A character that vanishes takes the last of several characters before it along (normalizer.rs).
      failed_ |= list_ == list_end_ && several_;
      several_ = list_end_ - list_ > 1;
      return;
    }
    several_ = false;
    if (info.EndsWord()) {
      Open(char_, true);
    } else {
      EndSign();
      left_ = 1;
      spaced_ = false;
    }
  }

  void ReadSign() {
    static constexpr uint16_t kList[2] = {image::kSign, 0};  // the code does not matter here
    list_ = kList;
    list_end_ = kList + 2;
    several_ = false;
    failed_ |= at_ != end_ && offsets_.signs_.MayJoin({offsets_.stretch_.data(), end_}, at_);
  }

  const Offsets& offsets_;
  const SegmentTables& tables_;
  uint32_t at_, end_;
  image::CharInfo previous_;  // of the character before
  uint32_t left_before_ = 0;  // whether any was read
  bool several_ = false;      // it became several
  Range char_ = {0, 0};       // the one whose codes come
  uint32_t left_ = 0;         // of its codes, or of those up to a space in it
  const uint16_t *list_ = nullptr, *list_end_ = nullptr;
  bool opens_ = false;      // a word, with the next code
  Range space_ = {0, 0};    // in front of it; empty: none
  bool spaced_ = false;     // and nothing came since, where that makes a word in front of a sign
  bool alone_ = false;      // the next code is that space
  bool after_sign_ = false;  // a sign came last
  bool failed_ = false;
};

void Offsets::Begin(std::string_view stretch, uint32_t offset, uint32_t) {
  stretch_ = stretch;
  offset_ = offset;
  known_ = begins_plainly_ = true;
  if (stretch.empty()) return;
  const SegmentTables& tables = model_.segment;
  const Character c = CharacterAt(tables, stretch, 0);
  known_ = !Vanishes(tables, c.info);
  const bool marked =
      c.size != stretch.size() && CharacterAt(tables, stretch, c.size).info.IsMark();
  begins_plainly_ = StandsAlone(c) && !marked;
}

// Returns the place of what the separator before `at` became; empty without one.
Offsets::Range Offsets::SpaceBefore(uint32_t at) const {
  if (at == 0 || (signs_.any() && !IsSeparator(at - 1))) return {0, 0};
  // The cluster of both became one space, with the place of the first.
  const bool line_end = (rules_ & image::kCrLfIsOne) != 0 && at >= 2 && stretch_[at - 1] == '\n' &&
                        stretch_[at - 2] == '\r';
  return line_end ? Range{at - 2, at - 1} : Range{at - 1, at};
}

// Returns whether the LF before a place comes after what vanishes: with a CR before that it may be one cluster.
bool Offsets::IsLineFeedTakenApart(uint32_t at) const {
  const image::CharInfo info =
      CharacterAt(model_.segment, stretch_, utf8::Previous(stretch_, at - 1)).info;
  if (info.Expands()) return Vanishes(model_.segment, info);
  // Several characters that a Replace looks for may vanish together.
  return info.Normalizes() || ((info.marks() | info.bases()) & image::kMarkInPattern) != 0;
}

// Places tokens where every byte is a character and a code. Returns false if some token is unknown.
[[gnu::always_inline]] inline bool Offsets::PlacePlain(uint32_t begin, uint32_t end, bool word_start, uint32_t first,
                         uint32_t last, TokenSink& sink) const {
  if (CodesOf(sink, first, last) != end - begin + word_start) return false;
  Range from{begin, begin + 1};
  if (word_start && (rules_ & image::kSpaceHasNoOffsets) == 0) {
    const Range space = SpaceOf(begin);
    if (space.end != 0) from = space;
  }
  uint32_t at = begin;
  for (uint32_t i = first; i + 1 < last; ++i, from = {at, at + 1}) {
    uint32_t size = CodesOf(sink, i);
    if (i == first) size -= std::min<uint32_t>(size, word_start);  // the U+2581
    at += size;
    Set(sink, i, from, {at, size == 0 ? from.end : at});
  }
  Set(sink, last - 1, from, {at, at == end ? from.end : end});
  return true;
}

bool Offsets::PlaceAny(uint32_t begin, uint32_t end, bool word_start, uint32_t first, uint32_t last,
                       TokenSink& sink) const {
  if (!known_ || last > sink.capacity) return false;  // or there are no ids to look at
  if (first == last) return true;
  if (IsLineEndTakenApart(signs_.any() && IsSeparator(begin) ? end : begin)) [[unlikely]]
    return false;
  if (ArePlain(begin, end) && PlacePlain(begin, end, word_start, first, last, sink)) [[likely]] return true;
  return IsSeparator(begin) ? PlaceEmptyWord(begin, end, first, last, sink)
                            : PlaceWalking(begin, end, word_start, first, last, sink);
}

// Places the token of a segment that is an empty word (scan.h).
[[gnu::noinline]] bool Offsets::PlaceEmptyWord(uint32_t begin, uint32_t end, uint32_t first, uint32_t last, TokenSink& sink) const {
  Range space = SpaceBefore(signs_.any() ? end : begin);
  if (space.end == 0) space = {begin, end};  // after a U+2581 that was put in front of the text
  Set(sink, first, space, space);
  return last == first + 1;
}

[[gnu::noinline]] bool Offsets::PlaceWalking(uint32_t begin, uint32_t end, bool word_start, uint32_t first,
                           uint32_t last, TokenSink& sink) const {
  uint32_t unknown = 0;
  const auto count = [&] { return Walker(*this, begin, end, word_start).Count(); };
  if (!FindUnknown(sink, first, last, count, &unknown)) return false;
  Walker walker(*this, begin, end, word_start);
  for (uint32_t i = first; i < last; ++i) {
    Range from{}, to{};
    if (!walker.Take(IsUnknown(sink.ids[i]) ? unknown : CodesOf(sink, i), &from, &to)) return false;
    Set(sink, i, from, to);
  }
  return !walker.More() && !walker.failed();
}

bool Offsets::PlaceTrailing(uint32_t token, TokenSink& sink) const {
  const auto size = static_cast<uint32_t>(stretch_.size());
  const bool separator = rankfeed::IsSeparator(model_.segment, stretch_.back());
  if (!known_ || !separator || sink.count > sink.capacity || IsLineEndTakenApart(size)) return false;
  const Range space = SpaceBefore(size);
  Set(sink, token, space, space);
  return true;
}

}  // namespace rankfeed::fast
