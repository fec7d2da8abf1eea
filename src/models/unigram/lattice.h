// SPDX-License-Identifier: MIT
// models/unigram/lattice.h: the spans that are searched, what a search works on, and what it finds.
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "image/format.h"
#include "models/spans.h"
#include "trie/double_array.h"

namespace rankfeed::unigram {

// SegmentTables::spans.
struct SpanTable {
  const image::SpanEntry* entries;
  uint32_t code_count, bits;  // Config::code_count, SegmentConfig::span_bits
};

// The best path of a span.
struct Path {
  enum : uint8_t {
    kFused = 1,    // holds an unknown token of several characters
    kLiteral = 2,  // holds the unknown piece itself: its text takes the general path
    kUnknown = 4,  // holds an unknown token: not for a table of the image
  };
  // Flags of paths whose text takes the general path. Only that spells unknown characters in bytes.
  static constexpr uint8_t Leaves(bool byte_fallback) {
    return kLiteral | (byte_fallback ? kUnknown : 0);
  }
  // Flags of paths that are not kept. Replaying sums needs to know how many characters an unknown
  // token stands for: of those that are kept, one. counts_unknown: CountsUnknown.
  static constexpr uint8_t NotKept(bool byte_fallback, bool counts_unknown) {
    return Leaves(byte_fallback) | (counts_unknown ? kFused : 0);
  }
  uint16_t first_id, count;  // in Lattice::ids
  image::PathInfo info;      // its count is 255 at most
  uint8_t flags;
  uint16_t fused;  // with kFused: ListedUnknown after the ids
};

// An unknown token of several characters, packed: of the list after the ids of a path, where each
// such token leaves a place.
struct ListedUnknown {
  uint32_t at, chars;

  static int32_t Pack(uint32_t at, uint32_t chars) {
    static_assert(sizeof(Path::count) == 2);
    return static_cast<int32_t>(at << 16 | chars);
  }
  explicit ListedUnknown(int32_t packed)
      : at(static_cast<uint32_t>(packed) >> 16), chars(packed & 0xffff) {}
};

// A code that was read: its place in the codes, and in the low half the state after it.
using Visit = uint64_t;

// Steps of a walk over spans that end at the code `end`. A step reads a code or goes on along a
// fail, which leads to a state of fewer characters (image/verify.cc). Only where an image is
// written to while it is mapped do fails lead in circles, and the walk ends before the spans.
constexpr uint32_t MostSteps(uint32_t end) {
  return (image::kMaxSegmentPieceChars + 1) * end;
}

// How many there are, and how many of the first: of any eight from a multiple of eight on, no two
// are of the same span.
struct Visits {
  uint32_t count, independent;
};

// A node comes before each code and after the last; node n + 1 follows codes[n].
struct Lattice {
  static constexpr uint32_t kMaxChars = image::kMaxSegmentPieceChars;
  static constexpr uint32_t kPrefetchAhead = 40;  // visits whose states are fetched
  static_assert(kPrefetchAhead + 8 <= kVectorSlack);

  const trie::Unit* units;
  const uint32_t* fails;
  const image::AutomatonState* states;
  const uint64_t* edges;
  const image::SearchStart* starts;
  uint32_t code_count, unk_id;
  const uint16_t* codes;
  Visit* visits;  // for all codes
  uint64_t* sum;  // by node: the least sum of costs, where an edge has its cost; kMaxChars before
                  // the first may be read
  image::LatticeNode* nodes;  // unspecified before the first code of a span
  int32_t* ids;  // a place for each code, where the path through it lies; ids[-1] may be written
  // For loops that list where searches begin before they read on; by span.
  uint64_t* start_bases;
  Visit* start_visits;
};

// Gives a path to the node `end` that holds unknown characters or the unknown piece itself its flags,
// and one token for consecutive unknown characters.
void FuseUnknown(const Lattice& lattice, int32_t end, Path* path);

}  // namespace rankfeed::unigram
