// SPDX-License-Identifier: MIT
// words/kernels.h: the inner loops of the word engine, compiled for every Highway target (vectors,
// and on x86 the bit manipulation instructions that come with them).
#pragma once

#include <cstdint>

#include "image/format.h"
#include "words/segments.h"
#include "words/word_cache.h"
#include "words/word_key.h"

namespace rankfeed::words {

// What a look-up found for a segment.
struct Found {
  const int32_t* ids;  // CachedWord::kMaxIds may be read
  uint32_t info;       // image::WordEntry::info
};

struct LookUpTables {
  const image::WordEntry* table;
  uint64_t table_mask;
  CachedWord* cache;
  uint64_t cache_mask;

  const image::WordEntry* Bucket(uint64_t hash) const { return table + 2 * (hash & table_mask); }
  CachedWord* Slot(uint64_t hash) const { return cache + (hash >> 32 & cache_mask); }
};

// The lattice of a stretch of the stream, see words/stream.h. Arrays begin at the stretch.
struct Lattice {
  static constexpr uint32_t kRow = image::kMaxWordPieceChars;  // most pieces from one position
  static constexpr uint32_t kPositions = 96;  // most positions at once; rows stay in the L1 cache
  static constexpr uint64_t kNone = uint64_t{1} << 63;  // set in void entries, above any sum
  static constexpr uint64_t kSumMask = ~uint64_t{0} << 28;

  const uint64_t* units;
  uint32_t first_unit;
  const uint16_t* codes;    // kRow beyond the last may be read
  uint64_t *best, *second;  // by node, kRow + 1 beyond the last position
  uint64_t* rows;           // kRow entries for each position
  uint64_t* walkers;        // kPositions + 1
};

struct Kernels {
  // Makes the keys of segments[0, count) and looks them up in both tables.
  // The indices of those in neither, whose found is void, go to misses; returns how many.
  uint32_t (*look_up)(const LookUpTables& tables, const char* text, size_t text_size,
                      const Segment* segments, uint32_t count, WordKey* keys, uint64_t* hashes,
                      Found* found, uint16_t* misses);
  // Finds all pieces in codes[0, size), then the best sums of all nodes after them.
  void (*solve)(const Lattice& lattice, uint32_t size);
};

const Kernels& DispatchKernels();

}  // namespace rankfeed::words
