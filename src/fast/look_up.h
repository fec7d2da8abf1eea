// SPDX-License-Identifier: MIT
// fast/look_up.h: segments to ids by their raw bytes: first in the image's table of segments
// that are one token, then in the cache of segments seen before, then among those of the same
// batch.
//
// A batch at a time, with all memory fetched ahead. Text that needs no normalization is never
// copied, and most of it is never even decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/layout.h"
#include "fast/cache.h"
#include "fast/key.h"
#include "fast/queue.h"
#include "image/format.h"
#include "models/found.h"

namespace rankfeed::fast {

// A segment that is the same as one before it in the batch.
struct Repeat {
  uint16_t segment, of;
};

struct LookUpTables {
  const image::SegmentEntry* table;
  uint64_t table_mask;
  CacheLine* cache;
  uint64_t cache_mask;
  bool two_lines = false;  // of BPE, whose misses cost more than they do

  const image::SegmentEntry* Bucket(uint64_t hash) const { return table + 2 * (hash & table_mask); }
  CacheLine* Line(uint64_t hash) const { return cache + (hash & cache_mask); }
  // Returns the same line while that is empty, and where a segment has only one.
  CacheLine* OtherLine(uint64_t hash) const {
    return two_lines && !Line(hash)->empty() ? Line(hash >> 32) : Line(hash);
  }
};

// The columns that the segments of a batch are looked up with, by their number in it.
struct LookUpBatch {
  SegmentKey* keys;    // of those in neither table
  uint64_t* parts[4];  // for loops that take several keys at once: a part of all of them
  uint64_t* hashes;
  int32_t* hits;      // of words: ids of those in the image's table, each of which is one token of all its bytes
  Found* found;       // of words: of the others alone
  uint16_t* lacking;  // those that the image's table lacks, in order, and kNoSegment after them
  uint16_t* misses;   // those of them that the cache lacks too

  static constexpr uint16_t kNoSegment = 0xffff;
};

// Places where find_repeats remembers segments, by their hashes.
inline constexpr uint32_t kRepeatSlots = 512;

class LookUp {
 public:
  static constexpr uint32_t kMaxBatch = SegmentQueue::kMaxWaiting;

  struct Scratch {
    SegmentCache cache;
    LookUpBatch batch = {};
    uint16_t* slots = nullptr;  // kRepeatSlots
    Repeat* repeats = nullptr;
    uint16_t* inserts = nullptr;
    void Carve(Layout& layout, uint32_t cache_bytes);
  };

  LookUp(const Model& model, const KernelTable& kernels, Scratch& scratch)
      : kernels_(kernels),
        scratch_(scratch),
        words_(!model.unigram()),
        tables_{model.segment.entries.data(), (uint64_t{1} << model.segment.config->table_bits) - 1,
                scratch.cache.lines(), scratch.cache.mask(), model.bpe()} {}

  // Looks the first count segments of the queue up. What neither table has becomes the misses, each
  // segment once.
  void Run(SegmentQueue& queue, uint32_t count);
  // Makes the misses of a batch of one segment that is known to be one.
  void Miss();

  // A kind of model fills in what the misses and the repeats are, and lists what Insert keeps.
  Found* found() const { return scratch_.batch.found; }
  const int32_t* hits() const { return scratch_.batch.hits; }
  const uint16_t* lacking() const { return scratch_.batch.lacking; }
  std::span<const Repeat> repeats() const { return {scratch_.repeats, repeat_count_}; }
  uint16_t* inserts() { return scratch_.inserts; }
  void SetInserts(uint32_t count) { insert_count_ = count; }
  const SegmentKey* keys() const { return scratch_.batch.keys; }
  const uint16_t* misses() const { return scratch_.batch.misses; }
  uint32_t miss_count() const { return miss_count_; }

  // The spans of miss k depend on its neighbours: repeats of it, and of the misses after it, become misses of their
  // own. This is called once a batch at most: O((misses + repeats) log).
  void ForgetRepeats(uint32_t k);

  // Keeps what is known now of a segment that the cache has; of others nothing is done.
  void SetInfo(const Found& found) { scratch_.cache.SetInfo(found); }
  // Keeps what was resolved in the cache. Ids of the batch are void then.
  void Insert();

 private:
  const KernelTable& kernels_;
  Scratch& scratch_;
  const bool words_;  // of a model whose segments hold always
  const LookUpTables tables_;
  uint32_t miss_count_ = 0, repeat_count_ = 0, insert_count_ = 0;
};

}  // namespace rankfeed::fast
