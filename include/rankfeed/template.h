/* SPDX-License-Identifier: MIT
 * rankfeed/template.h: rows of LLM rerankers: a template as data, compiled with a vocabulary.
 *
 *   "<Instruct>: {instruction}\n<Query>: {query}\n" and "<Document>: {document}"
 *
 * A row of such a model is a prompt: literal text, special tokens, and the query, an instruction and
 * the document in places of it. What stands beside a role is tokenized together with it, because
 * `?` and the line feed after it are one token: a template says which parts are one text. Compiling
 * finds the places between a literal and a role where every text is cut by the vocabulary's own
 * rules, and tokenizes the parts between those once: literals when it is compiled, query and
 * instruction once a request, of a document only its own part. Where no such place is known, parts
 * are tokenized together; ids are those of the whole text in any case.
 *
 *   rankfeed_template_preset("qwen3-reranker", &row)      or a row of the caller
 *   rankfeed_template_mem_req, rankfeed_template_init     once for a vocabulary
 *   rankfeed_template_options(row, 0, &options)           a reranker of rankfeed/rerank.h
 *     request.instruction, request.query, request.documents
 *
 * A compiled template is immutable: share it freely between threads. Sizes count bytes, limits
 * tokens. */
#ifndef RANKFEED_TEMPLATE_H_
#define RANKFEED_TEMPLATE_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/encode.h"
#include "rankfeed/export.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

/* TEXT: literal text. SPECIAL: the token of this name, an added token of the vocabulary. APART: what
 * is before and after is tokenized each on its own. QUERY, INSTRUCTION, DOCUMENT: the text with that
 * role, of which DOCUMENT is there once.
 * A row that holds several documents has EACH before, and END after, what it repeats for each of
 * them: the DOCUMENT, and its NUMBER from 0 on. COUNT is how many there are. What is repeated, and what
 * follows END, begins with a TEXT whose first character is a line feed after which texts may be cut. */
enum {
  RANKFEED_PART_TEXT = 0,
  RANKFEED_PART_SPECIAL = 1,
  RANKFEED_PART_APART = 2,
  RANKFEED_PART_QUERY = 3,
  RANKFEED_PART_INSTRUCTION = 4,
  RANKFEED_PART_DOCUMENT = 5,
  RANKFEED_PART_COUNT = 6,
  RANKFEED_PART_NUMBER = 7,
  RANKFEED_PART_EACH = 8,
  RANKFEED_PART_END = 9
};

/* WITH_INSTRUCTION: the part is only there when the request has an instruction; TEXT and INSTRUCTION.
 * MARKER: where the token is, the model's output is read; its name is removed from texts of query and
 * documents; SPECIAL in rows that hold several documents. */
enum { RANKFEED_PART_WITH_INSTRUCTION = 1u, RANKFEED_PART_MARKER = 2u };

typedef struct {
  uint32_t kind;      /* RANKFEED_PART_* */
  uint32_t flags;     /* RANKFEED_PART_WITH_INSTRUCTION, RANKFEED_PART_MARKER */
  rankfeed_text text; /* of TEXT, or the name of SPECIAL */
} rankfeed_row_part;

/* A template as data. max_length is the limit of the reference that the rows are those of. Such a
 * limit need not count all of a row, so a row has at most max_length + prefix_times * (tokens of the
 * prefix) + suffix_times * (tokens of the suffix). Zeroed fields: none. */
typedef struct {
  uint32_t struct_size;
  uint32_t part_count;
  const rankfeed_row_part* parts;
  rankfeed_text name, source, revision; /* of the construction, for people */
  rankfeed_text instruction;            /* of requests without one */
  rankfeed_text pad;                    /* name of the token that rows are padded with; empty: the
                                         * vocabulary's */
  const rankfeed_text* answers; /* texts whose first ids are answers; the last one says yes */
  uint32_t answer_count;        /* at most RANKFEED_TEMPLATE_MAX_ANSWERS */
  uint32_t max_length;
  /* For rows that hold several documents: a row holds max_documents at most, and the texts of query and
   * documents are cut to so many tokens before they are put in. */
  uint32_t max_documents, max_query_tokens, max_document_tokens;
  uint8_t prefix_times, suffix_times;
  uint8_t query_quarters;     /* the query is cut to max_length * query_quarters / 4; 0: it is not */
  uint8_t document_limit;     /* 1: the document is cut to max_length first */
  uint8_t truncation;         /* RANKFEED_TRUNCATE_* */
  uint8_t pad_to_multiple_of; /* of padded rows, which are padded on the left */
  uint8_t reserved[2];        /* 0 */
} rankfeed_row_template;

enum { RANKFEED_TEMPLATE_MAX_ANSWERS = 8, RANKFEED_TEMPLATE_MAX_MARKERS = 4 };

/* Fills *out with the preset of a name; its texts are static. Errors: ARGUMENT, NOT_FOUND. O(1), any
 * thread. */
RANKFEED_API rankfeed_status rankfeed_template_preset(const char* name, rankfeed_row_template* out);
/* The name of preset number i, null after the last one. O(1), any thread. */
RANKFEED_API const char* rankfeed_template_preset_name(uint32_t i);

/* A row template with the ids of a vocabulary. */
typedef struct rankfeed_template rankfeed_template;

/* Storage of a compiled template. Errors: ARGUMENT, STRUCT_SIZE, LIMIT. O(parts). */
RANKFEED_API rankfeed_status rankfeed_template_mem_req(const rankfeed_model* model,
                                                       const rankfeed_row_template* row,
                                                       rankfeed_mem_req* out);

/* Compiles a template in storage. encoder tokenizes the literals, the longest of which it has to
 * take, and is not kept; model must outlive the template, everything else is copied. problem
 * (nullable): why ARGUMENT, NOT_FOUND or UNSUPPORTED, in static words about the row, and in *part
 * (nullable) the part at fault or part_count.
 * Errors: ARGUMENT: parts that no row has, as none with the document, or two; NOT_FOUND: a special
 * token that the vocabulary lacks, or an answer without an id; UNSUPPORTED: a special token that is
 * not matched alone beside this text, roles that are in the way of each other; STRUCT_SIZE, LIMIT,
 * ALIGNMENT, WORKSPACE_SIZE, and what rankfeed_encode answers for a literal. On failure *out is
 * null. O(text of the parts * added tokens). */
RANKFEED_API rankfeed_status rankfeed_template_init(const rankfeed_model* model,
                                                    const rankfeed_row_template* row,
                                                    rankfeed_encoder* encoder, void* storage,
                                                    size_t storage_size, rankfeed_template** out,
                                                    const char** problem, uint32_t* part);

typedef struct {
  uint32_t struct_size;
  uint32_t prefix_tokens;   /* before the query: what rows of all requests share */
  uint32_t middle_tokens, suffix_tokens;
  uint32_t max_length;      /* of rows, as the reference's limit has them; 0: none */
  uint32_t max_query_tokens, max_tokens_per_doc; /* likewise */
  uint32_t max_documents;   /* that a row holds; 0: each has a row of its own */
  int32_t pad_id;           /* -1: the vocabulary's */
  uint32_t query_is_joined; /* 1: a document's text depends on its request, and is tokenized anew */
  uint32_t document_is_alone; /* 1: nothing but the document is tokenized with it */
  uint32_t literal_bytes;   /* that a text of a role can be longer than the role's by, the
                             * default instruction included */
  uint32_t answer_count;
  int32_t answers[RANKFEED_TEMPLATE_MAX_ANSWERS];
  uint32_t marker_count;
  int32_t markers[RANKFEED_TEMPLATE_MAX_MARKERS];
  uint64_t hash;            /* of what is tokenized with a document; 0: nothing, a store of documents
                             * (rankfeed/corpus.h) that was made without a template will do */
} rankfeed_template_info;

/* Fills *info (set struct_size first). Errors: ARGUMENT, STRUCT_SIZE. O(1), any thread. */
RANKFEED_API rankfeed_status rankfeed_template_get_info(const rankfeed_template* row,
                                                        rankfeed_template_info* info);

/* Sets the options that make a reranker's rows those of the template: template_kind, pair_template,
 * truncation, the limits, and for padded rows side and pad_to_multiple_of. max_length: tokens of a
 * row, everything counted; 0: as the reference's limit has it. The template must outlive a reranker
 * made with the options. Where it knows no place to cut the query from a document, a reranker with workers
 * answers UNSUPPORTED to either as ids; one without takes ids of texts that the caller has joined.
 * Of a template whose rows hold several documents, whole rows (rankfeed_template_list) are the ids of the
 * reranker's documents, and the query none. Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_template_options(const rankfeed_template* row,
                                                       uint32_t max_length,
                                                       rankfeed_rerank_options* options);

/* The text that is tokenized for a request's query: with what is beside it, as a reranker makes it
 * itself. Empty where the query is joined to the document. Writes at most capacity bytes; *size gets
 * the bytes written, or needed when OUTPUT_SIZE. instruction zeroed: the template's. Errors: ARGUMENT,
 * OUTPUT_SIZE. O(text), any thread. */
RANKFEED_API rankfeed_status rankfeed_template_query(const rankfeed_template* row,
                                                     rankfeed_text query,
                                                     rankfeed_text instruction, char* out,
                                                     size_t capacity, size_t* size);

/* The same for a document of a row of its own; query and instruction only matter where they are joined to
 * it. *document_begin (nullable): where the document begins in the text. Errors: ARGUMENT, OUTPUT_SIZE.
 * O(text), any thread. */
RANKFEED_API rankfeed_status rankfeed_template_document(const rankfeed_template* row,
                                                        rankfeed_text query,
                                                        rankfeed_text instruction,
                                                        rankfeed_text document, char* out,
                                                        size_t capacity, size_t* size,
                                                        size_t* document_begin);

/* The ids of a row that holds these documents, at most max_documents of info, to io->input_ids; its other
 * columns are not written. Texts are put together in work[0, work_bytes): the longest of them with the
 * literals beside it, the instruction and two numbers has to fit, there and into the encoder's
 * max_text_bytes. flags: as in rankfeed_encode_options, for offsets none. Cutting texts to the limits of
 * info is the caller's. Errors: ARGUMENT (also for a template of another kind), STRUCT_SIZE, OUTPUT_SIZE:
 * io->count is the need; LIMIT, and what rankfeed_encode answers. O(text). */
RANKFEED_API rankfeed_status rankfeed_template_list(const rankfeed_template* row, rankfeed_encoder* encoder,
                                                    uint32_t flags, rankfeed_text query,
                                                    rankfeed_text instruction,
                                                    const rankfeed_text* documents,
                                                    uint32_t document_count, char* work,
                                                    size_t work_bytes, rankfeed_encoding* io);

RANKFEED_END_C

#endif /* RANKFEED_TEMPLATE_H_ */
