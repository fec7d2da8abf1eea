/* SPDX-License-Identifier: MIT
 * rankfeed/crossencoder.h: the forward pass of a cross-encoder of the XLM-RoBERTa or BERT family
 * over packed batches: ids in, one score per row and label out. Library rankfeed_crossencoder.
 *
 * Models: HuggingFace's ...ForSequenceClassification of model_type xlm-roberta, roberta, camembert,
 * bert, distilbert and electra, read from config.json and model.safetensors; on the host also
 * modernbert, new and gte, deberta-v2, and sentence-transformers' modular CrossEncoder folders
 * (docs/handoff.md has what each of these computes). Those of the first six:
 * Layers: word + position + type embeddings (DistilBERT has no types), LayerNorm, ELECTRA's
 * projection to the width of the layers; N times attention, LayerNorm, MLP, LayerNorm (after the
 * residual); the MLP has the activation that config.json names (docs/handoff.md), LayerNorm its
 * layer_norm_eps (DistilBERT: 1e-12). The head is on the first token: RoBERTa's dense + tanh +
 * out_proj, BERT's pooler with tanh + classifier, DistilBERT's pre_classifier + relu + classifier,
 * ELECTRA's dense + gelu + out_proj. Tensors that another task's head left over are not read;
 * anything else in the files is refused by name.
 *
 * Batches are packed (rankfeed/rerank.h, RANKFEED_PACKED): no pad tokens, row r is
 * input_ids[cu_seqlens[r] .. cu_seqlens[r+1]). Position ids are made inside as HuggingFace makes
 * them. RoBERTa's: pad_token_id + the number of tokens so far that are not pad_token_id; a pad
 * token inside a row, which only text that spells one has, stays at position pad_token_id. The
 * others': from 0, every token counts. A row of more tokens than there are positions is refused.
 *
 * Memory: open allocates the weights once, in the backend's device memory. The forward allocates
 * nothing (but a queue entry of the host backend's streams): it works in a workspace that the
 * caller measures with rankfeed_crossencoder_workspace and takes from where it likes (device
 * memory for a device).
 *
 * rankfeed_crossencoder: immutable after open; any threads and streams at once, each call with a
 * workspace of its own. */
#ifndef RANKFEED_CROSSENCODER_H_
#define RANKFEED_CROSSENCODER_H_

#include <stddef.h>
#include <stdint.h>

#include "rankfeed/export.h"
#include "rankfeed/handoff.h"
#include "rankfeed/model.h"
#include "rankfeed/rerank.h"
#include "rankfeed/status.h"

RANKFEED_BEGIN_C

typedef struct rankfeed_crossencoder rankfeed_crossencoder;

/* Type of weights and activations. AUTO: float32 on the host; on a device that of the file.
 * LayerNorm, softmax, sums and scores are float32 always. The host computes in float32, BF16 aside
 * (rankfeed_crossencoder_options). */
enum {
  RANKFEED_DTYPE_AUTO = 0,
  RANKFEED_DTYPE_F32 = 1,
  RANKFEED_DTYPE_F16 = 2,
  RANKFEED_DTYPE_BF16 = 3
};

/* Why an open failed, in words: the file, the tensor or setting, what it is and what it should be.
 * Set struct_size before the call; filled on failure only. */
typedef struct {
  uint32_t struct_size;
  rankfeed_status code;
  char message[376]; /* NUL-terminated, cut when longer */
} rankfeed_crossencoder_error;

typedef struct {
  uint32_t struct_size;
  /* RANKFEED_DTYPE_*. The host computes in float32; BF16 there rounds what products multiply, on
   * CPUs that have such products (x86: AVX512_BF16), UNSUPPORTED on others. */
  uint32_t dtype;
  const rankfeed_gpu_backend* backend; /* null = host; must outlive the model */
  int32_t device;                      /* index in the backend's numbering */
  /* Batches of up to this many tokens run as graphs of the device (CUDA graphs, HIP graphs): the
   * layers are recorded for rows and tokens rounded up, and a workspace, and then queued with one
   * launch, beside three for what reads and writes the caller's memory, in place of up to eleven
   * for each layer. For small requests, whose kernels are shorter than their launches. 0: none. At
   * most 64 are kept; what they take of the device's memory is the runtime's. Ignored by backends
   * without graphs. Shown over a fake runtime only: no graph has run on a GPU yet. */
  uint32_t graph_tokens;
  /* Host: threads that share a batch; null: the calling thread, or the stream's. Borrowed for the
   * model's life. Scores do not depend on it. */
  const rankfeed_executor* executor;
} rankfeed_crossencoder_options;

/* Reads a model. path: a folder with config.json and model.safetensors (or its shards), and modules.json
 * with the modules' folders where it is modular, or a
 * .safetensors file with config.json beside it. Neither is needed afterwards. options may be null.
 * On failure *out is null and *error (nullable) says why.
 * Errors: ARGUMENT, STRUCT_SIZE, IO (missing, unreadable), PARSE (a file is not what its format
 * says), UNSUPPORTED (another architecture, activation, element type, unknown or missing tensors,
 * shapes that do not fit, a backend without kernels, a driver that is too old), NO_MEMORY,
 * NO_DEVICE, DEVICE. A device runs one token, so that what cannot run there is said here and no
 * batch waits for kernels to be loaded. O(file size). */
RANKFEED_API rankfeed_status rankfeed_crossencoder_open(
    const char* path, const rankfeed_crossencoder_options* options, rankfeed_crossencoder** out,
    rankfeed_crossencoder_error* error);

/* No call may be running and no enqueued work pending. Null is a no-op. O(1). */
RANKFEED_API void rankfeed_crossencoder_close(rankfeed_crossencoder* model);

/* Set struct_size before the call. Strings are NUL-terminated. */
typedef struct {
  uint32_t struct_size;
  uint32_t dtype; /* of weights and activations here, RANKFEED_DTYPE_*; as in the options */
  uint32_t vocab_size, hidden_size, layers, heads, intermediate_size, labels;
  uint32_t max_positions; /* as in the file */
  /* Longest row: RoBERTa's max_positions - pad_token_id - 1, the others' max_positions. */
  uint32_t max_row_tokens;
  uint32_t type_vocab_size; /* 1, all types 0, for models without types */
  int32_t pad_token_id;
  uint64_t parameters;
  uint64_t weight_bytes; /* in device memory */
  char backend[16];
  /* Name of what multiplies matrices: "Highway AVX2", or another name that Highway gives the CPU's
   * instructions (AVX3 is AVX-512). On a device "cuBLASLt 130000", or "tiled kernel" where the vendor's library is missing; "..., 12 by tiled
   * kernel" when so many products were left to it. */
  char gemm[48];
  /* Graphs there are now; batches that ran as one; recordings and launches that failed, after which
   * the bucket's batches run without. An older size of the struct ends before these. */
  uint32_t graphs;
  uint64_t graph_launches, graph_failures;
  /* Note about the files for their user: a prefix that names were read without, weights that
   * are no finite numbers, tensors that another task's head left over and that were set aside. Empty where there is nothing; cut where
   * there is more than fits. An older size of the struct ends before it. */
  char note[240];
} rankfeed_crossencoder_info;

/* Errors: ARGUMENT, STRUCT_SIZE. O(1). */
RANKFEED_API rankfeed_status rankfeed_crossencoder_get_info(const rankfeed_crossencoder* model,
                                                            rankfeed_crossencoder_info* info);

/* A packed batch. Pointers are to memory of the model's backend (host memory for the host). */
typedef struct {
  uint32_t struct_size;
  uint32_t rows;
  uint32_t tokens;     /* cu_seqlens[rows] */
  uint32_t max_seqlen; /* no row is longer */
  const int32_t* input_ids;      /* tokens entries */
  const int32_t* cu_seqlens;     /* rows + 1 entries, from 0, not descending */
  const int32_t* token_type_ids; /* tokens entries; null: all 0 */
} rankfeed_packed_batch;

/* Workspace of batches of up to this many rows, tokens and tokens per row. Monotonic in each.
 * Errors: ARGUMENT (max_seqlen above max_row_tokens or zero rows, tokens), STRUCT_SIZE, LIMIT.
 * O(1). */
RANKFEED_API rankfeed_status rankfeed_crossencoder_workspace(const rankfeed_crossencoder* model,
                                                             uint32_t rows, uint32_t tokens,
                                                             uint32_t max_seqlen,
                                                             rankfeed_mem_req* out);

/* Host backend: scores a batch and returns. logits[rows * labels], row-major. An empty row gets
 * NaN. Checks everything. Errors: ARGUMENT (also cu_seqlens that descend or do not end at tokens,
 * a row longer than max_seqlen), STRUCT_SIZE, ID_RANGE (an id or type outside the model's tables),
 * TOO_LONG (max_seqlen above max_row_tokens), ALIGNMENT, WORKSPACE_SIZE, STATE (the model is on a
 * device). Nothing is written on failure. O(layers * tokens * hidden^2 + sum of squared row
 * lengths). */
RANKFEED_API rankfeed_status rankfeed_crossencoder_score(const rankfeed_crossencoder* model,
                                                         const rankfeed_packed_batch* batch,
                                                         void* workspace, size_t workspace_size,
                                                         float* logits);

/* The same, which another thread can end: *cancel (nullable) is read, atomically, before each
 * operation of a layer, and once it is not zero the call returns as soon as those under way are
 * done. Errors: those of rankfeed_crossencoder_score; CANCELLED, with logits that are written in
 * part. O(what rankfeed_crossencoder_score takes). */
RANKFEED_API rankfeed_status rankfeed_crossencoder_score_until(const rankfeed_crossencoder* model,
                                                               const rankfeed_packed_batch* batch,
                                                               const uint32_t* cancel,
                                                               void* workspace,
                                                               size_t workspace_size,
                                                               float* logits);

/* Any backend: queues the forward on `stream` (a stream of the model's backend and device) and
 * returns; *batch may be dropped, the memory it points to, workspace and logits must stay until the
 * stream has come past. Batches of one stream may share a workspace. logits: memory the device can
 * write (device memory, or the mapped address of page-locked memory). What a device cannot report,
 * NaN says: a row that is empty, longer than max_row_tokens or with an id or type outside the
 * model's tables scores NaN, and nothing outside the tables is read.
 * Errors: ARGUMENT, STRUCT_SIZE, TOO_LONG, ALIGNMENT, WORKSPACE_SIZE, NO_MEMORY, DEVICE. O(layers)
 * on the calling thread; on the stream the work of rankfeed_crossencoder_score. */
RANKFEED_API rankfeed_status rankfeed_crossencoder_enqueue(const rankfeed_crossencoder* model,
                                                           const rankfeed_packed_batch* batch,
                                                           void* stream, void* workspace,
                                                           size_t workspace_size, float* logits);

/* The packed batch of a rankfeed_batch whose arena lies at `arena` now (the slot's device memory,
 * its mapped address, or batch->arena itself). with_types 0, or 1: token_type_ids too.
 * Errors: ARGUMENT (not packed, not int32, no token_type_ids, a tensor missing, of another length
 * than rows and tokens say, or not inside arena_size), STRUCT_SIZE.
 * O(1). */
RANKFEED_API rankfeed_status rankfeed_packed_batch_of(const rankfeed_batch* batch,
                                                      const void* arena, uint32_t with_types,
                                                      rankfeed_packed_batch* out);

RANKFEED_END_C

#endif /* RANKFEED_CROSSENCODER_H_ */
