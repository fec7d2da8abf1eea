// SPDX-License-Identifier: MIT
// corpus/reader.h: look-ups in a store that lies in memory.
//
// Bind copies the header and the newest whole commit and checks every offset in them; each record
// is bounds-checked when it is read. So nothing here reads outside the store, whatever its bytes
// are; Verify (O(size)) is what makes sure that they are also the right ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "corpus/format.h"
#include "rankfeed/status.h"

namespace rankfeed::corpus {

inline constexpr uint64_t kCorpusMagic = 0x7375'7072'6f63'6672;  // "rfcorpus"

struct Corpus {
  uint64_t magic;  // kCorpusMagic while open: catches storage that was never opened
  const uint8_t* data;
  Header header;
  Commit commit;
  uint32_t commit_copy;  // which of the two this is
  bool has_offsets;
  uint64_t positions;  // entries of all levels
};

// The contents of a record; points into the store.
struct Document {
  std::string_view id;
  const int32_t* input_ids;                   // never null
  const uint32_t *offset_begin, *offset_end;  // null unless the store has offsets
  uint32_t token_count;
  bool removed;
  uint64_t offset, bytes;  // of the record
};

// *in_motion (nullable): after a failure, whether a writer at work is an explanation: the store is
// longer than size, or both copies of its commit were taken halfway.
rankfeed_status Bind(const void* data, size_t size, Corpus* out, bool* in_motion,
                     rankfeed_error_detail* detail);

rankfeed_status Verify(const Corpus& corpus, rankfeed_error_detail* detail);

uint64_t HashId(std::string_view id);

// The record at offset, or false if there cannot be one.
bool ReadRecord(const Corpus& corpus, uint64_t offset, Document* out);
// Whether the record's checksum is right. It must have been read by ReadRecord.
bool ChecksumHolds(const Corpus& corpus, const Document& document);

// The record of an id in one level, tombstones included. *probes (nullable) grows by the slots
// looked at. Errors: NOT_FOUND, IMAGE_STRUCTURE.
rankfeed_status FindInLevel(const Corpus& corpus, const Level& level, std::string_view id,
                            uint64_t hash, Document* out, uint64_t* probes = nullptr);
// The document of an id; levels below first_level are not searched. Errors: NOT_FOUND (also for a
// tombstone, *out is then the tombstone; else out->bytes is 0), IMAGE_STRUCTURE.
rankfeed_status Find(const Corpus& corpus, std::string_view id, uint64_t hash, Document* out,
                     uint32_t first_level = 0);
// Find in two steps, so that the memory accesses of many look-ups overlap: ask for the slots of
// each; pick the record that each is likely to be (0: none, and then no level has the id) and ask
// for it; FindFrom.
void PrefetchSlots(const Corpus& corpus, uint64_t hash);
uint64_t PrefetchCandidate(const Corpus& corpus, uint64_t hash);
// Finds as Find does, from a candidate. One that is not the id's record, by a chance of 2^-24 per
// slot, only costs time.
inline rankfeed_status FindFrom(const Corpus& corpus, uint64_t candidate, std::string_view id,
                                uint64_t hash, Document* out) {
  if (candidate != 0 && ReadRecord(corpus, candidate, out) && out->id == id) {
    return out->removed ? RANKFEED_E_NOT_FOUND : RANKFEED_OK;
  }
  return Find(corpus, id, hash, out);
}

// Entries in the order of writing. Tombstones and what a newer level replaces are NOT_FOUND.
rankfeed_status Get(const Corpus& corpus, uint64_t position, Document* out);

inline const Entry* Entries(const Corpus& corpus, const Level& level) {
  return reinterpret_cast<const Entry*>(corpus.data + level.offset);
}
inline const Slot* Slots(const Corpus& corpus, const Level& level) {
  return reinterpret_cast<const Slot*>(corpus.data + level.offset + level.count * sizeof(Entry));
}

}  // namespace rankfeed::corpus

// The C type: a store, or a set of stores, whose Corpus then has the header of its stores, all of
// their positions and no data.
struct rankfeed_corpus : rankfeed::corpus::Corpus {
  const rankfeed_corpus* const* shards;
  const uint64_t* ends;  // positions of the shards up to each, that one's among them
  uint32_t shard_count;  // 0: a store
  bool by_hash;
};
