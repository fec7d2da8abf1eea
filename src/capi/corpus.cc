// SPDX-License-Identifier: MIT
// capi/corpus.cc: argument checks and C linkage over corpus/.
#include "rankfeed/corpus.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/error_detail.h"
#include "base/layout.h"
#include "corpus/reader.h"
#include "corpus/set.h"
#include "image/model.h"
#include "platform/map_file.h"
#include "rerank/templates/row_template.h"

using rankfeed::Fail;
using rankfeed::corpus::Corpus;
using rankfeed::corpus::Document;

namespace {

// Remapping after a commit that came between mapping and reading takes microseconds, a commit
// milliseconds; this many in a row do not happen.
constexpr int kMapAttempts = 64;
// Ids looked up together: enough to cover the latency of memory by the work on the others (20 or
// so cache misses can be under way at once), and hashes that stay in the first-level cache.
constexpr size_t kGroup = 32;

bool IsOpen(const rankfeed_corpus* corpus) {
  return corpus != nullptr && corpus->magic == rankfeed::corpus::kCorpusMagic;
}

rankfeed_source Source(const Document& document) {
  rankfeed_source source{};
  source.ids = document.input_ids;
  source.offset_begin = document.offset_begin;
  source.offset_end = document.offset_end;
  source.id_count = document.token_count;
  return source;
}

// The sizes of programs compiled before the last field of each was there.
constexpr size_t kOptionsWithoutTemplate =
    offsetof(rankfeed_corpus_options, encode_flags) + sizeof(rankfeed_corpus_options::encode_flags);
constexpr size_t kInfoWithoutTemplate = offsetof(rankfeed_corpus_info, template_hash);

const rankfeed_template* TemplateOf(const rankfeed_corpus_options* options) {
  return options != nullptr && options->struct_size == sizeof(*options) ? options->row_template : nullptr;
}

bool SameVocabulary(const Corpus& corpus, const rankfeed_model& model, uint32_t encode_flags) {
  const rankfeed::corpus::Header& header = corpus.header;
  return header.parity == model.config->parity && header.id_count == model.config->id_count &&
         header.encode_flags == encode_flags &&
         std::memcmp(header.config_hash, model.header->config_hash, sizeof(header.config_hash)) ==
             0;
}

// flags: those that mean something to the caller.
rankfeed_status CheckOpenArguments(const rankfeed_model* model,
                                   const rankfeed_corpus_options* options, uint32_t flags,
                                   const void* storage, size_t storage_size) {
  if (storage == nullptr || (model != nullptr && model->magic != rankfeed::kModelMagic)) {
    return RANKFEED_E_ARGUMENT;
  }
  if (options != nullptr) {
    if (options->struct_size != sizeof(*options) && options->struct_size != kOptionsWithoutTemplate) {
      return RANKFEED_E_STRUCT_SIZE;
    }
    if (const rankfeed_template* const row = TemplateOf(options);
        row != nullptr && row->magic != rankfeed::templates::kTemplateMagic) {
      return RANKFEED_E_ARGUMENT;
    }
    constexpr uint32_t kEncodeFlags =
        RANKFEED_SPLIT_SPECIAL_TOKENS | RANKFEED_ERROR_ON_SPECIAL | RANKFEED_ESCAPE_SPECIAL;
    if ((options->flags & ~flags) != 0 || (options->encode_flags & ~kEncodeFlags) != 0) {
      return RANKFEED_E_ARGUMENT;
    }
  }
  if (reinterpret_cast<uintptr_t>(storage) % rankfeed::Layout::kAlignment != 0) {
    return RANKFEED_E_ALIGNMENT;
  }
  return storage_size < sizeof(rankfeed_corpus) ? RANKFEED_E_WORKSPACE_SIZE : RANKFEED_OK;
}

// After the arguments were checked. corpus lies in the storage.
rankfeed_status Open(const void* data, size_t size, const rankfeed_model* model,
                     const rankfeed_corpus_options* options, rankfeed_corpus* corpus,
                     bool* in_motion, rankfeed_error_detail* detail) {
  if (const rankfeed_status status =
          rankfeed::corpus::Bind(data, size, corpus, in_motion, detail)) {
    return status;
  }
  const uint32_t encode_flags = options != nullptr ? options->encode_flags : 0;
  const rankfeed_template* const row = TemplateOf(options);
  if (model != nullptr && (!SameVocabulary(*corpus, *model, encode_flags) ||
                           corpus->header.template_hash != (row != nullptr ? row->info.hash : 0))) {
    return Fail(detail, RANKFEED_E_VOCABULARY);
  }
  if (options == nullptr || (options->flags & RANKFEED_CORPUS_TRUSTED) == 0) {
    if (const rankfeed_status status = rankfeed::corpus::Verify(*corpus, detail)) return status;
  }
  corpus->magic = rankfeed::corpus::kCorpusMagic;
  return RANKFEED_OK;
}

// Adds what one store counts.
void AddCounts(const Corpus& corpus, rankfeed_corpus_info* info) {
  const rankfeed::corpus::Commit& commit = corpus.commit;
  info->index_levels += commit.level_count;
  info->documents += commit.documents;
  info->tokens += commit.tokens;
  info->file_bytes += commit.file_size;
  // Bind has checked that all this fits into file_size; live_bytes of a trusted store nobody has.
  uint64_t records = commit.file_size - rankfeed::corpus::kDataOffset;
  for (uint32_t i = 0; i < commit.level_count; ++i) {
    records -= rankfeed::corpus::LevelBytes(commit.levels[i].count);
  }
  info->dead_bytes += records - std::min(commit.live_bytes, records);
  // The other sums are bounded by the sizes of files; a sequence is what the file says.
  if (__builtin_add_overflow(info->sequence, commit.sequence, &info->sequence)) {
    info->sequence = UINT64_MAX;
  }
}

rankfeed_status FindOne(const rankfeed_corpus& corpus, rankfeed_text id, uint64_t hash,
                        uint64_t candidate, rankfeed_source* out) {
  Document document;
  const std::string_view name(id.data, id.size);
  const Corpus* const store = rankfeed::corpus::StoreOf(corpus, hash);
  const rankfeed_status status =
      store != nullptr ? rankfeed::corpus::FindFrom(*store, candidate, name, hash, &document)
                       : rankfeed::corpus::FindInShards(corpus, name, hash, &document);
  *out = status == RANKFEED_OK ? Source(document) : rankfeed_source{};
  return status;
}

}  // namespace

rankfeed_mem_req rankfeed_corpus_mem_req(void) {
  return {sizeof(rankfeed_corpus), rankfeed::Layout::kAlignment};
}

rankfeed_status rankfeed_corpus_open(const void* data, size_t size, const rankfeed_model* model,
                                     const rankfeed_corpus_options* options, void* storage,
                                     size_t storage_size, rankfeed_corpus** out,
                                     rankfeed_error_detail* detail) {
  if (out == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  *out = nullptr;
  if (const rankfeed_status status =
          CheckOpenArguments(model, options, RANKFEED_CORPUS_TRUSTED, storage, storage_size)) {
    return Fail(detail, status);
  }
  auto* corpus = new (storage) rankfeed_corpus();
  if (const rankfeed_status status = Open(data, size, model, options, corpus, nullptr, detail)) {
    return status;
  }
  *out = corpus;
  return RANKFEED_OK;
}

rankfeed_status rankfeed_corpus_open_file(const char* path, const rankfeed_model* model,
                                          const rankfeed_corpus_options* options, void* storage,
                                          size_t storage_size, rankfeed_mapping* mapping,
                                          rankfeed_corpus** out, rankfeed_error_detail* detail) {
  if (out != nullptr) *out = nullptr;
  if (mapping != nullptr) *mapping = {};
  if (path == nullptr || mapping == nullptr || out == nullptr) {
    return Fail(detail, RANKFEED_E_ARGUMENT);
  }
  constexpr uint32_t kFlags = RANKFEED_CORPUS_TRUSTED | RANKFEED_CORPUS_MAP_FILE;
  if (const rankfeed_status status =
          CheckOpenArguments(model, options, kFlags, storage, storage_size)) {
    return Fail(detail, status);
  }
  auto* corpus = new (storage) rankfeed_corpus();
  const bool map_file = options != nullptr && (options->flags & RANKFEED_CORPUS_MAP_FILE) != 0;
  const auto map = map_file ? rankfeed_image_map_file : rankfeed_image_map;
  size_t last_size = 0;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    if (const rankfeed_status status = map(path, mapping, detail)) return status;
    bool in_motion = false;
    const rankfeed_status status =
        Open(mapping->data, mapping->size, model, options, corpus, &in_motion, detail);
    if (status == RANKFEED_OK) {
      *out = corpus;
      return RANKFEED_OK;
    }
    const size_t size = mapping->size;
    rankfeed_image_unmap(mapping);
    // The same again and not growing: damaged or cut off by someone, not in the making.
    if (!in_motion || size == last_size) return status;
    last_size = size;
  }
  return Fail(detail, RANKFEED_E_BUSY);
}

rankfeed_status rankfeed_corpus_verify(const rankfeed_corpus* corpus,
                                       rankfeed_error_detail* detail) {
  if (!IsOpen(corpus)) return Fail(detail, RANKFEED_E_ARGUMENT);
  if (corpus->shard_count == 0) return rankfeed::corpus::Verify(*corpus, detail);
  for (uint32_t i = 0; i < corpus->shard_count; ++i) {
    if (const rankfeed_status status = rankfeed::corpus::Verify(*corpus->shards[i], detail)) {
      if (detail != nullptr) detail->item = i;
      return status;
    }
  }
  return rankfeed::corpus::CheckRoutes(*corpus, detail);
}

rankfeed_status rankfeed_corpus_get_info(const rankfeed_corpus* corpus,
                                         rankfeed_corpus_info* given) {
  if (!IsOpen(corpus) || given == nullptr) return RANKFEED_E_ARGUMENT;
  if (given->struct_size != sizeof(*given) && given->struct_size != kInfoWithoutTemplate) {
    return RANKFEED_E_STRUCT_SIZE;
  }
  rankfeed_corpus_info facts = {};
  rankfeed_corpus_info* const info = &facts;
  info->struct_size = given->struct_size;
  info->template_hash = corpus->header.template_hash;
  info->parity = corpus->header.parity;
  info->id_count = corpus->header.id_count;
  info->encode_flags = corpus->header.encode_flags;
  info->has_offsets = corpus->has_offsets;
  info->positions = corpus->positions;
  std::memcpy(info->config_hash, corpus->header.config_hash, sizeof(info->config_hash));
  if (corpus->shard_count == 0) AddCounts(*corpus, info);
  for (uint32_t i = 0; i < corpus->shard_count; ++i) {
    const uint32_t levels = info->index_levels;
    AddCounts(*corpus->shards[i], info);
    if (corpus->by_hash) info->index_levels = std::max(levels, info->index_levels - levels);
  }
  std::memcpy(given, info, given->struct_size);
  return RANKFEED_OK;
}

rankfeed_status rankfeed_corpus_find(const rankfeed_corpus* corpus, rankfeed_text id,
                                     rankfeed_source* out) {
  if (out == nullptr) return RANKFEED_E_ARGUMENT;
  if (!IsOpen(corpus) || (id.data == nullptr && id.size != 0)) {
    *out = {};
    return RANKFEED_E_ARGUMENT;
  }
  return FindOne(*corpus, id, rankfeed::corpus::HashId({id.data, id.size}), 0, out);
}

rankfeed_status rankfeed_corpus_find_all(const rankfeed_corpus* corpus, const rankfeed_text* ids,
                                         size_t count, rankfeed_source* out,
                                         rankfeed_status* statuses) {
  if (!IsOpen(corpus) || (count != 0 && (ids == nullptr || out == nullptr))) {
    return RANKFEED_E_ARGUMENT;
  }
  rankfeed_status first = RANKFEED_OK;
  uint64_t hashes[kGroup], candidates[kGroup];
  for (size_t from = 0; from < count; from += kGroup) {
    const size_t n = std::min(kGroup, count - from);
    const rankfeed_text* const id = ids + from;
    for (size_t i = 0; i < n; ++i) {
      if (id[i].size == 0 || id[i].data == nullptr) continue;
      hashes[i] = rankfeed::corpus::HashId({id[i].data, id[i].size});
      const Corpus* const store = rankfeed::corpus::StoreOf(*corpus, hashes[i]);
      if (store != nullptr) rankfeed::corpus::PrefetchSlots(*store, hashes[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      if (id[i].size == 0 || id[i].data == nullptr) continue;
      const Corpus* const store = rankfeed::corpus::StoreOf(*corpus, hashes[i]);
      candidates[i] = store != nullptr ? rankfeed::corpus::PrefetchCandidate(*store, hashes[i]) : 0;
    }
    for (size_t i = 0; i < n; ++i) {
      rankfeed_status status = RANKFEED_OK;
      if (id[i].size != 0 && id[i].data == nullptr) {
        status = RANKFEED_E_ARGUMENT;
        out[from + i] = {};
      } else if (id[i].size != 0) {
        status = FindOne(*corpus, id[i], hashes[i], candidates[i], &out[from + i]);
      }
      if (statuses != nullptr) statuses[from + i] = status;
      if (first == RANKFEED_OK) first = status;
    }
  }
  return first;
}

rankfeed_status rankfeed_corpus_get(const rankfeed_corpus* corpus, uint64_t position,
                                    rankfeed_text* id, rankfeed_source* out) {
  if (id != nullptr) *id = {};
  if (out != nullptr) *out = {};
  if (!IsOpen(corpus) || position >= corpus->positions) return RANKFEED_E_ARGUMENT;
  Document document;
  const rankfeed_status status = corpus->shard_count == 0
                                     ? rankfeed::corpus::Get(*corpus, position, &document)
                                     : rankfeed::corpus::GetInSet(*corpus, position, &document);
  if (status != RANKFEED_OK) {
    return status;
  }
  if (id != nullptr) *id = {document.id.data(), document.id.size()};
  if (out != nullptr) *out = Source(document);
  return RANKFEED_OK;
}

rankfeed_mem_req rankfeed_corpus_set_mem_req(uint32_t shard_count) {
  const uint32_t shards = std::min<uint32_t>(shard_count, RANKFEED_CORPUS_MAX_SHARDS);
  return {sizeof(rankfeed_corpus) + shards * (sizeof(rankfeed_corpus*) + sizeof(uint64_t)),
          rankfeed::Layout::kAlignment};
}

rankfeed_status rankfeed_corpus_set_open(const rankfeed_corpus* const* shards, uint32_t shard_count,
                                         uint32_t flags, void* storage, size_t storage_size,
                                         rankfeed_corpus** out, rankfeed_error_detail* detail) {
  if (out == nullptr) return Fail(detail, RANKFEED_E_ARGUMENT);
  *out = nullptr;
  constexpr uint32_t kFlags = RANKFEED_CORPUS_TRUSTED | RANKFEED_CORPUS_BY_HASH;
  if (shards == nullptr || storage == nullptr || shard_count == 0 ||
      shard_count > RANKFEED_CORPUS_MAX_SHARDS || (flags & ~kFlags) != 0) {
    return Fail(detail, RANKFEED_E_ARGUMENT);
  }
  for (uint32_t i = 0; i < shard_count; ++i) {
    if (!IsOpen(shards[i]) || shards[i]->shard_count != 0) {
      return Fail(detail, RANKFEED_E_ARGUMENT, 0, 0, i);
    }
  }
  if (reinterpret_cast<uintptr_t>(storage) % rankfeed::Layout::kAlignment != 0) {
    return Fail(detail, RANKFEED_E_ALIGNMENT);
  }
  if (storage_size < rankfeed_corpus_set_mem_req(shard_count).size) {
    return Fail(detail, RANKFEED_E_WORKSPACE_SIZE);
  }
  auto* set = new (storage) rankfeed_corpus();
  const bool by_hash = (flags & RANKFEED_CORPUS_BY_HASH) != 0;
  if (const rankfeed_status status =
          rankfeed::corpus::BindSet(shards, shard_count, by_hash, set + 1, set, detail)) {
    return status;
  }
  if ((flags & RANKFEED_CORPUS_TRUSTED) == 0) {
    if (const rankfeed_status status = rankfeed::corpus::CheckRoutes(*set, detail)) return status;
  }
  set->magic = rankfeed::corpus::kCorpusMagic;
  *out = set;
  return RANKFEED_OK;
}

uint32_t rankfeed_corpus_shard_of(rankfeed_text id, uint32_t shard_count) {
  if (id.data == nullptr || shard_count == 0) return 0;
  return rankfeed::corpus::ShardOf(rankfeed::corpus::HashId({id.data, id.size}), shard_count);
}
