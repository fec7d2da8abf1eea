/* SPDX-License-Identifier: MIT
 * rankfeed/corpus_manifest.h: a corpus by its path, whether that is one store or the manifest of
 * many. Library rankfeed_builder: it allocates, and reads files.
 *
 * A manifest is a JSON file that names the stores (shards) of a corpus beside it, with their sizes,
 * counts and SHA-256; docs/corpus-format.md describes it. `rankfeed corpus manifest` and
 * rankfeed.ray.pretokenize of the Python package write one.
 *
 * All functions: any thread, no shared state. A rankfeed_loaded_corpus is immutable until it is
 * freed: share it freely between threads. error is nullable; set its struct_size before the call.
 */
#ifndef RANKFEED_CORPUS_MANIFEST_H_
#define RANKFEED_CORPUS_MANIFEST_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/builder.h"
#include "rankfeed/corpus.h"
#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

/* A corpus and everything it owns. */
typedef struct rankfeed_loaded_corpus rankfeed_loaded_corpus;

/* Opens the store at path, or all shards of the manifest at path as one set; model and options are
 * as of rankfeed_corpus_open_file, for each shard. A manifest is at most 16 MiB; the shards lie in
 * its folder or below: an absolute name, or one with "..", is refused. Of each shard the size of
 * the file, the documents, the tokens and the vocabulary are compared with the manifest, so that a
 * shard changed since is refused; its SHA-256 is not (`rankfeed corpus verify` does that).
 * On failure *out is null.
 * Errors: those of rankfeed_corpus_open_file and rankfeed_corpus_set_open; PARSE (not a manifest),
 * LIMIT, NO_MEMORY. O(files), or O(manifest) when mapped and trusted. */
RANKFEED_API rankfeed_status rankfeed_corpus_load(const char* path, const rankfeed_model* model,
                                                  const rankfeed_corpus_options* options,
                                                  rankfeed_loaded_corpus** out,
                                                  rankfeed_builder_error* error);
/* The corpus, valid until rankfeed_loaded_corpus_free. Null gives null. O(1). */
RANKFEED_API const rankfeed_corpus* rankfeed_loaded_corpus_get(
    const rankfeed_loaded_corpus* loaded);
/* No thread may use the corpus any more. Null is a no-op. O(shards). */
RANKFEED_API void rankfeed_loaded_corpus_free(rankfeed_loaded_corpus* loaded);

/* A shard as the manifest names it. Texts are NUL-terminated and belong to the loaded corpus. */
typedef struct {
  uint32_t struct_size;
  uint32_t by_hash; /* 1: documents lie in the shard that rankfeed_corpus_shard_of names */
  uint64_t bytes, documents, tokens;
  const char* path;    /* to open the file with: the manifest's folder and the shard's name */
  const char* sha256;  /* of the file: 64 lower-case hexadecimal digits */
  const char* content; /* hash of what the shard was made from; "" where none is given */
} rankfeed_corpus_shard;

/* How many shards the manifest names; 0: the corpus is one store. Null gives 0. O(1). */
RANKFEED_API uint32_t rankfeed_loaded_corpus_shard_count(const rankfeed_loaded_corpus* loaded);
/* Fills *out (set struct_size first). Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_loaded_corpus_shard(const rankfeed_loaded_corpus* loaded,
                                                          uint32_t index,
                                                          rankfeed_corpus_shard* out);

RANKFEED_END_C

#endif /* RANKFEED_CORPUS_MANIFEST_H_ */
