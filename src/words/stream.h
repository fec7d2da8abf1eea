// SPDX-License-Identifier: MIT
// words/stream.h: best paths of many short character sequences at once.
//
// The sequences lie one after the other in a stream of character codes, each closed by a 0. Two
// passes over windows of the stream:
//
//   walk     From every position of the window one walker goes down the piece trie. All walkers
//            take a step, then all take the next: a load that misses the cache has a round of other
//            walkers to arrive in, and nothing branches on how deep a walk goes. Pieces found are
//            appended to their position's row.
//   search   Forward dynamic program over the rows, sums in integers, with the runner-up of every
//            node for the margin (words/exactness.h). Words do not interrupt it: the 0 between two
//            has no pieces, and the node after it starts at 0.
//
// A state packs the sum, the length and the trie unit of the last piece into 64 bits, so that one
// minimum moves all three:
//
//   bits 63..28 sum of costs, 27..24 characters of the piece - 1, 23..0 its unit
//
// Measured against one walk after the other, see bench/NOTES.md ("Lockstep walks").
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "image/model.h"
#include "words/exactness.h"
#include "words/kernels.h"

namespace rankfeed::words {

struct StreamResult {
  uint32_t first_id, count;  // in Stream::ids
  Exactness exact;
  bool unknown;   // holds an unknown character
  bool literal;   // holds the unknown piece itself: take the plain path
};

class Stream {
 public:
  static constexpr uint32_t kCapacity = 2048;  // codes, the closing zeros included
  static constexpr uint32_t kMaxSequences = kCapacity / 2;

  void Carve(Layout& layout);

  void Clear() { size_ = ids_size_ = 0; }
  uint32_t size() const { return size_; }
  uint32_t room() const { return kCapacity - size_; }

  // Appends; the caller checks room() and leaves one for each closing zero.
  void Add(uint32_t code) { codes_[size_++] = static_cast<uint16_t>(code); }
  void Close() { codes_[size_++] = 0; }
  void Truncate(uint32_t size) { size_ = size; }
  uint16_t* codes() { return codes_; }
  const int32_t* ids() const { return ids_; }

  // Solves everything in the stream: fills the states that Result reads.
  void Solve(const Model& model, const Kernels& kernels);

  // The best path of codes [begin, end), which a 0 follows. Each sequence once, after Solve.
  StreamResult Result(const Model& model, uint32_t begin, uint32_t end);

 private:
  static constexpr uint32_t kRow = Lattice::kRow;

  uint16_t* codes_ = nullptr;  // kCapacity, and what Lattice::codes asks for
  uint64_t *best_ = nullptr, *second_ = nullptr;
  uint64_t *rows_ = nullptr, *walkers_ = nullptr;
  int32_t* ids_ = nullptr;       // kCapacity, and room for a copy of six beyond
  uint32_t size_ = 0, ids_size_ = 0;
};

}  // namespace rankfeed::words
