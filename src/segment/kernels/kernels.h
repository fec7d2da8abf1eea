// SPDX-License-Identifier: MIT
// segment/kernels/kernels.h: the inner loops over segments that have to be decoded and searched, compiled for
// every Highway target (vectors, and on x86 the bit manipulation instructions that come with them).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "image/format.h"
#include "trie/double_array.h"
#include "segment/exactness.h"
#include "segment/look_up.h"

namespace rankfeed::segment {

// Whether a character is one code after the one before it, by image::CharInfo of both.
inline bool Follows(uint32_t info, uint32_t previous) {
  constexpr uint32_t kNotOne = image::kCharNormalizes | image::kCharGeneralPath | image::kCharSpace |
                               image::kCharExpands;
  return (info & (kNotOne | image::JoiningMarks(previous))) == 0;
}

// A run of character codes that has a best path of its own. In a stream it is followed by a 0; with
// a word start, more codes follow the U+2581 there.
struct Sequence {
  uint16_t begin, end;
  bool word_start;  // begins with U+2581
};

// What a segment was decoded to: a short one to a sequence of the stream, others to parts.
struct Decoded {
  uint16_t segment, first, last;
  bool is_short;  // the sequence is first; otherwise parts [first, last)
  bool plain;     // one part of its own characters, Scratch::kSegmentCodes at most
  bool trailing_space;
};

// Where short segments are decoded to: codes and sequences are appended up to limits that leave
// room for one more.
struct ShortDecode {
  // Of a segment. Behind it the key has a 0, so that no character is read beyond it.
  static constexpr uint32_t kMaxBytes = SegmentKey::kMaxBytes - 1;

  const uint32_t* basic;  // image::CharInfo by code point, of the first 65,536
  uint16_t* codes;
  Sequence* sequences;
  uint32_t size, count;  // of codes and sequences, moved on
  uint32_t size_limit, count_limit;
  uint16_t space_code;
};

// Ends the sequence at *size of to->codes, which a segment of codes_count codes has become; *size and
// *sequence are moved on.
inline Decoded EndShort(const ShortDecode& to, uint16_t segment, bool word_start,
                        uint32_t codes_count, uint32_t* size, uint32_t* sequence) {
  const uint32_t end = *size + word_start + codes_count;
  to.codes[end] = 0;
  to.sequences[*sequence] = {static_cast<uint16_t>(*size), static_cast<uint16_t>(end), word_start};
  *size = end + 1;
  return {segment, static_cast<uint16_t>((*sequence)++), 0, true, true, false};
}

// Where other segments are decoded to: parts that lie one behind the other, and the one that is
// open. A U+2581 begins a part wherever it stands. One code more than size is read.
struct RunDecode {
  // In most scripts parts are cut from this length on: shorter ones gain nothing, and the pieces'
  // own cuts in alphabetic words would only make more of them.
  static constexpr uint32_t kCutFrom = 40;
  static constexpr uint32_t kBeyond = 16;

  const uint32_t* basic;
  const uint16_t* plain;  // SegmentTables::direct_codes
  const uint64_t* pairs;  // SegmentTables::spanned_pairs
  const uint16_t* mapped;  // SegmentTables::expansions
  uint16_t* codes;       // kBeyond more may be written
  uint16_t* begins;      // of parts, and of the open one behind them; kBeyond more may be written
  uint32_t size, count;  // of codes and parts
  uint32_t size_limit;
  uint32_t previous;   // CharInfo of the last character
  const char* resume;  // where the open part begins
  const char* end;       // of the segment
  const char* readable;  // four bytes can be read at places before it

  uint32_t open() const { return begins[count]; }
  // The next code begins another part; there is at least one in this one.
  void Cut(const char* text) {
    begins[++count] = static_cast<uint16_t>(size);
    resume = text;
  }
};

// Whether a part may end between two characters, of which one knows last_code and previous, info.
// Unknown characters next to each other are one token, so two that are no pieces of their own stay
// together, even if longer pieces hold them. pairs: SegmentTables::spanned_pairs.
inline bool Cuttable(const uint64_t* pairs, uint32_t last_code, uint32_t previous, uint32_t info) {
  return !image::Spanned(pairs, last_code, info & image::kCharCodeMask) &&
         (previous & info & image::kCharUnknown) == 0;
}

// A character of three bytes as one little-endian word, as the layouts of the image are: whether it
// is 1110xxxx 10xxxxxx 10xxxxxx, and its code point then. Four bytes are read.
inline uint32_t LoadThree(const char* text) {
  uint32_t word;
  std::memcpy(&word, text, sizeof(word));
  return word;
}
constexpr bool IsThree(uint32_t word) { return (word & 0xc0c0f0) == 0x8080e0; }
constexpr uint32_t CodePointOfThree(uint32_t word) {
  return (word & 0x0f) << 12 | (word >> 2 & 0xfc0) | (word >> 16 & 0x3f);
}

// How many codes a list of SegmentTables::expansions has. Bounded also in an image that is written to
// while it is mapped, as all loops here are, so that no call goes on without end.
inline uint32_t ExpansionCount(const uint16_t* list) {
  return std::min<uint32_t>(list[0], image::kMaxExpansionCodes);
}

// Appends what the character of three bytes at text is replaced by, if nothing but that has to be
// done with it; false if so, or if it vanishes. Reads four bytes.
inline bool AppendExpansion(const char* text, RunDecode* to) {
  const uint32_t word = LoadThree(text), c = CodePointOfThree(word);
  if (!IsThree(word) || c < 0x800) return false;
  const uint32_t info = to->basic[c];
  const uint32_t more = image::kCharNormalizes | image::kCharGeneralPath | image::kCharSpace |
                        image::JoiningMarks(to->previous);
  if ((info & (more | image::kCharExpands)) != image::kCharExpands) return false;
  const uint16_t* const list = to->mapped + (info & image::kCharCodeMask);
  const uint32_t count = ExpansionCount(list);
  if (count == 0) return false;
  for (uint32_t i = 0; i < count; ++i) to->codes[to->size++] = list[1 + i];
  to->previous = info | image::kCharUnknown;  // the last code may be
  return true;
}

// SegmentTables::spans.
struct SpanTable {
  const image::SpanEntry* parts;
  uint32_t code_count, bits;  // Config::code_count, SegmentConfig::span_bits
};

// The best path of a sequence.
struct PathResult {
  enum : uint8_t {
    kUnknown = 1,  // holds an unknown character: not for a table of the image
    kFused = 2,    // holds an unknown token of several characters
    kLiteral = 4   // holds the unknown piece itself: take the general path
  };
  // Flags of results that are not kept. Replaying SentencePiece's sums needs to know how many
  // characters an unknown token stands for: of those that are kept, one.
  static constexpr uint8_t NotKept(bool float32) { return kLiteral | (float32 ? kFused : 0); }
  uint16_t first_id, count;  // in Lattice::ids
  image::PathInfo info;      // its count is 255 at most
  uint8_t flags;
  uint16_t fused;  // with kFused: characters of its unknown token, 0 if there are several
};

// A code that was read: its place in the stream, and in the low half the state after it.
using Visit = uint64_t;

// Steps of a walk over sequences that end at the code `end`. A step reads a code or goes on along a
// fail, which leads to a state of fewer characters (image/verify.cc). Only where an image is
// written to while it is mapped do fails lead in circles, and the walk ends before the sequences.
constexpr uint32_t MostSteps(uint32_t end) {
  return (image::kMaxSegmentPieceChars + 1) * end;
}

// How many there are, and of those that are first: of any eight from a multiple of eight on, no two
// are of the same sequence.
struct Visits {
  uint32_t count, apart;
};
inline constexpr uint32_t kFewSequences = 16;

// See segment/search.h. A node comes before each code and behind the last; node n + 1 follows
// codes[n].
struct Lattice {
  static constexpr uint32_t kMaxChars = image::kMaxSegmentPieceChars;
  static constexpr uint32_t kAhead = 40;  // states fetched before they are needed
  static constexpr uint32_t kBeyond = 8;  // read and written at a time

  const trie::Unit* units;
  const trie::Unit* fails;
  const image::AutomatonState* states;
  const uint64_t* edges;
  const image::SearchStart* begins;
  uint32_t code_count, unk_id;
  const uint16_t* codes;
  Visit* visits;  // for all codes, and kAhead + kBeyond more to read or write
  uint64_t* sum;  // by node: the least sum of costs, where an edge has its cost; kMaxChars before
                  // the first may be read
  image::LatticeNode* nodes;  // unspecified before the first code of a sequence
  int32_t* ids;  // a place for each code, where the path through it lies; ids[-1] may be written
  // For kernels that list where searches begin before they read on; by sequence.
  trie::Unit* start_units;
  Visit* start_visits;
};

struct Kernels {
  // Decodes segments misses[0 .. count), from their keys and the first on, as long as each is short
  // and each of its characters one code; returns how many. out: what they became.
  uint32_t (*decode_short)(const Segments& segments, const SegmentKey* keys, const uint16_t* misses,
                           uint32_t count, ShortDecode* to, Decoded* out);
  // Appends characters of three bytes below image::kFirstCjk, as long as each is one code or
  // AppendExpansion, and ends parts where they may end. text: before RunDecode::end. Returns where it
  // stopped.
  const char* (*decode_run)(const char* text, RunDecode* to);
  // The same for characters that have codes in SegmentTables::direct_codes, at least those of three bytes
  // from kFirstCjk on; here parts of any length end.
  const char* (*decode_cjk)(const char* text, RunDecode* to);
  // Looks the parts up. Those that are not in the table, whose found is void, go to searches;
  // returns how many. RunDecode::kBeyond more of both may be written.
  uint32_t (*look_up_spans)(const SpanTable& table, const RunDecode& run, Found* found,
                         uint16_t* searches);
  // Reads the codes of the sequences beyond those that searches begin with, and makes the nodes
  // behind these.
  Visits (*walk)(const Lattice& lattice, const Sequence* sequences, uint32_t count);
  // Makes the nodes of visits [0, Visits::apart), eight at a time. Null without kernels for that.
  void (*relax_independent)(const Lattice& lattice, uint32_t count);
  // Makes the nodes of visits [begin, end).
  void (*relax)(const Lattice& lattice, uint32_t begin, uint32_t end);
  // Finds ids and results of the sequences.
  void (*trace)(const Lattice& lattice, const ExactnessRule& rule, const Sequence* sequences,
                uint32_t count, PathResult* results);

  const Kernels* few;  // those that are as fast or faster for less than kFewSequences
};

// Of a result whose path, to the node `end`, holds unknown characters or the unknown piece itself:
// its flags, and one token for consecutive unknown characters.
void MarkUnknown(const Lattice& lattice, int32_t end, PathResult* result);

// Those for this CPU.
Kernels DispatchKernels();
// Put those of decode_gather.cc and search_gather.cc, which x86 has, in their places.
void UseGatheringDecode(Kernels* kernels);
void UseGatheringSearch(Kernels* kernels);

}  // namespace rankfeed::segment
