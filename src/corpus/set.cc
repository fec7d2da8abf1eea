// SPDX-License-Identifier: MIT
// corpus/set.cc: see set.h.
#include "corpus/set.h"

#include <algorithm>
#include <cstring>

#include "base/error_detail.h"

namespace rankfeed::corpus {
namespace {

bool SameTokens(const Header& a, const Header& b) {
  return a.parity == b.parity && a.id_count == b.id_count && a.encode_flags == b.encode_flags &&
         a.template_hash == b.template_hash &&
         std::memcmp(a.config_hash, b.config_hash, sizeof(a.config_hash)) == 0;
}

}  // namespace

rankfeed_status BindSet(const rankfeed_corpus* const* shards, uint32_t shard_count, bool by_hash,
                        void* memory, rankfeed_corpus* out, rankfeed_error_detail* detail) {
  auto* const own = static_cast<const rankfeed_corpus**>(memory);
  auto* const ends = reinterpret_cast<uint64_t*>(own + shard_count);
  out->header = shards[0]->header;
  out->has_offsets = true;
  for (uint32_t i = 0; i < shard_count; ++i) {
    if (!SameTokens(shards[i]->header, out->header)) {
      return Fail(detail, RANKFEED_E_VOCABULARY, 0, 0, i);
    }
    out->has_offsets = out->has_offsets && shards[i]->has_offsets;
    out->positions += shards[i]->positions;
    own[i] = shards[i];
    ends[i] = out->positions;
  }
  out->shards = own;
  out->ends = ends;
  out->shard_count = shard_count;
  out->by_hash = by_hash;
  return RANKFEED_OK;
}

rankfeed_status CheckRoutes(const rankfeed_corpus& set, rankfeed_error_detail* detail) {
  for (uint32_t i = 0; set.by_hash && i < set.shard_count; ++i) {
    const Corpus& store = *set.shards[i];
    for (uint32_t l = 0; l < store.commit.level_count; ++l) {
      const Level& level = store.commit.levels[l];
      const Entry* const entries = Entries(store, level);
      for (uint32_t e = 0; e < level.count; ++e) {
        if (ShardOf(entries[e].hash, set.shard_count) != i) {
          return Fail(detail, RANKFEED_E_IMAGE_STRUCTURE, entries[e].offset, 0, i);
        }
      }
    }
  }
  return RANKFEED_OK;
}

rankfeed_status FindInShards(const rankfeed_corpus& set, std::string_view id, uint64_t hash,
                             Document* out, uint32_t first_shard) {
  for (uint32_t i = set.shard_count; i > first_shard; --i) {
    const rankfeed_status status = Find(*set.shards[i - 1], id, hash, out);
    if (status != RANKFEED_E_NOT_FOUND) return status;
  }
  return RANKFEED_E_NOT_FOUND;
}

rankfeed_status GetInSet(const rankfeed_corpus& set, uint64_t position, Document* out) {
  const uint64_t* const end = std::upper_bound(set.ends, set.ends + set.shard_count, position);
  const auto shard = static_cast<uint32_t>(end - set.ends);
  if (shard == set.shard_count) return RANKFEED_E_NOT_FOUND;
  const uint64_t first = shard == 0 ? 0 : set.ends[shard - 1];
  if (const rankfeed_status status = Get(*set.shards[shard], position - first, out)) return status;
  if (set.by_hash) return RANKFEED_OK;
  Document later;
  const rankfeed_status status = FindInShards(set, out->id, HashId(out->id), &later, shard + 1);
  if (status == RANKFEED_E_NOT_FOUND) return RANKFEED_OK;
  return status == RANKFEED_OK ? RANKFEED_E_NOT_FOUND : status;
}

}  // namespace rankfeed::corpus
