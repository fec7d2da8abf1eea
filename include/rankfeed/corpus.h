/* SPDX-License-Identifier: MIT
 * rankfeed/corpus.h: documents tokenized before, found by their id.
 *
 * A store holds the token ids of a corpus, keyed by document id, for one vocabulary. It is one
 * little-endian, versioned, checksummed file whose bytes are used as they are: the input_ids of a
 * rankfeed_source found here point into the store, nothing is decoded or copied. Stores are made
 * and changed by rankfeed/corpus_writer.h or `rankfeed corpus`; docs/corpus-format.md describes the
 * file.
 *
 *   rankfeed_corpus_open_file                             once
 *   rankfeed_corpus_find(id) -> rankfeed_source           per document, any thread
 *   rankfeed_rerank_begin(documents = those sources, and raw texts among them)
 *
 * A corpus that outgrows one store lies in many, which rankfeed_corpus_set_open puts into one
 * rankfeed_corpus without merging them. rankfeed/corpus_manifest.h opens the stores that a file
 * names.
 *
 * rankfeed_corpus: immutable, share freely between threads. It is the store as of its opening: what
 * a writer commits later, in this or another process, is seen by opening again; what was open
 * before stays valid. Whatever the bytes of the store are, no function reads outside them. */
#ifndef RANKFEED_CORPUS_H_
#define RANKFEED_CORPUS_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/encode.h"
#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_corpus rankfeed_corpus;

enum {
  /* Skip the linear verify pass. For stores that this process or its deployment
   * has verified before; a damaged store then gives wrong ids, or IMAGE_STRUCTURE where it is
   * noticed, but nothing outside the store is read. Ids may be outside the vocabulary if the store
   * was made to deceive. */
  RANKFEED_CORPUS_TRUSTED = 1u,
  /* Map the file, in place of reading it to private memory (rankfeed_corpus_open_file). For stores
   * that are larger than memory or shared by many processes, and that only their writers change,
   * who append and rename. When others write to the file, what was verified no longer holds: ids
   * may be wrong, or outside the vocabulary; when it is cut off, the kernel answers with SIGBUS. No
   * function reads outside the store or goes on without end. SECURITY.md, "Files that change". */
  RANKFEED_CORPUS_MAP_FILE = 2u,
  /* Documents lie in the shard that rankfeed_corpus_shard_of names (rankfeed_corpus_set_open). */
  RANKFEED_CORPUS_BY_HASH = 4u
};

/* Stores of a set. */
enum { RANKFEED_CORPUS_MAX_SHARDS = 32768 };

typedef struct {
  uint32_t struct_size;
  uint32_t flags;        /* RANKFEED_CORPUS_TRUSTED, RANKFEED_CORPUS_MAP_FILE */
  uint32_t encode_flags; /* as in rankfeed_rerank_options: the store must be made with the same.
                          * Unknown bits here or in flags: ARGUMENT */
  /* The row template (rankfeed/template.h) that documents are for: the store must be made with one that
   * tokenizes the same with a document, or with none where that is nothing. Null: none. Programs compiled
   * before the field was there leave it out of struct_size, which is taken too. */
  const struct rankfeed_template* row_template;
} rankfeed_corpus_options;

/* Storage that open needs. Constant for one library version. O(1). */
RANKFEED_API rankfeed_mem_req rankfeed_corpus_mem_req(void);

/* Opens a store that lies in memory, 64-byte aligned, which must outlive the corpus. model: whose
 * vocabulary the store must be made by (E_VOCABULARY if it is not); null: any, and encode_flags is
 * not compared either. options may be null. On failure *out is null. There is no close.
 * When the store was being changed while its bytes were taken, the newest complete state within
 * size is opened.
 * Errors: ARGUMENT, STRUCT_SIZE, ALIGNMENT, WORKSPACE_SIZE, IMAGE_MAGIC, IMAGE_VERSION,
 * IMAGE_CHECKSUM, IMAGE_STRUCTURE, VOCABULARY, PLATFORM. O(size), or O(1) when trusted.
 * RANKFEED_CORPUS_MAP_FILE is refused (ARGUMENT): the memory is the caller's. */
RANKFEED_API rankfeed_status rankfeed_corpus_open(const void* data, size_t size,
                                                  const rankfeed_model* model,
                                                  const rankfeed_corpus_options* options,
                                                  void* storage, size_t storage_size,
                                                  rankfeed_corpus** out,
                                                  rankfeed_error_detail* detail);

/* Reads the file to private read-only memory, or maps it with RANKFEED_CORPUS_MAP_FILE, and opens
 * it; *mapping is to be released by rankfeed_image_unmap when no thread uses the corpus any more. A
 * writer may be at work on the file. On failure nothing is mapped. Errors: those of
 * rankfeed_corpus_open; IO (detail->item = errno); BUSY when the file grew faster than it could be
 * read. O(file), or O(1) when mapped and trusted. */
RANKFEED_API rankfeed_status rankfeed_corpus_open_file(
    const char* path, const rankfeed_model* model, const rankfeed_corpus_options* options,
    void* storage, size_t storage_size, rankfeed_mapping* mapping, rankfeed_corpus** out,
    rankfeed_error_detail* detail);

/* The linear pass that an open without RANKFEED_CORPUS_TRUSTED makes: every checksum, every
 * document's bounds and ids, and that every document is found by its id. Of a set: of each of its
 * stores. Errors: ARGUMENT, IMAGE_CHECKSUM, IMAGE_STRUCTURE (detail->byte_offset says where, and of
 * a set detail->item in which store). O(store). */
RANKFEED_API rankfeed_status rankfeed_corpus_verify(const rankfeed_corpus* corpus,
                                                    rankfeed_error_detail* detail);

typedef struct {
  uint32_t struct_size;
  uint32_t parity;   /* RANKFEED_PARITY_* */
  uint32_t id_count; /* of the vocabulary */
  uint32_t encode_flags;
  uint32_t has_offsets;  /* 1: sources carry offset_begin and offset_end, in bytes of the text */
  uint32_t index_levels; /* index blocks that a look-up may visit, newest first */
  uint64_t documents;
  uint64_t tokens;     /* of those documents */
  uint64_t positions;  /* for rankfeed_corpus_get: documents, and gaps where some were */
  uint64_t file_bytes; /* committed bytes */
  uint64_t dead_bytes; /* of them: replaced and removed documents; compacting frees these */
  uint64_t sequence;   /* grows with every commit */
  uint8_t config_hash[16];
  uint64_t template_hash; /* as in rankfeed_template_info. Programs compiled before the field was there
                           * leave it out of struct_size, which is taken too */
} rankfeed_corpus_info;

/* Fills *info (set struct_size first). Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_corpus_get_info(const rankfeed_corpus* corpus,
                                                      rankfeed_corpus_info* info);

/* The document of an id, any bytes. *out gets ids that point into the store, never null, and no
 * text. Errors, after which *out is zeroed: ARGUMENT, NOT_FOUND, IMAGE_STRUCTURE. O(1) for each of
 * info.index_levels. */
RANKFEED_API rankfeed_status rankfeed_corpus_find(const rankfeed_corpus* corpus, rankfeed_text id,
                                                  rankfeed_source* out);

/* The documents of one request. out[i] gets what rankfeed_corpus_find answers for ids[i], and
 * statuses[i] (nullable) its status; where ids[i] is empty, out[i] is left as it is, so that raw
 * texts stand among documents of the store. Memory accesses overlap: in a large store this is much
 * faster than one find after the other.
 * Errors: ARGUMENT; else the first status of a document that is not OK: the others are still looked
 * up. O(count * info.index_levels). */
RANKFEED_API rankfeed_status rankfeed_corpus_find_all(const rankfeed_corpus* corpus,
                                                      const rankfeed_text* ids, size_t count,
                                                      rankfeed_source* out,
                                                      rankfeed_status* statuses);

/* The document at a position below info.positions, in the order in which documents were last
 * written; positions of one opened corpus do not change. id and out may be null; *id points into
 * the store. Errors: ARGUMENT, NOT_FOUND (replaced or removed since), IMAGE_STRUCTURE.
 * O(info.index_levels). */
RANKFEED_API rankfeed_status rankfeed_corpus_get(const rankfeed_corpus* corpus, uint64_t position,
                                                 rankfeed_text* id, rankfeed_source* out);

/* Storage that a set of so many stores needs. O(1). */
RANKFEED_API rankfeed_mem_req rankfeed_corpus_set_mem_req(uint32_t shard_count);

/* Puts open stores into one corpus, to which every function above applies; 1 to
 * RANKFEED_CORPUS_MAX_SHARDS of them, none of which may be a set. The array is copied; the stores
 * must outlive the set. All must be made with one vocabulary and the same encode_flags.
 *
 * flags: with RANKFEED_CORPUS_BY_HASH a look-up goes to one store, which is as fast as without a
 * set. Without it the stores are searched in turn, the last first: of equal ids the later
 * store's document is found, and rankfeed_corpus_get answers NOT_FOUND at the others' positions.
 * RANKFEED_CORPUS_TRUSTED leaves out the pass over all documents' hashes that checks
 * RANKFEED_CORPUS_BY_HASH; a document in a wrong store is then not found.
 * Counts of rankfeed_corpus_get_info are sums over the stores (documents with equal ids are
 * counted in each); index_levels too, or the largest with RANKFEED_CORPUS_BY_HASH; has_offsets is 1
 * where all stores have offsets. On failure *out is null. There is no close.
 * Errors: ARGUMENT, ALIGNMENT, WORKSPACE_SIZE, VOCABULARY, IMAGE_STRUCTURE (a document in a wrong
 * store); detail->item is the store's index. O(documents), or O(shard_count) when trusted or not by
 * hash. */
RANKFEED_API rankfeed_status rankfeed_corpus_set_open(const rankfeed_corpus* const* shards,
                                                      uint32_t shard_count, uint32_t flags,
                                                      void* storage, size_t storage_size,
                                                      rankfeed_corpus** out,
                                                      rankfeed_error_detail* detail);

/* The index of the store that has the document of an id with RANKFEED_CORPUS_BY_HASH: XXH3-64 of
 * the id modulo shard_count. 0 where id.data is null or shard_count is 0. Any thread. O(id). */
RANKFEED_API uint32_t rankfeed_corpus_shard_of(rankfeed_text id, uint32_t shard_count);

RANKFEED_END_C

#endif /* RANKFEED_CORPUS_H_ */
