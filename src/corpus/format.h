// SPDX-License-Identifier: MIT
// corpus/format.h: the corpus store as it lies on disk and in memory; docs/corpus-format.md is the
// description for people, with the reasons. The only on-disk structs of the store.
//
//   0      Header         fixed when the store is made
//   4096   Commit         the state of the store, twice, so that one of them is whole at any moment
//   8192   Commit
//   12288  records and index levels, appended; nothing here is ever overwritten
//
// Little-endian; used in place. A record is 8-byte aligned, an index level 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base//narrow.h"

namespace rankfeed::corpus {

inline constexpr char kMagic[8] = {'R', 'F', 'C', 'O', 'R', '\r', '\n', '\x1a'};
inline constexpr uint16_t kVersionMajor = 1;  // a reader refuses any other
inline constexpr uint16_t kVersionMinor = 0;
// Apart by the largest sector that drives write at once, so that a torn write harms one only.
inline constexpr uint64_t kCommitOffset[2] = {4096, 8192};
inline constexpr uint64_t kDataOffset = 12288;
inline constexpr uint64_t kRecordAlignment = 8;
inline constexpr uint64_t kLevelAlignment = 64;

// Header::flags
inline constexpr uint32_t kHasOffsets = 1;

struct Header {
  char magic[8];
  uint16_t version_major, version_minor;
  uint32_t header_size;  // sizeof(Header)
  uint32_t parity;       // RANKFEED_PARITY_*
  uint32_t id_count;     // ids of documents are below
  uint32_t encode_flags;
  uint32_t flags;  // kHasOffsets
  uint8_t config_hash[16];
  uint64_t template_hash;  // of the row template whose document parts these are; 0: documents alone
  uint64_t checksum;  // XXH3-64 of the bytes before
};
static_assert(sizeof(Header) == 64);

// One index block: Entry[count], then Slot[SlotCount(count)].
struct Level {
  uint64_t offset;
  uint32_t count;      // entries, 1 to kMaxEntries
  uint32_t max_probe;  // no entry is further than this from its first slot; at most kMaxProbe
  uint64_t checksum;   // XXH3-64 of the block
};

// Each level holds at least kLevelRatio times the entries of the next newer one, so that 16 levels
// are enough for kMaxEntries.
inline constexpr uint32_t kMaxLevels = 16;
inline constexpr uint32_t kLevelRatio = 4;

struct Commit {
  uint64_t sequence;   // 1, 2, ...; the greater one counts
  uint64_t file_size;  // bytes [0, file_size) belong to this state
  uint64_t documents, tokens;
  uint64_t live_bytes;  // of the records of those documents
  uint32_t level_count;
  uint32_t reserved;         // 0
  Level levels[kMaxLevels];  // oldest first; unused ones are zero
  uint64_t checksum;         // XXH3-64 of the bytes before, seeded with Header::checksum
};
static_assert(sizeof(Level) == 24 && sizeof(Commit) == 48 + 16 * 24 + 8);

// Record::flags
inline constexpr uint16_t kRemoved = 1;  // tombstone: no tokens, hides the id in older levels

// Followed by id[id_bytes], zeros up to a multiple of 4, int32_t input_ids[token_count], with
// kHasOffsets uint32_t offset_begin[token_count] and offset_end[token_count], zeros up to 8.
struct Record {
  uint64_t checksum;  // XXH3-64 of the record's other bytes
  uint32_t token_count;
  uint16_t id_bytes;  // at least 1
  uint16_t flags;
};
static_assert(sizeof(Record) == 16);

inline constexpr uint64_t kMaxIdBytes = 65535;

// Entries of a level are in the order of their records.
struct Entry {
  uint64_t hash;    // XXH3-64 of the document id
  uint64_t offset;  // of the record
};

// Linear probing from FirstSlot. 0: empty; else the low 24 bits of the hash (the high ones choose
// the slot) above the record's offset / 8, which limits a store to 8 TiB.
using Slot = uint64_t;
inline constexpr uint32_t kTagBits = 24;
inline constexpr uint64_t kMaxFileSize = uint64_t{1} << (64 - kTagBits + 3);

inline constexpr uint32_t kMaxEntries = (1u << 31) - 1;  // of a level: SlotCount fits 32 bits
// Load 2/3: a present id is found in 2 probes on average, an absent one in 5 (Knuth, The Art of
// Computer Programming, volume 3, 6.4, algorithm L).
constexpr uint64_t SlotCount(uint32_t entries) {
  return uint64_t{entries} + entries / 2 + 1;
}
// Limit of the probes of one look-up. With random hashes the longest of n is near ln(n) / 0.072 at
// this load: 290 for 2^30. More than this takes ids that were made to collide, which writer and
// verifier refuse.
inline constexpr uint32_t kMaxProbe = 4096;

constexpr uint64_t LevelBytes(uint32_t entries) {
  return entries * uint64_t{sizeof(Entry)} + SlotCount(entries) * sizeof(Slot);
}
// Lemire, Fast Random Integer Generation in an Interval, 2019: a multiplication, not a division.
constexpr uint64_t FirstSlot(uint64_t hash, uint64_t slots) {
  return (hash >> 32) * slots >> 32;
}
constexpr Slot MakeSlot(uint64_t hash, uint64_t offset) {
  return hash << (64 - kTagBits) | offset / kRecordAlignment;
}
constexpr uint64_t SlotTag(Slot slot) {
  return slot >> (64 - kTagBits);
}
constexpr uint64_t HashTag(uint64_t hash) {
  return hash & ((uint64_t{1} << kTagBits) - 1);
}
constexpr uint64_t SlotOffset(Slot slot) {
  return (slot & ((uint64_t{1} << (64 - kTagBits)) - 1)) * kRecordAlignment;
}

constexpr uint64_t IdsAt(uint32_t id_bytes) {
  return sizeof(Record) + ((uint64_t{id_bytes} + 3) & ~uint64_t{3});
}
constexpr uint64_t RecordBytes(uint32_t id_bytes, uint64_t tokens, bool has_offsets) {
  return (IdsAt(id_bytes) + tokens * (has_offsets ? 12 : 4) + 7) & ~uint64_t{7};
}

}  // namespace rankfeed::corpus
