// SPDX-License-Identifier: MIT
// models/unigram/search.h: best paths of many short spans at once: codes go in, ids with their score
// and its margin come out.
//
// The spans lie one after the other in an array of character codes, each closed by a 0. Every span
// is read once by the automaton of the pieces (image::AutomatonState), which knows at each
// character which pieces end there. That is done first for all characters, sixteen or more spans
// taking turns: a load that misses the cache has a round of others to arrive in. Then the node
// after each character takes the best of the pieces, and keeps the runner-up for the margin
// (models/unigram/exactness.h).
//
// Costs are integers with the length and the id of a piece packed below them (image::MakeEdge), so
// that one minimum moves all three. Pieces that no best path takes are not in the automaton
// (builder/models/unigram/pruning.h).
//
// Cost: O(characters * pieces that end at one). What it replaced: bench/NOTES.md, "Automaton".
#pragma once

#include <cstdint>
#include <cstring>

#include "base/layout.h"
#include "image/model.h"
#include "models/unigram/kernels/kernels.h"
#include "models/unigram/lattice.h"

namespace rankfeed::unigram {

class PathSearch {
 public:
  static constexpr uint32_t kCapacity = 4096;  // codes of a batch, the closing zeros included
  static constexpr uint32_t kMaxSpans = kCapacity / 2;

  void Carve(Layout& layout);
  // As many of kCapacity as batches may take. A test sets less, for batches to be full soon.
  uint32_t room() const { return room_; }
  void set_room(uint32_t room) { room_ = room; }

  void Clear() { size_ = count_ = 0; }
  uint32_t size() const { return size_; }
  uint32_t count() const { return count_; }

  // Appends a span of count codes, at least one; there must be room for one more. kVectorSlack
  // codes after them may be read. word_start: it begins with U+2581. Returns its number.
  uint32_t Append(const uint16_t* codes, uint32_t count, bool word_start) {
    constexpr uint32_t kAtOnce = 16;
    static_assert(kAtOnce <= kVectorSlack);
    const uint32_t end = size_ + count;
    for (uint32_t i = 0; i < count; i += kAtOnce) {
      std::memcpy(codes_ + size_ + i, codes + i, kAtOnce * sizeof(uint16_t));
    }
    codes_[end] = 0;
    spans_[count_] = {static_cast<uint16_t>(size_), static_cast<uint16_t>(end),
                      word_start && count > 1};
    size_ = end + 1;
    return count_++;
  }
  // The same for what a loop writes there itself.
  uint16_t* codes() { return codes_; }
  const uint16_t* codes() const { return codes_; }
  Span* spans() { return spans_; }
  const Span* spans() const { return spans_; }
  void Grow(uint32_t size, uint32_t count) { size_ = size, count_ = count; }

  // Finds the best paths of all spans.
  void Solve(const Model& model, const SearchKernels& kernels, const ExactnessRule& rule);

  // Of the last Solve, by span. Its ids stay until the next.
  const Path& path(uint32_t span) const { return paths_[span]; }
  const int32_t* ids() const { return ids_ + 1; }

 private:
  uint16_t* codes_ = nullptr;  // kCapacity
  Span* spans_ = nullptr;      // kMaxSpans
  // As Lattice asks for.
  Visit* visits_ = nullptr;
  uint64_t* start_bases_ = nullptr;
  Visit* start_visits_ = nullptr;
  uint64_t* sum_ = nullptr;
  image::LatticeNode* nodes_ = nullptr;
  int32_t* ids_ = nullptr;  // one before the first, and a place for each character
  Path* paths_ = nullptr;   // kMaxSpans
  uint32_t size_ = 0, count_ = 0, room_ = kCapacity;
};

}  // namespace rankfeed::unigram
