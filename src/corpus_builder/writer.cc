// SPDX-License-Identifier: MIT
// corpus_builder/writer.cc: see writer.h.
#include "corpus_builder/writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/narrow.h"
#include "builder/base/model_spec.h"
#include "corpus_builder/guarded.h"
#include "platform/files/file_calls.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rankfeed::corpus_builder {
namespace {

using builder::BuildError;
using corpus::Document;
using corpus::Entry;
using corpus::Level;
using corpus::Record;

// Records are written in blocks of about this size: few system calls, little memory.
constexpr size_t kBufferBytes = 1u << 20;
constexpr uint32_t kNone = PendingIndex::kNone;

void BindOrThrow(const FileMapping& mapping, const std::string& path, corpus::Corpus* corpus) {
  rankfeed_error_detail detail{};
  detail.struct_size = sizeof(detail);
  CheckStore(corpus::Bind(mapping.data(), mapping.size(), corpus, nullptr, &detail), path, detail);
}

// Returns the file that a new store at path replaces: through symbolic links, which stay, and only
// over a file. A rename would put an end to a device or a pipe.
std::string ReplaceableFile(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string target = path;
  if (fs::is_symlink(path, error)) {
    const fs::path resolved = fs::canonical(path, error);
    if (error) throw BuildError(RANKFEED_E_IO, path, ": ", error.message());
    target = resolved.string();
  }
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw BuildError(RANKFEED_E_IO, path, ": not a regular file");
  }
  return target;
}

}  // namespace

corpus::Header MakeHeader(uint32_t parity, uint32_t id_count, const uint8_t config_hash[16],
                          uint32_t encode_flags, bool with_offsets, uint64_t template_hash) {
  corpus::Header header{};
  std::memcpy(header.magic, corpus::kMagic, sizeof(header.magic));
  header.version_major = corpus::kVersionMajor;
  header.version_minor = corpus::kVersionMinor;
  header.header_size = sizeof(header);
  header.parity = parity;
  header.id_count = id_count;
  header.encode_flags = encode_flags;
  header.template_hash = template_hash;
  header.flags = with_offsets ? corpus::kHasOffsets : 0;
  std::memcpy(header.config_hash, config_hash, sizeof(header.config_hash));
  header.checksum = XXH3_64bits(&header, offsetof(corpus::Header, checksum));
  return header;
}

Writer Writer::Create(const std::string& path, const corpus::Header& header, File replaced,
                      uint64_t sequence) {
  Writer writer;
  writer.path_ = ReplaceableFile(path);
  writer.replaced_ = std::move(replaced);
  if (!writer.replaced_.is_open()) {
    try {
      writer.replaced_ = File::OpenExisting(writer.path_);
    } catch (const BuildError& error) {
      if (error.code == RANKFEED_E_BUSY) throw;  // else there is none, or none to append to
    }
  }
  writer.header_ = header;
  writer.sequence_ = sequence;
  // One name, so that what a killed build left is taken over by the next one.
  writer.file_ = File::CreateBeside(writer.path_);
  if (!writer.file_.Truncate(0)) {
    throw BuildError(RANKFEED_E_IO, writer.path_, ".tmp: cannot be truncated");
  }
  return writer;
}

Writer Writer::Append(const std::string& path) {
  Writer writer;
  writer.path_ = path;
  writer.published_ = true;
  writer.file_ = File::OpenExisting(path);
  writer.Remap();
  writer.header_ = writer.corpus_.header;
  // A killed or failed append left bytes there.
  if (writer.mapping_.size() > writer.tail_) (void)writer.file_.Truncate(writer.tail_);
  return writer;
}

Writer::~Writer() {
  if (!file_.is_open()) return;
  if (file_.path() != path_) {
    file_.Unlink();
  } else if (!in_force_unsure_ && !pending_.items().empty()) {
    (void)file_.Truncate(corpus_.commit.file_size);
  }
}

void Writer::CheckState() const {
  if (failed_) {
    throw BuildError(RANKFEED_E_STATE, path_, ": writing failed before; close the writer");
  }
}

void Writer::CheckId(std::string_view id) const {
  CheckState();
  if (id.empty() || id.size() > corpus::kMaxIdBytes) {
    throw BuildError(RANKFEED_E_ARGUMENT,
                     "a document id has 1 to 65535 bytes, not ", id.size());
  }
}

// Reads what was appended since the last commit: in the buffer, or already in the file.
void Writer::ReadBack(void* data, size_t size, uint64_t offset) const {
  const uint64_t buffered_from = tail_ - buffer_.size();
  if (offset >= buffered_from) {
    std::memcpy(data, buffer_.data() + (offset - buffered_from), size);
  } else {
    file_.Read(data, size, offset);  // records are flushed whole
  }
}

bool Writer::PendingIdIs(const PendingIndex::Item& item, std::string_view id) const {
  Record record;
  ReadBack(&record, sizeof(record), item.entry.offset);
  if (record.id_bytes != id.size()) return false;
  std::string stored(id.size(), '\0');
  ReadBack(stored.data(), stored.size(), item.entry.offset + sizeof(record));
  return stored == id;
}

Writer::Present Writer::Lookup(std::string_view id, uint64_t hash) const {
  Present present;
  present.item =
      pending_.Find(hash, [&](const PendingIndex::Item& item) { return PendingIdIs(item, id); });
  if (present.item != kNone) {
    const PendingIndex::Item& item = pending_.items()[present.item];
    if (item.removed) return present;
    present.exists = true;
    present.totals = {1, item.token_count,
                      corpus::RecordBytes(Size32(id), item.token_count,
                                          (header_.flags & corpus::kHasOffsets) != 0)};
    return present;
  }
  Document document;
  if (corpus_.data == nullptr) return present;
  const rankfeed_status status = corpus::Find(corpus_, id, hash, &document);
  if (status == RANKFEED_OK) {
    present.exists = true;
    present.totals = {1, document.token_count, document.bytes};
  } else if (status != RANKFEED_E_NOT_FOUND) {
    throw BuildError(status, path_, ": ", rankfeed_status_message(status));
  }
  return present;
}

void Writer::Put(std::string_view id, std::span<const int32_t> ids,
                 std::span<const uint32_t> offset_begin, std::span<const uint32_t> offset_end) {
  CheckId(id);
  const bool has_offsets = (header_.flags & corpus::kHasOffsets) != 0;
  if (!has_offsets) offset_begin = offset_end = {};
  const size_t offsets = has_offsets ? ids.size() : 0;
  if (offset_begin.size() != offsets || offset_end.size() != offsets) {
    throw BuildError(RANKFEED_E_ARGUMENT, "this store needs the offsets of every token");
  }
  if (ids.size() > UINT32_MAX) {
    throw BuildError(RANKFEED_E_LIMIT,
                     "the document has ", ids.size(),
                     " ids; the limit is 4294967295");
  }
  for (const int32_t token : ids) {
    if (static_cast<uint32_t>(token) >= header_.id_count) {
      throw BuildError(RANKFEED_E_ID_RANGE,
                       "token id ", token, " is not in the vocabulary");
    }
  }
  for (size_t i = 0; i < offset_begin.size(); ++i) {
    if (offset_begin[i] > offset_end[i]) {
      throw BuildError(RANKFEED_E_ARGUMENT, "an offset ends before it begins");
    }
  }
  const uint64_t hash = corpus::HashId(id);
  AppendRecord(id, hash, Lookup(id, hash), false, ids, offset_begin, offset_end);
}

void Writer::Remove(std::string_view id) {
  CheckId(id);
  const uint64_t hash = corpus::HashId(id);
  const Present present = Lookup(id, hash);
  if (!present.exists) {
    throw BuildError(RANKFEED_E_NOT_FOUND, path_, ": no document ", std::string(id));
  }
  AppendRecord(id, hash, present, true, {}, {}, {});
}

void Writer::AppendRecord(std::string_view id, uint64_t hash, const Present& present, bool removed,
                          std::span<const int32_t> ids, std::span<const uint32_t> offset_begin,
                          std::span<const uint32_t> offset_end) {
  const auto id_bytes = static_cast<uint16_t>(id.size());
  const uint64_t bytes =
      corpus::RecordBytes(id_bytes, ids.size(), (header_.flags & corpus::kHasOffsets) != 0);
  if (bytes > corpus::kMaxFileSize / 2 || tail_ > corpus::kMaxFileSize / 2) {
    throw BuildError(RANKFEED_E_LIMIT, path_, ": the store would get larger than 4 TiB");
  }
  // The totals of a store that is appended to are those of its commit, which nobody has verified.
  if (present.exists && (totals_.documents < 1 || totals_.tokens < present.totals.tokens ||
                         totals_.live_bytes < present.totals.live_bytes)) {
    throw BuildError(RANKFEED_E_IMAGE_STRUCTURE,
                     path_, ": its documents are more than its commit says").At(corpus::kCommitOffset[corpus_.commit_copy]);
  }
  pending_.Reserve();
  const size_t at = buffer_.size();
  buffer_.resize(at + bytes);  // zeros, which the paddings stay
  // Nothing below fails, but for the final Flush.
  uint8_t* to = buffer_.data() + at;
  Record record{};
  record.token_count = Size32(ids);
  record.id_bytes = id_bytes;
  record.flags = removed ? corpus::kRemoved : 0;
  std::memcpy(to, &record, sizeof(record));
  std::memcpy(to + sizeof(record), id.data(), id.size());
  uint8_t* column = to + corpus::IdsAt(id_bytes);
  const auto put = [&column](const void* data, size_t size) {
    if (size != 0) std::memcpy(column, data, size);
    column += size;
  };
  put(ids.data(), ids.size_bytes());
  put(offset_begin.data(), offset_begin.size_bytes());
  put(offset_end.data(), offset_end.size_bytes());
  constexpr size_t kFrom = sizeof(Record::checksum);
  const uint64_t checksum = XXH3_64bits(to + kFrom, bytes - kFrom);
  std::memcpy(to, &checksum, sizeof(checksum));

  pending_.Add({{hash, tail_}, record.token_count, removed, false}, present.item);
  tail_ += bytes;
  if (present.exists) {
    totals_.documents -= 1;
    totals_.tokens -= present.totals.tokens;
    totals_.live_bytes -= present.totals.live_bytes;
  }
  if (!removed) {
    totals_.documents += 1;
    totals_.tokens += ids.size();
    totals_.live_bytes += bytes;
  }
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Writer::Flush() {
  if (buffer_.empty()) return;
  failed_ = true;  // until the write is done
  file_.Write(buffer_.data(), buffer_.size(), tail_ - buffer_.size());
  failed_ = false;
  buffer_.clear();
}

Writer::Merge Writer::MergeLevels() const {
  const corpus::Commit& commit = corpus_.commit;
  uint32_t kept = corpus_.data != nullptr ? commit.level_count : 0;
  const uint32_t all = kept;
  uint64_t count = pending_.live();
  while (kept > 0 && (kept == corpus::kMaxLevels ||
                      commit.levels[kept - 1].count < corpus::kLevelRatio * count)) {
    count += commit.levels[--kept].count;
  }
  if (count > corpus::kMaxEntries) {
    throw BuildError(
        RANKFEED_E_LIMIT,
        path_, ": more than ", corpus::kMaxEntries, " documents");
  }
  Merge merge{kept, {}};
  merge.entries.reserve(count);
  for (uint32_t i = kept; i < all; ++i) {
    const Level& level = commit.levels[i];
    for (uint32_t e = 0; e < level.count; ++e) {
      const Entry& entry = corpus::Entries(corpus_, level)[e];
      Document document, newer;
      if (!corpus::ReadRecord(corpus_, entry.offset, &document)) {
        throw BuildError(RANKFEED_E_IMAGE_STRUCTURE, path_, ": damaged index").At(entry.offset);
      }
      if (document.removed && kept == 0) continue;  // nothing older is left to hide
      const auto is_it = [&](const PendingIndex::Item& item) {
        return PendingIdIs(item, document.id);
      };
      if (pending_.Find(entry.hash, is_it) != kNone) continue;
      const rankfeed_status status = corpus::Find(corpus_, document.id, entry.hash, &newer, i + 1);
      if (status == RANKFEED_OK || newer.bytes != 0) continue;  // replaced or removed
      if (status != RANKFEED_E_NOT_FOUND) {
        throw BuildError(status, path_, ": damaged index").At(entry.offset);
      }
      merge.entries.push_back(entry);
    }
  }
  for (const PendingIndex::Item& item : pending_.items()) {
    if (item.replaced || (item.removed && kept == 0)) continue;
    merge.entries.push_back(item.entry);
  }
  return merge;
}

void Writer::Commit() {
  CheckState();
  if (published_ && pending_.items().empty()) return;
  if (sequence_ == UINT64_MAX) {  // the next one would count as older than all others
    throw BuildError(RANKFEED_E_LIMIT, path_, ": no number is left for a commit");
  }
  const Merge merge = MergeLevels();
  const LevelSlots slots = merge.entries.empty() ? LevelSlots{} : BuildSlots(merge.entries);

  corpus::Commit commit{};
  commit.sequence = sequence_ + 1;
  commit.documents = totals_.documents;
  commit.tokens = totals_.tokens;
  commit.live_bytes = totals_.live_bytes;
  commit.level_count = merge.kept_levels;
  std::copy_n(corpus_.commit.levels, merge.kept_levels, commit.levels);

  failed_ = true;  // until all is written
  if (!buffer_.empty()) {
    file_.Write(buffer_.data(), buffer_.size(), tail_ - buffer_.size());
    buffer_.clear();
  }
  if (!merge.entries.empty()) {
    WriteLevel(merge.entries, slots, &commit.levels[commit.level_count++]);
  }
  commit.file_size = tail_;
  WriteCommit(&commit);
  sequence_ = commit.sequence;
  pending_.Clear();
  Remap();
  in_force_unsure_ = false;
  failed_ = false;
}

void Writer::WriteLevel(const std::vector<Entry>& entries, const LevelSlots& slots, Level* level) {
  const uint64_t aligned =
      (tail_ + corpus::kLevelAlignment - 1) / corpus::kLevelAlignment * corpus::kLevelAlignment;
  static constexpr uint8_t kZeros[corpus::kLevelAlignment] = {};
  if (aligned != tail_) file_.Write(kZeros, aligned - tail_, tail_);
  level->offset = aligned;
  level->count = Size32(entries);
  level->max_probe = slots.max_probe;
  const size_t entry_bytes = entries.size() * sizeof(Entry);
  const size_t slot_bytes = slots.slots.size() * sizeof(corpus::Slot);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, entries.data(), entry_bytes);
  XXH3_64bits_update(&state, slots.slots.data(), slot_bytes);
  level->checksum = XXH3_64bits_digest(&state);
  file_.Write(entries.data(), entry_bytes, aligned);
  file_.Write(slots.slots.data(), slot_bytes, aligned + entry_bytes);
  tail_ = aligned + entry_bytes + slot_bytes;
}

void Writer::WriteCommit(corpus::Commit* commit) {
  commit->checksum =
      XXH3_64bits_withSeed(commit, offsetof(corpus::Commit, checksum), header_.checksum);
  if (!published_) {
    file_.Write(&header_, sizeof(header_), 0);
    for (const uint64_t offset : corpus::kCommitOffset) {
      file_.Write(commit, sizeof(*commit), offset);
    }
    // An empty store ends inside the last copy's page: give it its full size.
    if (!file_.Truncate(tail_)) throw BuildError(RANKFEED_E_IO, path_, ": cannot be extended");
    file_.Sync();
    in_force_unsure_ = true;
    if (!files::kReplacesOpenFiles) replaced_.Close();
    file_.Rename(path_);
    published_ = true;
    replaced_.Close();
    return;
  }
  const uint32_t in_force = corpus_.commit_copy;
  file_.Sync();
  in_force_unsure_ = true;
  file_.Write(commit, sizeof(*commit), corpus::kCommitOffset[1 - in_force]);
  file_.Sync();
  file_.Write(commit, sizeof(*commit), corpus::kCommitOffset[in_force]);
}

// Takes the committed state of the file.
void Writer::Remap() {
  mapping_ = FileMapping(file_.path());
  corpus::Corpus corpus;
  BindOrThrow(mapping_, path_, &corpus);
  corpus_ = corpus;
  sequence_ = corpus_.commit.sequence;
  tail_ = corpus_.commit.file_size;
  totals_ = {corpus_.commit.documents, corpus_.commit.tokens, corpus_.commit.live_bytes};
}

}  // namespace rankfeed::corpus_builder
