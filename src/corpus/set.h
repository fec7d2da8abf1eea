// SPDX-License-Identifier: MIT
// corpus/set.h: look-ups in a set of stores, as in one. A set is an array of open stores: by hash,
// a document lies in the store that its id's hash names; else any store may have it, the last first.
#pragma once

#include "corpus/reader.h"

namespace rankfeed::corpus {

// All bits of the hash decide, so that within a shard first slots stay spread: those are chosen by
// the high half.
inline uint32_t ShardOf(uint64_t hash, uint32_t shard_count) {
  return static_cast<uint32_t>(hash % shard_count);
}

// The only store that may have the document; null when any of them may.
inline const Corpus* StoreOf(const rankfeed_corpus& corpus, uint64_t hash) {
  if (corpus.shard_count == 0) return &corpus;
  return corpus.by_hash ? corpus.shards[ShardOf(hash, corpus.shard_count)] : nullptr;
}

// memory: for shard_count pointers and as many uint64_t. Errors: VOCABULARY (detail->item: the
// shard that differs from the first).
rankfeed_status BindSet(const rankfeed_corpus* const* shards, uint32_t shard_count, bool by_hash,
                        void* memory, rankfeed_corpus* out, rankfeed_error_detail* detail);

// Checks that each document lies in its hash's shard. Errors: IMAGE_STRUCTURE (detail->item:
// the shard it lies in). O(documents).
rankfeed_status CheckRoutes(const rankfeed_corpus& set, rankfeed_error_detail* detail);

// Find and Get, in a set. FindInShards asks every store, from the last to first_shard.
rankfeed_status FindInShards(const rankfeed_corpus& set, std::string_view id, uint64_t hash,
                             Document* out, uint32_t first_shard = 0);
rankfeed_status GetInSet(const rankfeed_corpus& set, uint64_t position, Document* out);

}  // namespace rankfeed::corpus
