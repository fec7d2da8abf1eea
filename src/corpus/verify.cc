// SPDX-License-Identifier: MIT
// corpus/verify.cc: one linear pass over a store: each record and each index block is read once.
//
// Work is bounded also for a store made to waste it: records may not overlap, and all look-ups
// together may take kProbesPerEntry slots per entry.
#include <cstring>

#include "base/error_detail.h"
#include "base/narrow.h"
#include "corpus/reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::corpus {
namespace {

// 2 on average at load 2/3; the constant allows for a level of few entries, all in one run.
constexpr uint64_t kProbesPerEntry = 64;
constexpr uint64_t kProbesConstant = uint64_t{kMaxProbe} * kMaxProbe;

class Verifier {
 public:
  Verifier(const Corpus& corpus, rankfeed_error_detail* detail)
      : corpus_(corpus), detail_(detail), end_of_last_(kDataOffset) {}

  rankfeed_status Run() {
    for (level_ = 0; level_ < corpus_.commit.level_count; ++level_) {
      if (const rankfeed_status status = CheckLevel()) return status;
    }
    if (documents_ != corpus_.commit.documents || tokens_ != corpus_.commit.tokens ||
        live_bytes_ != corpus_.commit.live_bytes) {
      return Structure(kCommitOffset[corpus_.commit_copy]);
    }
    return RANKFEED_OK;
  }

 private:
  rankfeed_status Structure(uint64_t offset, uint64_t item = 0) const {
    return Fail(detail_, RANKFEED_E_IMAGE_STRUCTURE, offset, level_, static_cast<uint32_t>(item));
  }

  rankfeed_status CheckLevel() {
    const Level& level = corpus_.commit.levels[level_];
    const uint8_t* block = corpus_.data + level.offset;
    if (XXH3_64bits(block, LevelBytes(level.count)) != level.checksum) {
      return Fail(detail_, RANKFEED_E_IMAGE_CHECKSUM, level.offset, level_);
    }
    const uint64_t slot_count = SlotCount(level.count);
    uint64_t used = 0;
    for (uint64_t i = 0; i < slot_count; ++i) used += Slots(corpus_, level)[i] != 0;
    // Slots and entries correspond by this count and by every entry being found in some slot,
    // below.
    if (used != level.count) return Structure(level.offset);
    const uint32_t levels = corpus_.commit.level_count - level_;  // searched for each entry
    const uint64_t budget = kProbesConstant + level.count * kProbesPerEntry * levels;
    uint64_t probes = 0;
    for (uint32_t i = 0; i < level.count; ++i) {
      if (const rankfeed_status status = CheckEntry(level, i, &probes)) return status;
      if (probes > budget) return Structure(level.offset, i);
    }
    return RANKFEED_OK;
  }

  rankfeed_status CheckEntry(const Level& level, uint32_t i, uint64_t* probes) {
    const Entry& entry = Entries(corpus_, level)[i];
    const uint64_t entry_at = level.offset + i * sizeof(Entry);
    Document document;
    // Ascending over all levels, so each byte of the store is read once.
    if (entry.offset < end_of_last_ || !ReadRecord(corpus_, entry.offset, &document) ||
        document.offset + document.bytes > level.offset) {
      return Structure(entry_at, i);
    }
    end_of_last_ = document.offset + document.bytes;
    if (!ChecksumHolds(corpus_, document)) {
      return Fail(detail_, RANKFEED_E_IMAGE_CHECKSUM, document.offset, level_, i);
    }
    if (HashId(document.id) != entry.hash) return Structure(entry_at, i);
    if (!ContentHolds(document)) return Structure(document.offset, i);
    Document found;
    if (FindInLevel(corpus_, level, document.id, entry.hash, &found, probes) != RANKFEED_OK ||
        found.offset != document.offset) {
      return Structure(level.offset, i);
    }
    if (document.removed) return RANKFEED_OK;
    for (uint32_t newer = level_ + 1; newer < corpus_.commit.level_count; ++newer) {
      const rankfeed_status status = FindInLevel(corpus_, corpus_.commit.levels[newer], document.id,
                                                 entry.hash, &found, probes);
      if (status == RANKFEED_OK) return RANKFEED_OK;  // replaced or removed
      if (status != RANKFEED_E_NOT_FOUND) return Structure(document.offset, i);
    }
    ++documents_;
    tokens_ += document.token_count;
    live_bytes_ += document.bytes;
    return RANKFEED_OK;
  }

  // Padding is zero, a tombstone has no tokens, ids are in the vocabulary, offsets are ranges.
  bool ContentHolds(const Document& document) const {
    if (document.removed && document.token_count != 0) return false;
    const uint8_t* record = corpus_.data + document.offset;
    const uint64_t ids_at = IdsAt(Size32(document.id));
    for (uint64_t i = sizeof(Record) + document.id.size(); i < ids_at; ++i) {
      if (record[i] != 0) return false;
    }
    const uint64_t columns = corpus_.has_offsets ? 12 : 4;
    for (uint64_t i = ids_at + document.token_count * columns; i < document.bytes; ++i) {
      if (record[i] != 0) return false;
    }
    uint32_t largest = 0;
    for (uint32_t i = 0; i < document.token_count; ++i) {
      const auto id = static_cast<uint32_t>(document.input_ids[i]);  // negative ones become large
      largest = id > largest ? id : largest;
    }
    if (document.token_count != 0 && largest >= corpus_.header.id_count) return false;
    if (!corpus_.has_offsets) return true;
    for (uint32_t i = 0; i < document.token_count; ++i) {
      if (document.offset_begin[i] > document.offset_end[i]) return false;
    }
    return true;
  }

  const Corpus& corpus_;
  rankfeed_error_detail* detail_;
  uint32_t level_ = 0;
  uint64_t end_of_last_;
  uint64_t documents_ = 0, tokens_ = 0, live_bytes_ = 0;
};

}  // namespace

rankfeed_status Verify(const Corpus& corpus, rankfeed_error_detail* detail) {
  return Verifier(corpus, detail).Run();
}

}  // namespace rankfeed::corpus
