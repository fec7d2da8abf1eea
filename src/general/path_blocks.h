// SPDX-License-Identifier: MIT
// general/path_blocks.h: the references' own search (best_path.h) over codes that come block by
// block, in memory that does not grow with them.
//
// Behind a block the search has looked at all pieces that begin up to max_piece_chars before its
// end, so that it knows every candidate for the places that it goes on from. The best paths to
// those mostly have a place in common not far before them, and up to that the path is known: its
// pieces are handed out, and what is behind it moves to the front. Sums, their order and what
// rebases them are those of one search over all codes, as nothing is searched again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "general/best_path.h"
#include "image/format.h"
#include "image/model.h"

namespace rankfeed::general {

template <class Arithmetic>
class PathBlocks {
 public:
  // Of pieces of kMaxSegmentPieceChars at most. lattice: of `capacity` codes.
  PathBlocks(const Model& model, const Lattice& lattice, uint32_t capacity)
      : model_(model),
        first_lattice_(lattice),
        first_capacity_(capacity),
        lattice_(lattice),
        capacity_(capacity) {}

  // In the arrays that it was made with.
  void Begin(double start) {
    lattice_ = first_lattice_;
    capacity_ = first_capacity_;
    size_ = at_ = unsettled_ = 0;
    lattice_.best[0] = start;
  }

  // Codes that may be added. Less than a block where paths have had no place in common for long.
  uint32_t room() const { return capacity_ - size_; }

  uint32_t capacity() const { return capacity_; }

  // Goes on in other arrays, of more codes.
  void MoveTo(const Lattice& lattice, uint32_t capacity) {
    const auto move = [&](const auto* from, auto* to) { std::copy_n(from, size_ + 1, to); };
    move(lattice_.best, lattice.best);
    move(lattice_.link, lattice.link);
    move(lattice_.value, lattice.value);
    lattice_ = lattice;
    capacity_ = capacity;
  }

  // Adds codes, as many as there is room for; last: the last ones. Calls piece(value) for each
  // piece of the best path that is known now, in order, with the piece's value or trie::kNoValue
  // for an unknown character; false as soon as that returns false.
  template <class Piece>
  bool Add(std::span<const uint16_t> codes, bool last, const Piece& piece) {
    size_ += CodeChars{codes, model_.config->code_count}.PutCodes(lattice_.link + size_);
    lattice_.link[size_] = 0;  // reached by no piece yet
    const uint32_t behind = last ? 0 : std::min(size_, kMaxChars);
    const uint32_t stop = std::max(at_, size_ - behind);
    PathFinder<Arithmetic, true> finder(model_, lattice_, size_, kMaxChars);
    finder.RunOn(at_, stop);
    at_ = stop;
    // Not asked for again before there is twice as much, so that all times together are linear.
    if (!last && capacity_ > first_capacity_ && size_ < 2 * unsettled_) return true;
    const uint32_t settled = last ? size_ : Settled();
    const uint32_t code = lattice_.link[settled] & ~kLinkMask;
    if (!Read(settled, piece)) return false;
    if (!last) DropBefore(settled, code);
    unsettled_ = size_;
    return true;
  }

  // Behind the last codes.
  double score() const { return lattice_.best[size_]; }

 private:
  static constexpr uint32_t kMaxChars = image::kMaxSegmentPieceChars;

  // The last place that the best paths to all places from at_ on have in common. O(size).
  uint32_t Settled() const {
    const auto length = [this](uint32_t at) { return lattice_.link[at] & kLinkMask; };
    uint32_t last = size_;
    while (last > at_ && length(last) == 0) --last;
    // Places that are left are those `i` before `last` of the bits i that are set. The last one
    // goes back by its piece, to none of more than kMaxChars before it.
    static_assert(kMaxChars < 64);
    uint64_t left = 0;
    for (uint32_t at = last; at > at_; --at) left |= uint64_t{length(at) != 0} << (last - at);
    left |= uint64_t{1} << (last - at_);
    while ((left & (left - 1)) != 0) {  // not std::has_single_bit: a call where there is no popcnt
      left |= uint64_t{1} << (length(last) & 63);
      left &= ~uint64_t{1};
      const int back = std::countr_zero(left);
      left >>= back;
      last -= static_cast<uint32_t>(back);
    }
    return last;
  }

  // The pieces of the best path up to a place, whose links are turned: that of a place leads to
  // the next one.
  template <class Piece>
  bool Read(uint32_t end, const Piece& piece) {
    uint32_t* const link = lattice_.link;
    uint32_t at = end, after = end;
    while (at != 0) {
      const uint32_t length = link[at] & kLinkMask;
      link[at] = after;
      after = at;
      at -= length;
    }
    link[0] = after;
    while (at != end) {
      at = link[at];
      if (!piece(lattice_.value[at])) return false;
    }
    return true;
  }

  // What is behind a place, which has that code, moves to the front.
  void DropBefore(uint32_t settled, uint32_t code) {
    const auto move = [&](auto* array) { std::copy(array + settled, array + size_ + 1, array); };
    lattice_.link[settled] = code;
    move(lattice_.best);
    move(lattice_.link);
    move(lattice_.value);
    size_ -= settled;
    at_ -= settled;
  }

  const Model& model_;
  const Lattice first_lattice_;
  const uint32_t first_capacity_;
  Lattice lattice_;
  uint32_t capacity_;
  uint32_t unsettled_ = 0;  // codes that were left when it was asked for a place in common
  uint32_t size_ = 0;       // codes that are kept
  uint32_t at_ = 0;         // pieces that begin before it have been looked at
};

}  // namespace rankfeed::general
