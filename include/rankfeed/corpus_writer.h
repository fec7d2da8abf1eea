/* SPDX-License-Identifier: MIT
 * rankfeed/corpus_writer.h: making and changing the stores of rankfeed/corpus.h. Library
 * rankfeed_builder: it allocates, and writes files.
 *
 * A store changes by commits. A commit happens wholly or not at all: whatever ends the process or
 * the machine, the next open finds the state of the last commit that returned OK, or of the one
 * that was under way. Readers are never disturbed, whether they opened before or open during it.
 *
 * rankfeed_corpus_writer: one thread at a time. One writer per file, enforced by a lock of the
 * operating system (E_BUSY). */
#ifndef RANKFEED_CORPUS_WRITER_H_
#define RANKFEED_CORPUS_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/builder.h"
#include "rankfeed/corpus.h"
#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_corpus_writer rankfeed_corpus_writer;

/* CREATE: a new, empty store, written to `path.tmp` and renamed to path by the first commit; until
 * then a file that was there stays. Only a regular file is replaced (IO). APPEND: the existing
 * store, whatever is committed in it. */
enum { RANKFEED_CORPUS_CREATE = 0, RANKFEED_CORPUS_APPEND = 1 };

typedef struct {
  uint32_t struct_size;
  uint32_t mode;         /* RANKFEED_CORPUS_CREATE, RANKFEED_CORPUS_APPEND */
  uint32_t encode_flags; /* RANKFEED_SPECIALS_*, RANKFEED_SPLIT_SPECIAL_TOKENS: how texts are
                          * tokenized; when appending, those of the store */
  uint32_t
      with_offsets; /* CREATE: store offset_begin and offset_end too, 12 bytes a token, not 4 */
  /* The row template (rankfeed/template.h) whose document parts are stored, when appending that of the
   * store; null: documents alone. Texts that are put are tokenized with what the template has beside
   * them; ids are to be made of such texts. It must outlive the writer. UNSUPPORTED: one that joins the query
   * to a document. Programs compiled before the field was there leave it out of struct_size. */
  const struct rankfeed_template* row_template;
} rankfeed_corpus_writer_options;

/* Opens path for writing. model must outlive the writer; null only when appending, then only ids
 * can be put. options may be null: CREATE. An existing store is not verified document by document.
 * Errors: ARGUMENT, STRUCT_SIZE, BUSY, IO, NO_MEMORY, and those of rankfeed_corpus_open. error is
 * nullable here and below. O(index levels of the store). */
RANKFEED_API rankfeed_status rankfeed_corpus_writer_open(
    const char* path, const rankfeed_model* model, const rankfeed_corpus_writer_options* options,
    rankfeed_corpus_writer** out, rankfeed_builder_error* error);

/* Adds a document, or replaces the one of that id. source: ids without special tokens (with offsets
 * if the store has them), or text, which is tokenized here. id: 1 to 65,535 bytes.
 * Errors: ARGUMENT, ID_RANGE, LIMIT, NO_MEMORY, what rankfeed_encode answers for the text: the
 * document is not added, the writer goes on; IO: only close is allowed after it (others E_STATE).
 * O(source), amortized; id and source are borrowed for the call. */
RANKFEED_API rankfeed_status rankfeed_corpus_writer_put(rankfeed_corpus_writer* writer,
                                                        rankfeed_text id,
                                                        const rankfeed_source* source,
                                                        rankfeed_builder_error* error);

/* Removes a document. Errors: ARGUMENT, NOT_FOUND, NO_MEMORY; IO and STATE as for put. O(1) for
 * each of the store's index levels. */
RANKFEED_API rankfeed_status rankfeed_corpus_writer_remove(rankfeed_corpus_writer* writer,
                                                           rankfeed_text id,
                                                           rankfeed_builder_error* error);

/* Makes everything since the last commit part of the store, durably: returns when it is on disk.
 * Costs O(what changed) and, now and then, a rewrite of the index (28 bytes per document; each
 * document's share is rewritten O(log n) times in all), never of documents.
 * Errors: ARGUMENT, STATE; LIMIT (ids made to collide), NO_MEMORY: may be tried again; IO: only
 * close. */
RANKFEED_API rankfeed_status rankfeed_corpus_writer_commit(rankfeed_corpus_writer* writer,
                                                           rankfeed_builder_error* error);

/* Ends the writer. What was not committed is dropped. Null is a no-op. O(what is dropped). */
RANKFEED_API void rankfeed_corpus_writer_close(rankfeed_corpus_writer* writer);

/* Rewrites a store without its dead bytes and with one index, in the order of
 * rankfeed_corpus_get; replaced by rename, so readers keep the old file. Every document's checksum
 * is checked on the way. Any thread. Errors: ARGUMENT, BUSY (it has a writer), IO, NO_MEMORY,
 * LIMIT, and those of rankfeed_corpus_open. O(live bytes). */
RANKFEED_API rankfeed_status rankfeed_corpus_compact(const char* path,
                                                     rankfeed_builder_error* error);

/* Writes the documents of several stores to a new one at path; of equal ids the one of the later
 * store wins. All must have one vocabulary, one encode_flags, and all or none offsets (VOCABULARY).
 * Any thread. Errors: VOCABULARY, and those of rankfeed_corpus_compact. O(live bytes). */
RANKFEED_API rankfeed_status rankfeed_corpus_merge(const char* const* sources, size_t source_count,
                                                   const char* path, rankfeed_builder_error* error);

RANKFEED_END_C

#endif /* RANKFEED_CORPUS_WRITER_H_ */
