// SPDX-License-Identifier: MIT
// corpus_builder/writer.h: makes and changes corpus stores.
//
// Records are appended past the committed end of the file as they come. A commit
//   1. appends an index level of the new records, joined with the newest levels while these are
//   less
//      than kLevelRatio times as large, so that there are O(log n) levels and each entry is
//      rewritten O(log n) times;
//   2. syncs;
//   3. overwrites the copy of the commit that is not the one in force, syncs: from here on the new
//      state is the store's;
//   4. overwrites the other copy, which the sync of the next commit makes durable before anything
//      else is overwritten.
// So at any moment at least one copy is whole and names bytes that are on the disk.
//
// All functions throw BuildError or std::bad_alloc. After BuildError with RANKFEED_E_IO the writer
// only answers RANKFEED_E_STATE; after anything else it is as before the call.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/reader.h"
#include "corpus_builder/file.h"
#include "corpus_builder/level.h"

namespace rankfeed::corpus_builder {

// Header of a new store; sets magic, version and checksum.
corpus::Header MakeHeader(uint32_t parity, uint32_t id_count, const uint8_t config_hash[16],
                          uint32_t encode_flags, bool with_offsets, uint64_t template_hash = 0);

class Writer {
 public:
  // A new store, written beside path and renamed by the first commit. The store that is there is
  // locked until then; replaced: it is already, by the caller. sequence: of that commit, less one.
  static Writer Create(const std::string& path, const corpus::Header& header, File replaced = {},
                       uint64_t sequence = 0);
  static Writer Append(const std::string& path);
  Writer(Writer&&) = default;
  ~Writer();

  const corpus::Header& header() const { return header_; }

  // offsets: both empty, or as many as ids.
  void Put(std::string_view id, std::span<const int32_t> ids,
           std::span<const uint32_t> offset_begin, std::span<const uint32_t> offset_end);
  void Remove(std::string_view id);
  void Commit();

 private:
  Writer() = default;
  // Sums over the documents, as they will be after the next commit.
  struct Totals {
    uint64_t documents = 0, tokens = 0, live_bytes = 0;
  };
  void CheckState() const;
  void CheckId(std::string_view id) const;
  // The record that the store and the pending records have for an id.
  struct Present {
    uint32_t item = PendingIndex::kNone;  // newest pending item of the id
    bool exists = false;                  // as a document, pending or committed
    Totals totals;                        // of that document
  };
  Present Lookup(std::string_view id, uint64_t hash) const;
  void AppendRecord(std::string_view id, uint64_t hash, const Present& present, bool removed,
                    std::span<const int32_t> ids, std::span<const uint32_t> offset_begin,
                    std::span<const uint32_t> offset_end);
  void Flush();
  void ReadBack(void* data, size_t size, uint64_t offset) const;
  bool PendingIdIs(const PendingIndex::Item& item, std::string_view id) const;
  // Levels of the committed state that stay, and all entries of the new one.
  struct Merge {
    uint32_t kept_levels;
    std::vector<corpus::Entry> entries;
  };
  Merge MergeLevels() const;
  void WriteLevel(const std::vector<corpus::Entry>& entries, const LevelSlots& slots,
                  corpus::Level* level);
  void WriteCommit(corpus::Commit* commit);
  void Remap();

  std::string path_;  // of the store; file_ may still be the temporary beside it
  File file_;
  File replaced_;           // the store at path_ while file_ is not
  bool published_ = false;  // path_ is file_
  bool failed_ = false;
  bool in_force_unsure_ = false;  // a commit was begun: the bytes it names must stay
  corpus::Header header_{};
  FileMapping mapping_;      // of the committed state
  corpus::Corpus corpus_{};  // over mapping_; data is null while nothing is committed
  uint64_t sequence_ = 0;
  std::vector<uint8_t> buffer_;  // bytes [tail_ - size, tail_) of the file, not yet written
  uint64_t tail_ = corpus::kDataOffset;
  PendingIndex pending_;
  Totals totals_;
};

}  // namespace rankfeed::corpus_builder
