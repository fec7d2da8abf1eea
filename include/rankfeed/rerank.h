/* SPDX-License-Identifier: MIT
 * rankfeed/rerank.h: one query against n documents, as batches of tensors that a reranker reads.
 *
 *   query, documents --tokenize once--> ids --cut into rows--> rows --sort, group--> batches
 *
 * A row is `prefix | query | middle | document | suffix`; where those come from is the template's
 * business (the model file's pair template, or one of the caller). max_length counts everything in
 * a row, special tokens included: query and document share max_length minus the template's tokens.
 * A limit that does not bind changes no id.
 *
 * A document becomes one row, or several when windows are asked for and it is too long for one. A
 * document with an error becomes no row: its status says why, and the batch is good without it.
 *
 * Nothing here allocates or locks. A reranker lives in the caller's scratch, batches are written
 * into one arena of the caller each (page-locked memory, if it likes), and one copy of
 * [arena, arena + arena_size) moves all tensors of a batch.
 *
 *   rankfeed_reranker_mem_req, rankfeed_reranker_init     once
 *   rankfeed_rerank_begin(query, documents)               per request
 *     while rankfeed_rerank_next(&batch), batch.rows > 0  fill a slot, submit it, fill the next
 *       rankfeed_rerank_put_scores(&batch, logits)        in any order
 *   rankfeed_rerank_rank                                  documents, best first
 *
 * Results do not depend on the number of threads, on scratch or arena size, or on what either held
 * before.
 *
 * Threads: a reranker serves one thread at a time; functions without one may be called from any
 * thread. Lengths and positions count tokens, sizes count bytes, shapes count elements. */
#ifndef RANKFEED_RERANK_H_
#define RANKFEED_RERANK_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/encode.h"
#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

/* A query or document: text to tokenize, or ids without special tokens made before (a corpus
 * store). ids, when not null, are used and text is ignored; they are read, not copied, until the
 * last batch of the request is filled, and are not checked against the vocabulary. offset_begin
 * and offset_end (nullable, one per id) only serve the byte ranges of rows. Zeroed: empty text. */
typedef struct {
  rankfeed_text text;
  const int32_t* ids;
  const uint32_t *offset_begin, *offset_end;
  uint32_t id_count;
} rankfeed_source;

/* How a row longer than max_length is cut. n(query), n(document): their tokens.
 * LONGEST_FIRST: HuggingFace tokenizers, all versions but 0.23.1 and 0.23.2: the longer side is cut
 *   first, then both to half; an odd token goes to the longer side, to the document on a tie.
 * LONGEST_FIRST_SLOW: transformers' Python tokenizers: the odd token always goes to the query.
 * ONLY_FIRST, ONLY_SECOND: the query, or the document, alone. At least one of its tokens must
 *   remain, else the document's status is E_TRUNCATION, as HuggingFace answers with an error.
 * TEXT_END: the document's end and, where the query does not fit either, the query's, as if they were
 *   one text; with truncation_side left still the begin of each that is cut.
 * NONE: nothing is cut; E_TOO_LONG for that document only.
 * With max_length equal to the template's tokens, every strategy but NONE leaves only those. */
enum {
  RANKFEED_TRUNCATE_NONE = 0,
  RANKFEED_TRUNCATE_LONGEST_FIRST = 1,
  RANKFEED_TRUNCATE_LONGEST_FIRST_SLOW = 2,
  RANKFEED_TRUNCATE_ONLY_FIRST = 3,
  RANKFEED_TRUNCATE_ONLY_SECOND = 4,
  RANKFEED_TRUNCATE_TEXT_END = 5
};

enum { RANKFEED_RIGHT = 0, RANKFEED_LEFT = 1 };
/* For padding_side: the side the model's family pads on. */
enum { RANKFEED_SIDE_OF_MODEL = 2 };

/* Fate of the part of a document that does not fit. Windows need a truncation that cuts the
 * document alone: ONLY_SECOND or TEXT_END, or, with the single template, ONLY_FIRST or LONGEST_FIRST.
 * WINDOWS_SHORT_LAST (HuggingFace return_overflowing_tokens): windows of the document overlap by
 *   stride tokens, the last one is as short as it falls; with truncation_side left they are counted
 *   from the end. A document that needs windows although stride leaves no step: E_TRUNCATION.
 * WINDOWS_ALIGNED_LAST (Jina reranker v2): the last window is moved back to full length, and the
 *   overlap is min(stride, window / 4).
 * Every window carries the template's token types; HuggingFace's overflowing encodings keep 1 for
 * the second sequence whatever the template says. */
enum {
  RANKFEED_OVERFLOW_DROP = 0,
  RANKFEED_OVERFLOW_WINDOWS_SHORT_LAST = 1,
  RANKFEED_OVERFLOW_WINDOWS_ALIGNED_LAST = 2
};

/* PAIR: the model's pair template. SINGLE: the model's single template around each document, the
 * query is ignored (longest_first and only_first then cut the document). CUSTOM: pair_template. */
enum { RANKFEED_TEMPLATE_PAIR = 0, RANKFEED_TEMPLATE_SINGLE = 1, RANKFEED_TEMPLATE_CUSTOM = 2 };

/* A fixed part of a row: ids, or text that is tokenized on its own, once, when the reranker is
 * made; special tokens written in the text become their ids where the model's parity has them do
 * so. Zeroed: empty. Not needed any more after init. */
typedef struct {
  rankfeed_text text; /* used when ids is null */
  const int32_t* ids;
  uint32_t id_count;
  uint32_t type_id;
} rankfeed_template_part;

/* prefix | query | middle | document | suffix. Of row_template (rankfeed/template.h, which fills in all
 * of this) come the texts that are tokenized together with query and document; null: none. Programs
 * compiled before that field was there leave it out of struct_size, which is taken too. */
typedef struct {
  uint32_t struct_size;
  uint32_t query_type_id, document_type_id;
  rankfeed_template_part prefix, middle, suffix;
  const struct rankfeed_template* row_template; /* outlives the reranker */
} rankfeed_pair_template;

/* PADDED: [rows, row_length], every row padded. PACKED: [tokens], rows one after the other, with
 * cu_seqlens; no pad tokens. */
enum { RANKFEED_PADDED = 0, RANKFEED_PACKED = 1 };

/* Element types of tensors. INT32 is the default of zeroed options. */
enum { RANKFEED_INT32 = 0, RANKFEED_INT64 = 1, RANKFEED_UINT32 = 2 };

/* Tensors besides input_ids and, packed, cu_seqlens. The first three have the type of input_ids,
 * the others are int32. */
enum {
  RANKFEED_TENSOR_ATTENTION_MASK = 1u, /* padded only */
  RANKFEED_TENSOR_TOKEN_TYPE_IDS = 2u,
  RANKFEED_TENSOR_POSITION_IDS = 4u,   /* restart in every row at the model's position_offset */
  RANKFEED_TENSOR_LENGTHS = 8u,        /* tokens of each row */
  RANKFEED_TENSOR_ROW_OF_TOKEN = 16u,  /* packed only */
  RANKFEED_TENSOR_LAST_TOKENS = 32u    /* where each row's last token is: padded in the row, packed in
                                          input_ids */
};

/* Order by tokens of the row, longest or shortest first; equal lengths keep the documents' order.
 * */
enum { RANKFEED_SORT_NONE = 0, RANKFEED_SORT_DESCENDING = 1, RANKFEED_SORT_ASCENDING = 2 };

/* The unit of max_tokens_per_batch: rows * row_length (pads included), or the tokens alone.
 * OF_LAYOUT: the area of padded batches, the sum of packed ones. */
enum {
  RANKFEED_BUDGET_OF_LAYOUT = 0,
  RANKFEED_BUDGET_PADDED_AREA = 1,
  RANKFEED_BUDGET_PACKED_SUM = 2
};

/* All options. Zero is the default of each, and 0 for a limit means no limit, with one exception:
 * truncation must be chosen when max_length is set, because RANKFEED_TRUNCATE_NONE is zero and
 * makes longer rows errors. */
typedef struct {
  uint32_t struct_size;
  /* rows */
  uint32_t encode_flags;     /* RANKFEED_SPECIALS_*, RANKFEED_SPLIT_SPECIAL_TOKENS */
  uint32_t max_length;       /* tokens of a row, the template's included */
  uint32_t max_query_tokens; /* the query is cut to this first, on truncation_side */
  uint32_t max_tokens_per_doc; /* the document is cut to this first, on truncation_side */
  uint32_t stride;           /* overlap of windows, in tokens; below max_length minus template */
  uint32_t max_chunks_per_doc; /* later windows are dropped */
  uint8_t truncation;        /* RANKFEED_TRUNCATE_* */
  uint8_t truncation_side;   /* RANKFEED_RIGHT: the end is cut off; RANKFEED_LEFT: the start */
  uint8_t overflow;          /* RANKFEED_OVERFLOW_* */
  uint8_t template_kind;     /* RANKFEED_TEMPLATE_* */
  uint8_t no_special_tokens; /* 1: the template without them (add_special_tokens=False) */
  /* tensors */
  uint8_t layout;       /* RANKFEED_PADDED, RANKFEED_PACKED */
  uint8_t id_type;      /* RANKFEED_INT32, RANKFEED_INT64, RANKFEED_UINT32 */
  uint8_t padding_side; /* RANKFEED_RIGHT, RANKFEED_LEFT, RANKFEED_SIDE_OF_MODEL; packed: 0 */
  uint32_t tensors;     /* RANKFEED_TENSOR_* */
  /* padded only: row_length is pad_to_length, or else the longest row of the batch; rounded up to
   * pad_to_multiple_of, then to the next bucket. A row that is longer than pad_to_length or the
   * last bucket: E_TOO_LONG for its document. */
  uint32_t pad_to_length, pad_to_multiple_of;
  const uint32_t* buckets; /* ascending; borrowed for the reranker's life; null = none */
  uint32_t bucket_count;
  /* batches */
  uint32_t max_rows_per_batch;
  uint32_t max_tokens_per_batch; /* a row that alone exceeds it: E_TOO_LONG for its document */
  uint8_t budget;                /* RANKFEED_BUDGET_* */
  uint8_t sort;                  /* RANKFEED_SORT_* */
  uint8_t reserved[2];           /* 0 */
  size_t max_arena_bytes; /* batches are planned to fit; the capacity of one slot */
  const rankfeed_pair_template* pair_template; /* with RANKFEED_TEMPLATE_CUSTOM */
} rankfeed_rerank_options;

/* Fills *options with zeros and struct_size. Null is a no-op. O(1). */
RANKFEED_API void rankfeed_rerank_options_init(rankfeed_rerank_options* options);

/* Why options are ARGUMENT for rankfeed_reranker_init: the first field at fault, in *field (nullable,
 * the caller's), and the rest of a sentence about it, "windows need a max_length" say; null, and
 * null in *field, for options that it takes. Both texts are static. model: as there, null without.
 * Tokens of texts in a CUSTOM template count as none. O(template + buckets), any thread. */
RANKFEED_API const char* rankfeed_rerank_options_problem(const rankfeed_model* model,
                                                         const rankfeed_rerank_options* options,
                                                         const char** field);

/* ---- tensors of a batch ---- */

/* A compact row-major tensor in the arena. Zeroed when not asked for. */
typedef struct {
  void* data;
  size_t byte_offset; /* from the start of the arena, a multiple of 256: the same in a copy of it */
  size_t bytes;
  int64_t shape[2]; /* elements */
  uint32_t dimensions; /* 1 or 2 */
  uint32_t type;       /* RANKFEED_INT32 ... */
} rankfeed_tensor;

/* Origin of a row. */
typedef struct {
  uint32_t document;               /* index in the request's documents */
  uint32_t chunk;                  /* window number in the document */
  uint32_t token_begin, token_end; /* part of the document's own ids in this row */
  uint32_t byte_begin, byte_end;   /* the same in bytes of its text; 0, 0 when not known */
  uint32_t query_tokens;           /* tokens of the query in this row */
  uint32_t length;                 /* tokens of the row, template included */
} rankfeed_batch_row;

/* A batch and the tensors in its arena. Plain data of the caller; set struct_size, arena and
 * arena_capacity, the rest is written by the library. The structs of programs that were compiled
 * before generation, or last_tokens, was there end before it and are taken too. */
typedef struct {
  uint32_t struct_size;
  uint32_t rows;         /* 0: nothing left */
  void* arena;           /* 256-byte aligned */
  size_t arena_capacity; /* bytes */
  size_t arena_size;     /* bytes used; bytes needed after E_OUTPUT_SIZE */
  uint32_t row_length;   /* padded: of each row, pads included; packed: max_seqlen */
  uint32_t max_seqlen;   /* longest row, pads not included */
  uint64_t tokens;       /* of all rows, pads not included */
  uint64_t first_row;    /* rows of the request before this batch */
  const rankfeed_batch_row* row_map; /* rows entries, in the reranker's scratch until next begin */
  rankfeed_tensor input_ids, attention_mask, token_type_ids, position_ids;
  rankfeed_tensor lengths, cu_seqlens, row_of_token;
  uint64_t generation; /* of the request: no two requests of a process have the same; never 0 */
  rankfeed_tensor last_tokens;
} rankfeed_batch;

/* Bytes of arena for a batch of this shape: padded, rows * row_length; packed, rows and tokens.
 * Uses layout, id_type and tensors of options. Errors: ARGUMENT, STRUCT_SIZE, LIMIT. O(1). */
RANKFEED_API rankfeed_status rankfeed_batch_arena_size(const rankfeed_rerank_options* options,
                                                       uint32_t rows, uint32_t row_length,
                                                       uint64_t tokens, size_t* bytes);

/* Lays the tensors of a batch of this shape into io->arena and fills rows, row_length, tokens,
 * arena_size and the tensors of *io. Only computes addresses, touches no memory of the arena: with
 * the address of a device copy as arena it gives the tensors on the device.
 * Errors: ARGUMENT, STRUCT_SIZE, ALIGNMENT, LIMIT, OUTPUT_SIZE (arena_size holds the need).
 * O(1). */
RANKFEED_API rankfeed_status rankfeed_batch_carve(const rankfeed_rerank_options* options,
                                                  uint32_t rows, uint32_t row_length,
                                                  uint64_t tokens, rankfeed_batch* io);

/* ---- threads, cancellation ---- */

/* Runs task over [0, count) in any split and order, on any threads, and returns when all is done.
 * worker is below workers, and two calls with the same worker never overlap. Anything but
 * RANKFEED_OK ends the request with that status; tasks are then not running any more. */
typedef void (*rankfeed_task)(void* task_context, size_t begin, size_t end, uint32_t worker);
typedef struct {
  uint32_t struct_size;
  uint32_t workers;
  void* context;
  rankfeed_status (*parallel_for)(void* context, size_t count, rankfeed_task task,
                                  void* task_context);
} rankfeed_executor;

/* How to stop a request early; looked at between documents. All fields may be zero. */
typedef struct {
  uint32_t struct_size;
  uint32_t reserved;      /* 0 */
  const uint32_t* cancel; /* nonzero there, from any thread: E_CANCELLED */
  uint64_t deadline_ns;   /* on the clock below; reached: E_DEADLINE. 0: none */
  uint64_t (*clock_ns)(void* clock_context); /* null: CLOCK_MONOTONIC; called from all workers */
  void* clock_context;
} rankfeed_control;

/* ---- the reranker ---- */

/* One request at a time, one thread at a time; lives in the caller's scratch; no free function.
 * Not detected: use from two threads at once. */
typedef struct rankfeed_reranker rankfeed_reranker;

typedef struct {
  uint32_t struct_size;
  uint32_t max_documents;   /* per request */
  uint32_t max_rows;        /* per request, windows counted; 0: max_documents */
  uint32_t max_text_bytes;  /* longest text, as in the limits of the encoders; 0: only ids */
  uint64_t max_tokens;      /* ids of all texts of a request, as far as rows need them: without
                             * windows at most max_length per document */
  uint32_t workers;         /* encoders; 0: only ids */
  uint32_t with_offsets;    /* 1: rows of texts get byte ranges; the encoders must have offsets,
                             * and workers must not be 0 */
  uint32_t max_stretch_bytes; /* as in the limits of the encoders, which must have as much; 0: whatever
                               * they have. Programs compiled before the field was there leave it out
                               * of struct_size, which is taken too */
} rankfeed_rerank_limits;

/* Scratch of a reranker. Monotonic in each limit. model may be null when the template is CUSTOM
 * with ids only, texts are not used (max_text_bytes 0) and the layout is packed.
 * Errors: ARGUMENT, STRUCT_SIZE, LIMIT, UNSUPPORTED (template). O(template). */
RANKFEED_API rankfeed_status rankfeed_reranker_mem_req(const rankfeed_model* model,
                                                       const rankfeed_rerank_limits* limits,
                                                       const rankfeed_rerank_options* options,
                                                       rankfeed_mem_req* out);

/* Makes a reranker in scratch, which it keeps until its last call. encoders: limits->workers of
 * them, each for this model and only used from now on by this reranker's calls; they, model and
 * options->buckets must outlive it, everything else is copied. Checks all options, so that
 * requests need not. Errors:
 * ARGUMENT: an option out of range, an unknown flag bit, something in a reserved field; or
 *   contradictory: max_length below the template's tokens;
 *   stride not below what max_length leaves; windows without max_length, or with a strategy that
 *   may cut the query; ONLY_SECOND with the single template; pads without a pad id in the model;
 *   attention_mask or padding options with the packed layout; an encoder with less max_stretch_bytes
 *   than the limits, or none.
 * UNSUPPORTED: a template that does not hold each sequence once.
 * STRUCT_SIZE, LIMIT, ALIGNMENT, WORKSPACE_SIZE, and what rankfeed_encode answers for a template
 * text. On failure *out is null. O(template + workers). */
RANKFEED_API rankfeed_status rankfeed_reranker_init(const rankfeed_model* model,
                                                    const rankfeed_rerank_limits* limits,
                                                    const rankfeed_rerank_options* options,
                                                    rankfeed_encoder* const* encoders,
                                                    void* scratch, size_t scratch_size,
                                                    rankfeed_reranker** out);

typedef struct {
  uint32_t struct_size;
  uint32_t document_count;
  rankfeed_source query;
  const rankfeed_source* documents;  /* borrowed until the last batch is filled */
  rankfeed_status* document_status;  /* out: one per document; E_STATE until it is tokenized */
  const rankfeed_executor* executor; /* null: the calling thread. Borrowed like documents */
  const rankfeed_control* control;   /* nullable. Borrowed like documents */
  rankfeed_text instruction; /* of row templates; empty: the template's. Programs compiled before the
                              * field was there leave it out of struct_size, which is taken too */
} rankfeed_request;

/* Starts a request, ending any before it, and tokenizes the query. O(query).
 * Errors: ARGUMENT (among others: an empty list of documents), STRUCT_SIZE, LIMIT (more documents
 * than the limits say, more workers than encoders), CANCELLED, DEADLINE, and what rankfeed_encode
 * answers for the query; no request is then under way. */
RANKFEED_API rankfeed_status rankfeed_rerank_begin(rankfeed_reranker* reranker,
                                                   const rankfeed_request* request);

/* Fills the next batch of the request into io->arena. The whole of every tensor is written, pads
 * and the gaps between tensors included. io->rows is 0, and nothing is written, when no row is
 * left. Unsorted, this tokenizes as many documents as the batch takes; sorted, the first call
 * tokenizes all.
 * Errors: ARGUMENT, STRUCT_SIZE, ALIGNMENT; OUTPUT_SIZE: arena too small, io->arena_size holds the
 * need, call again with more; STATE: no request; CANCELLED, DEADLINE, WORKSPACE_SIZE (all remaining
 * texts are still counted, see rankfeed_reranker_need): the request is over.
 * O(texts tokenized now + rows * log rows when sorting + arena_size). */
RANKFEED_API rankfeed_status rankfeed_rerank_next(rankfeed_reranker* reranker, rankfeed_batch* io);

/* After WORKSPACE_SIZE or LIMIT from begin or next: limits that suffice for that request, given the
 * same options. Otherwise the limits of the reranker. Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_reranker_need(const rankfeed_reranker* reranker,
                                                    rankfeed_rerank_limits* limits);

/* begin and next in one call, with all rows in one batch whatever the batch options say; in the
 * documents' order unless sort is set. Errors: those of both, the request is over after any.
 * O(query + documents + arena_size). */
RANKFEED_API rankfeed_status rankfeed_encode_pairs(rankfeed_reranker* reranker,
                                                   const rankfeed_request* request,
                                                   rankfeed_batch* io);

/* ---- scores ---- */

/* RAW: the logit. SIGMOID: 1 / (1 + exp(-logit)). SOFTMAX: over the labels of a row. */
enum { RANKFEED_SCORE_RAW = 0, RANKFEED_SCORE_SIGMOID = 1, RANKFEED_SCORE_SOFTMAX = 2 };

typedef struct {
  uint32_t struct_size;
  uint32_t activation; /* RANKFEED_SCORE_*, computed in double, stored as float */
  uint32_t labels;     /* logits per row; 0: 1 */
  uint32_t label;      /* the one that is the score, below labels */
} rankfeed_score_options;

/* Stores the scores of a filled batch: logits[batch->rows][labels]. Batches may come in any order,
 * until the next begin. options may be null (raw, one label). Of *batch it reads struct_size, rows,
 * first_row and generation; without the last (the struct's older size) a late batch of an earlier
 * request cannot be told from one of this request. Nothing is stored after an error.
 * Errors: ARGUMENT (also for a logit that is infinite or not a number), STRUCT_SIZE; STALE: the
 * batch is not of this reranker's latest begin; STATE: that request is over, or no batch had these
 * rows yet. O(rows * labels). */
RANKFEED_API rankfeed_status rankfeed_rerank_put_scores(rankfeed_reranker* reranker,
                                                        const rankfeed_batch* batch,
                                                        const float* logits,
                                                        const rankfeed_score_options* options);

/* Score of a document from those of its rows. */
enum { RANKFEED_AGGREGATE_MAX = 0, RANKFEED_AGGREGATE_FIRST = 1, RANKFEED_AGGREGATE_MEAN = 2 };
/* Equal scores: lower document index first, or higher (text-embeddings-inference). */
enum { RANKFEED_TIES_ASCENDING = 0, RANKFEED_TIES_DESCENDING = 1 };

typedef struct {
  uint32_t struct_size;
  uint32_t aggregation; /* RANKFEED_AGGREGATE_* */
  uint32_t ties;        /* RANKFEED_TIES_* */
  uint32_t top_n;       /* 0: all */
} rankfeed_rank_options;

typedef struct {
  uint32_t index; /* of the document */
  float score;
} rankfeed_ranked;

/* Ranks the documents that have rows, best first, into ranked[capacity]; *count gets how many there
 * are, or are needed after E_OUTPUT_SIZE. options may be null. Scores that an activation made equal
 * (large logits all become 1) rank by the logits, aggregated likewise; equal logits as ties says.
 * Errors: ARGUMENT, STRUCT_SIZE, OUTPUT_SIZE, STATE (a row has no score yet). O(n log n). */
RANKFEED_API rankfeed_status rankfeed_rerank_rank(rankfeed_reranker* reranker,
                                                  const rankfeed_rank_options* options,
                                                  rankfeed_ranked* ranked, uint32_t capacity,
                                                  uint32_t* count);

RANKFEED_END_C

#endif /* RANKFEED_RERANK_H_ */
