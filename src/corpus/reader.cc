// SPDX-License-Identifier: MIT
// corpus/reader.cc: see reader.h. A look-up costs one hash of the id and, in a store larger than
// the caches, two cache misses per level that may hold it: slot and record.
#include "corpus/reader.h"

#include <bit>
#include <cstring>

#include "base/error_detail.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::corpus {
namespace {

// A writer in another process may be overwriting one copy of the commit while it is read here, and
// the other one right after. Both look damaged only if that happens in one attempt, for which the
// writer needs a sync to disk between the two writes; attempts take under a microsecond.
constexpr int kCommitAttempts = 64;

bool LevelsHold(const Commit& commit) {
  if (commit.level_count > kMaxLevels || commit.reserved != 0) return false;
  uint64_t end = kDataOffset;
  for (uint32_t i = 0; i < commit.level_count; ++i) {
    const Level& level = commit.levels[i];
    if (level.count == 0 || level.count > kMaxEntries || level.max_probe > kMaxProbe ||
        level.offset % kLevelAlignment != 0 || level.offset < end ||
        level.offset > commit.file_size ||
        LevelBytes(level.count) > commit.file_size - level.offset) {
      return false;
    }
    end = level.offset + LevelBytes(level.count);
  }
  // Each document takes part of the file, and each token of it.
  return commit.file_size >= end && commit.file_size <= kMaxFileSize &&
         commit.documents <= commit.file_size && commit.tokens <= commit.file_size &&
         commit.live_bytes <= commit.file_size;
}

// Copies commit number `which`; false if its checksum does not hold.
bool ReadCommit(const uint8_t* data, uint64_t seed, int which, Commit* out) {
  std::memcpy(out, data + kCommitOffset[which], sizeof(Commit));
  return XXH3_64bits_withSeed(out, offsetof(Commit, checksum), seed) == out->checksum;
}

}  // namespace

uint64_t HashId(std::string_view id) {
  return XXH3_64bits(id.data(), id.size());
}

rankfeed_status Bind(const void* data, size_t size, Corpus* out, bool* in_motion,
                     rankfeed_error_detail* detail) {
  if (in_motion != nullptr) *in_motion = false;
  if constexpr (std::endian::native != std::endian::little) {
    return Fail(detail, RANKFEED_E_PLATFORM);
  }
  if (data == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  if (reinterpret_cast<uintptr_t>(data) % kLevelAlignment != 0) {
    return Fail(detail, RANKFEED_E_ALIGNMENT);
  }
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (size < sizeof(kMagic) || std::memcmp(bytes, kMagic, sizeof(kMagic)) != 0) {
    return Fail(detail, RANKFEED_E_IMAGE_MAGIC);
  }
  if (size < kDataOffset) return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, size);
  *out = {};
  Header& header = out->header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.version_major != kVersionMajor) {
    return Fail(detail, RANKFEED_E_IMAGE_VERSION, offsetof(Header, version_major), 0,
                header.version_major);
  }
  if (XXH3_64bits(&header, offsetof(Header, checksum)) != header.checksum) {
    return Fail(detail, RANKFEED_E_IMAGE_CHECKSUM, offsetof(Header, checksum));
  }
  if (header.header_size != sizeof(Header) || (header.flags & ~kHasOffsets) != 0) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, offsetof(Header, header_size));
  }

  int best = -1;
  bool any_whole = false;
  for (int attempt = 0; best < 0 && !any_whole && attempt < kCommitAttempts; ++attempt) {
    for (int which = 0; which < 2; ++which) {
      Commit commit;
      if (!ReadCommit(bytes, header.checksum, which, &commit)) continue;
      any_whole = true;
      if (commit.file_size > size || (best >= 0 && commit.sequence <= out->commit.sequence)) {
        continue;
      }
      out->commit = commit;
      best = which;
    }
  }
  if (best < 0) {
    if (in_motion != nullptr) *in_motion = true;
    return any_whole ? Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, size)
                     : Fail(detail, RANKFEED_E_IMAGE_CHECKSUM, kCommitOffset[0]);
  }
  if (!LevelsHold(out->commit)) {
    return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, kCommitOffset[best]);
  }
  out->data = bytes;
  out->commit_copy = static_cast<uint32_t>(best);
  out->has_offsets = (header.flags & kHasOffsets) != 0;
  for (uint32_t i = 0; i < out->commit.level_count; ++i) {
    out->positions += out->commit.levels[i].count;
  }
  return RANKFEED_OK;
}

bool ReadRecord(const Corpus& corpus, uint64_t offset, Document* out) {
  const uint64_t end = corpus.commit.file_size;
  if (offset % kRecordAlignment != 0 || offset < kDataOffset || offset > end ||
      end - offset < sizeof(Record)) {
    return false;
  }
  const uint8_t* at = corpus.data + offset;
  // A copy: what is checked is what is used, also in a mapped file that is written to meanwhile.
  Record record;
  std::memcpy(&record, at, sizeof(record));
  asm("" : "+m"(record));
  const uint64_t bytes = RecordBytes(record.id_bytes, record.token_count, corpus.has_offsets);
  if (bytes > end - offset || record.id_bytes == 0 || (record.flags & ~kRemoved) != 0) return false;
  out->id = {reinterpret_cast<const char*>(at + sizeof(Record)), record.id_bytes};
  out->input_ids = reinterpret_cast<const int32_t*>(at + IdsAt(record.id_bytes));
  out->token_count = record.token_count;
  out->offset_begin = out->offset_end = nullptr;
  if (corpus.has_offsets) {
    out->offset_begin = reinterpret_cast<const uint32_t*>(out->input_ids + record.token_count);
    out->offset_end = out->offset_begin + record.token_count;
  }
  out->removed = (record.flags & kRemoved) != 0;
  out->offset = offset;
  out->bytes = bytes;
  return true;
}

bool ChecksumHolds(const Corpus& corpus, const Document& document) {
  const uint8_t* at = corpus.data + document.offset;
  constexpr size_t kFrom = sizeof(Record::checksum);
  return reinterpret_cast<const Record*>(at)->checksum ==
         XXH3_64bits(at + kFrom, document.bytes - kFrom);
}

rankfeed_status FindInLevel(const Corpus& corpus, const Level& level, std::string_view id,
                            uint64_t hash, Document* out, uint64_t* probes) {
  const Slot* slots = Slots(corpus, level);
  const uint64_t count = SlotCount(level.count);
  uint64_t i = FirstSlot(hash, count);
  for (uint32_t probe = 0; probe <= level.max_probe; ++probe) {
    if (probes != nullptr) ++*probes;
    const Slot slot = slots[i];
    if (slot == 0) break;
    if (SlotTag(slot) == HashTag(hash)) {
      if (!ReadRecord(corpus, SlotOffset(slot), out)) return RANKFEED_E_IMAGE_STRUCTURE;
      if (out->id == id) return RANKFEED_OK;
    }
    if (++i == count) i = 0;
  }
  *out = {};
  return RANKFEED_E_NOT_FOUND;
}

rankfeed_status Find(const Corpus& corpus, std::string_view id, uint64_t hash, Document* out,
                     uint32_t first_level) {
  for (uint32_t i = corpus.commit.level_count; i > first_level; --i) {
    const rankfeed_status status = FindInLevel(corpus, corpus.commit.levels[i - 1], id, hash, out);
    if (status == RANKFEED_E_NOT_FOUND) continue;
    if (status == RANKFEED_OK && out->removed) return RANKFEED_E_NOT_FOUND;
    return status;
  }
  *out = {};
  return RANKFEED_E_NOT_FOUND;
}

void PrefetchSlots(const Corpus& corpus, uint64_t hash) {
  for (uint32_t i = 0; i < corpus.commit.level_count; ++i) {
    const Level& level = corpus.commit.levels[i];
    __builtin_prefetch(Slots(corpus, level) + FirstSlot(hash, SlotCount(level.count)));
  }
}

uint64_t PrefetchCandidate(const Corpus& corpus, uint64_t hash) {
  for (uint32_t l = corpus.commit.level_count; l > 0; --l) {
    const Level& level = corpus.commit.levels[l - 1];
    const Slot* slots = Slots(corpus, level);
    const uint64_t count = SlotCount(level.count);
    uint64_t i = FirstSlot(hash, count);
    for (uint32_t probe = 0; probe <= level.max_probe && slots[i] != 0; ++probe) {
      if (SlotTag(slots[i]) == HashTag(hash)) {
        const uint64_t offset = SlotOffset(slots[i]);
        if (offset < corpus.commit.file_size) __builtin_prefetch(corpus.data + offset);
        return offset;
      }
      if (++i == count) i = 0;
    }
  }
  return 0;
}

rankfeed_status Get(const Corpus& corpus, uint64_t position, Document* out) {
  *out = {};
  for (uint32_t i = 0; i < corpus.commit.level_count; ++i) {
    const Level& level = corpus.commit.levels[i];
    if (position >= level.count) {
      position -= level.count;
      continue;
    }
    const Entry& entry = Entries(corpus, level)[position];
    Document newer;
    if (!ReadRecord(corpus, entry.offset, out)) return RANKFEED_E_IMAGE_STRUCTURE;
    if (out->removed) return RANKFEED_E_NOT_FOUND;
    const rankfeed_status status = Find(corpus, out->id, entry.hash, &newer, i + 1);
    if (status == RANKFEED_E_NOT_FOUND && newer.bytes == 0) return RANKFEED_OK;
    return status == RANKFEED_OK ? RANKFEED_E_NOT_FOUND : status;
  }
  return RANKFEED_E_NOT_FOUND;
}

}  // namespace rankfeed::corpus
