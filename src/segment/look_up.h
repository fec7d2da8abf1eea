// SPDX-License-Identifier: MIT
// segment/look_up.h: the inner loops that every segment goes through: listing, keys, looking them up,
// writing ids. look_up.cc has them for every Highway target, look_up_gather.cc once more for CPUs
// that load from eight places as fast as from one after the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image/format.h"
#include "segment/scan.h"
#include "segment/cache.h"
#include "segment/key.h"

namespace rankfeed::segment {

// What a look-up found for a segment.
struct Found {
  const int32_t* ids;  // CacheLine::kMaxIds may be read
  int32_t id;          // a place for a single one
  image::PathInfo info;
};
static_assert(sizeof(Found) == 16);

// A segment that is the same as one before it in the batch.
struct Repeat {
  uint16_t segment, of;
};

struct LookUpTables {
  const image::SegmentEntry* table;
  uint64_t table_mask;
  CacheLine* cache;
  uint64_t cache_mask;

  const image::SegmentEntry* Bucket(uint64_t hash) const { return table + 2 * (hash & table_mask); }
  CacheLine* Line(uint64_t hash) const { return cache + (hash & cache_mask); }
};

// What the segments of a batch are looked up with, by their number in it. Kernels may write
// kBeyond more than there are.
struct LookUpBatch {
  static constexpr uint32_t kBeyond = 8;

  SegmentKey* keys;       // of those in neither table
  uint64_t* parts[4];  // for kernels that take several keys at once: a part of all of them
  uint64_t* hashes;
  Found* found;
  uint16_t* misses;  // those to look further for, in order
};

// Where find_repeats remembers segments, by their hashes.
inline constexpr uint32_t kRepeatSlots = 512;

struct LookUpKernels {
  // Lists what masks[0, count) say of the bytes from base on: begins of segments to begins[*begin]
  // on, ends to ends[*end] on, both moved on. SegmentScanner::kBeyond more of each may be written.
  void (*list)(const SegmentMasks* masks, uint32_t count, uint32_t base, const Segments& segments,
               uint32_t* begin, uint32_t* end);
  // Makes the keys of segments[0, count) of a text, which are those of the batch from first on, and
  // fetches what match_table will look at.
  void (*make_keys)(const LookUpTables& tables, const char* text, size_t text_size,
                    const Segments& segments, uint32_t count, uint32_t first,
                    const LookUpBatch& batch);
  // Looks keys [begin, end) up in the image's table. Those it lacks are appended to the misses, of
  // which there are miss_count; returns how many there are then, and fetches what match_cache will
  // look at.
  uint32_t (*match_table)(const LookUpTables& tables, uint32_t begin, uint32_t end,
                          const LookUpBatch& batch, uint32_t miss_count);
  // Looks the misses up in the cache. Keeps those it lacks, whose found is void, and sees to their
  // keys; returns how many.
  uint32_t (*match_cache)(const LookUpTables& tables, const LookUpBatch& batch, uint32_t miss_count);
  // Takes those out of the misses that have the same key as another before them, which may be a
  // repeat too; returns how many are left. keys[none] is read and must equal none of them. slots:
  // kRepeatSlots.
  uint32_t (*find_repeats)(const LookUpBatch& batch, uint32_t none, uint32_t count, uint16_t* slots,
                           Repeat* repeats, uint32_t* repeat_count);
  // Writes the ids of found[begin, end), as long as they hold at the score accumulated so far;
  // returns where it stopped. CacheLine::kMaxIds may be written at any *out, which is moved on.
  uint32_t (*emit)(const Found* found, uint32_t begin, uint32_t end, int32_t** out);
  // The same where *sum counts: at least -score so far, moved on.
  uint32_t (*emit_sums)(const Found* found, uint32_t begin, uint32_t end, int32_t** out,
                        uint64_t* sum);

  const LookUpKernels* few;  // those that are as fast or faster for less than kFewSegments
};
inline constexpr uint32_t kFewSegments = 32;

// Those for this CPU.
LookUpKernels DispatchLookUp();
// Puts those of look_up_gather.cc, which x86 has, in their places.
void UseGatheringLookUp(LookUpKernels* kernels);

}  // namespace rankfeed::segment
