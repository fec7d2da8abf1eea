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

// A run of character codes in a stream, followed by a 0, that is searched on its own.
struct Sequence {
  uint16_t begin, end;
  bool word_start;  // begins with U+2581
};

// See words/stream.h.
struct Lattice {
  static constexpr uint64_t kSumMask = ~uint64_t{0} << 28;
  static constexpr uint32_t kMaxChars = image::kMaxWordPieceChars;

  const image::WordState* states;
  const uint32_t* fails;
  const uint64_t* edges;
  uint32_t root_base;
  const uint16_t* codes;
  uint64_t *best, *second;  // by node; kMaxChars before the first may be read
};

struct Kernels {
  // Makes the keys of segments[0, count) of a text and fetches what match will look at.
  void (*make_keys)(const LookUpTables& tables, const char* text, size_t text_size,
                    const Segment* segments, uint32_t count, WordKey* keys, uint64_t* hashes);
  // Looks keys up in both tables. The indices of those in neither, whose found is void, go to
  // misses; returns how many.
  uint32_t (*match)(const LookUpTables& tables, const WordKey* keys, const uint64_t* hashes,
                    uint32_t count, Found* found, uint16_t* misses);
  // Best and second best sums of all nodes of the sequences; best of their first nodes is given.
  void (*solve)(const Lattice& lattice, const Sequence* sequences, uint32_t count);
};

const Kernels& DispatchKernels();

}  // namespace rankfeed::words
