// SPDX-License-Identifier: MIT
// fast/kernels/kernels.h: the loops of the fast road, all in one table, and the instruction sets
// they exist for.
//
// portable_*.cc are compiled once per Highway target (vectors, and on x86 the bit manipulation
// instructions that come with them); avx512_*.cc have some loops once more for CPUs that load from
// eight places as fast as from one after the other. Whoever calls a loop goes through a
// KernelTable, so that any set that the CPU can run may be forced: by a test, a fuzzer or a user.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fast/look_up.h"
#include "fast/scan.h"
#include "fast/spans.h"
#include "image/format.h"
#include "models/bpe/merge.h"
#include "models/found.h"
#include "models/unigram/kernels/kernels.h"

namespace rankfeed::fast {

// For fewer segments the loops of KernelTable::few are as fast or faster.
inline constexpr uint32_t kFewSegments = 32;

// A word to merge, of kMergeSymbols at most: count symbols of a batch from begin on, then as many as are
// left of them. segment, gaps: what the batch knows it by.
inline constexpr uint32_t kMergeSymbols = 31;
struct MergeWord {
  uint32_t begin;
  uint16_t count, segment;
  bool gaps;
};

struct KernelTable {
  // Scanning.

  // The classes of text[64 k .. 64 k + 63] go to masks[k], for all k with 64 k < size; bytes from
  // size on count as separators. Reads nothing past the text. Returns whether some byte is one of
  // the stop bytes.
  bool (*classify)(const char* text, size_t size, const ByteClasses& classes, ClassMasks* masks);
  // The same for the masks of splits; bytes from size on count as tabs.
  bool (*classify_splits)(const char* text, size_t size, const ByteSet& stop_bytes, SplitMasks* masks);
  // Classifies text[0, size), 64 bytes at most, where bytes from size on are none. Reads nothing past the `left`
  // bytes of the text. What comes after 32 characters may be left out, where they are no UTF-8.
  void (*classify_leads)(const char* text, size_t size, size_t left, const CharacterTables& tables,
                         LeadMasks* masks);
  // Returns a mask of the characters of two or three bytes at `leads`, one to 32, that no piece holds with
  // the one before. *before: the character before the first; set to the last. left: as above.
  uint64_t (*find_apart)(const char* text, size_t left, uint64_t leads, const CharacterTables& tables,
                         char32_t* before);
  // Lists what masks[0, count) say of the bytes from base on: begins of segments to begins[*begin]
  // on, ends to ends[*end] on, both moved on. kVectorSlack more of each may be written.
  void (*list)(const BoundaryMasks* masks, uint32_t count, uint32_t base, const Segments& segments,
               uint32_t* begin, uint32_t* end);
  // Lists the starts alone, to places; returns how many. kVectorSlack more may be written.
  uint32_t (*list_starts)(const BoundaryMasks* masks, uint32_t count, uint32_t base, uint32_t* places);

  // Looking up.

  // Makes the keys of segments[0, count) of a text, which are those of the batch from first on, and
  // fetches what match_table will look at. readable: bytes that may be read, the segments' at
  // least.
  void (*make_keys)(const LookUpTables& tables, const char* text, size_t readable,
                    const Segments& segments, uint32_t count, uint32_t first,
                    const LookUpBatch& batch);
  // Looks keys [begin, end) up in the image's table, and writes found of those it has; of a table of words, hits. Those
  // it lacks are appended to `lacking`, in which there are lacking_count; returns how many there are then, and
  // fetches what match_cache will look at.
  uint32_t (*match_table)(const LookUpTables& tables, uint32_t begin, uint32_t end,
                          const LookUpBatch& batch, uint32_t lacking_count);
  uint32_t (*match_words)(const LookUpTables& tables, uint32_t begin, uint32_t end,
                          const LookUpBatch& batch, uint32_t lacking_count);
  // Looks those that the table lacks up in the cache. Lists the misses, which it lacks too, whose found is void, and
  // sees to their keys; returns how many. It looks at the short entries of their lines only, where the set has a loop
  // match_longs for the others.
  uint32_t (*match_cache)(const LookUpTables& tables, const LookUpBatch& batch, uint32_t lacking_count);
  uint32_t (*match_longs)(const LookUpTables& tables, const LookUpBatch& batch, uint32_t miss_count);
  // Takes those out of the misses that have the same key as another before them, which may be a
  // repeat too; returns how many are left. keys[none] is read and must equal none of them. slots:
  // kRepeatSlots.
  uint32_t (*find_repeats)(const LookUpBatch& batch, uint32_t none, uint32_t count, uint16_t* slots,
                           Repeat* repeats, uint32_t* repeat_count);

  // Merges each of the words alone, in its place among the ids.
  void (*merge)(const bpe::Merger& merger, uint32_t* ids, MergeWord* words, uint32_t count);

  // Decoding.

  // Decodes segments misses[0 .. count), from their keys and the first on, as long as each is short
  // and each of its characters one code, to a span each; returns how many.
  uint32_t (*decode_short)(const Segments& segments, const SegmentKey* keys, const uint16_t* misses,
                           uint32_t count, ShortDecode* to);
  // Appends characters of three bytes below image::kFirstCjk, as long as each is one code or
  // AppendExpansion, and ends spans where they may end. text: before RunDecode::end. Returns where
  // it stopped.
  const char* (*decode_run)(const char* text, RunDecode* to);
  // The same for characters that have codes in SegmentTables::direct_codes, at least those of three
  // bytes from kFirstCjk on; here spans of any length end.
  const char* (*decode_cjk)(const char* text, RunDecode* to);

  // Emitting.

  // Writes the ids of found[begin, end), as long as they hold at the score accumulated so far;
  // returns where it stopped. CacheLine::kMaxIds may be written at any *out, which is moved on, as
  // is *sum: at least -score so far.
  uint32_t (*emit)(const Found* found, uint32_t begin, uint32_t end, int32_t** out, uint64_t* sum);

  // These loops search the paths of spans.
  unigram::SearchKernels search;

  // Loops of the same set or a lesser one that are as fast or faster for few segments.
  const KernelTable* few;
};

// Instruction sets that there are loops for, from the least to the greatest of an architecture.
// A CPU runs one by its feature bits, whoever made it.
enum class Isa : uint8_t {
  kScalar,  // no vectors
  kSsse3,
  kSse4,
  kAvx2,
  kAvx512,        // of Highway's AVX3: what gains from wider vectors; the rest as kAvx2
  kAvx512Gather,  // of Highway's AVX3_DL: the loops of avx512_*.cc besides
  kNeon,
};
inline constexpr uint32_t kIsaCount = 7;

const char* IsaName(Isa isa);

// The loops of a set; null where this build has none or this CPU cannot run them.
const KernelTable* KernelsOf(Isa isa);

// The set that encoders take which are made from now on: the one that was forced, or the best for
// this CPU. kAvx512Gather is the best only where gathers are as fast as the loads they stand for
// (dispatch.cc).
Isa ChosenIsa();
// Any thread; for the process. False, and nothing changes, where this CPU cannot run it.
bool ForceIsa(Isa isa);
void ForgetForcedIsa();

}  // namespace rankfeed::fast
