/* SPDX-License-Identifier: MIT
 * crossencoder/ops.h: the kernels of the cross-encoder as one C table of functions. Four tables
 * exist: the host's (SIMD; float32), CUDA's, HIP's and the emulation's (the device kernels
 * compiled as C++ for tests). forward.cc calls them in order and knows no other difference; tests
 * compare any two tables operation by operation.
 *
 * Every function queues its work on `at->stream` and returns 0 or an error number of the backend
 * (backend.h); the host's works at once, on the calling thread. All pointers are device memory.
 * "elements" have the type `dtype` (RANKFEED_DTYPE_F32, F16, BF16); float means float32 always.
 * Matrices are row-major and compact. Row r of a batch has the tokens
 * cu_seqlens[r] - cu_seqlens[0] .. cu_seqlens[r+1] - cu_seqlens[0]; rows may be empty. */
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_OPS_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_OPS_H_

#include <stdint.h>

#include "rankfeed/crossencoder.h"
#include "rankfeed/export.h"

RANKFEED_BEGIN_C

enum { RANKFEED_GPU_OPS_ABI = 8 };

/* Products work on whole steps of this many rows: x and out of op_gemm have room for m rounded up
 * to it, in memory that may be read and written. Memory after row m has no meaning, before
 * and after. One step for all of a batch's sizes within 128 tokens of each other, and the rows of
 * the widest tile of matrix units (wgmma, 64 x 2). */
enum { RANKFEED_GPU_GEMM_ROWS = 128 };

/* The answer of a vendor's matrix library to a product that the tiled kernel has to do. */
enum { RANKFEED_GPU_TILED = -1000 };

/* Largest head: the attention kernel keeps a tile of it in shared memory. Every published model of
 * the family has 64 (base, large) or 32 (MiniLM); 128 leaves room. */
enum { RANKFEED_GPU_MAX_HEAD = 128 };

/* Attention takes the queries of a row this many at a time. A list says of which row each tile is:
 * the tiles of row r, which begins at token b of the batch, are the entries b / RANKFEED_GPU_TILE +
 * r and following; -1 means none. So every row knows its entries without the others, there are
 * never more than RANKFEED_GPU_TILES, and no tile is made for what a shorter row lacks. */
enum { RANKFEED_GPU_TILE = 64 };
#define RANKFEED_GPU_TILES(tokens, rows) ((uint64_t)(tokens) / RANKFEED_GPU_TILE + (rows))

/* Where an operation runs. */
typedef struct {
  void* ctx; /* the backend's device context */
  void* stream;
  void* scratch; /* scratch_bytes() bytes, used by one operation at a time */
  uint64_t scratch_bytes;
} rankfeed_op_at;

/* Packed ids to the padded tensors of a framework: ids_out, mask_out, positions_out
 * [rows, row_length], each nullable, int32 or int64 (wide). Pads on the right: id pad_id, mask 0,
 * position pad_id. Positions as in op_positions. Tokens beyond row_length are dropped. */
typedef struct {
  const int32_t *ids, *cu_seqlens;
  uint32_t rows, row_length;
  int32_t pad_id;
  uint32_t wide;
  void *ids_out, *mask_out, *positions_out;
} rankfeed_op_unpack;

/* out[t] = pad_id + number of non-pad tokens of the row up to and including t; pad_id for a pad.
 * With a pad_id of -1, which is no id, positions begin at 0 and count every token.
 * ids_out (tokens entries) and cu_out (rows + 1, from 0), both or neither: copies of what was read;
 * cu_out goes on to row_count + 1 entries with empty rows,
 * for batches that lie in host memory, whose every read goes over the bus. tiles, nullable: the
 * list of attention's tiles, with -1 for the rest of tile_count entries (RANKFEED_GPU_TILES at
 * least). */
typedef struct {
  const int32_t *ids, *cu_seqlens;
  uint32_t rows;
  int32_t pad_id;
  int32_t *out, *ids_out, *cu_out, *tiles;
  uint32_t tile_count, row_count;
} rankfeed_op_positions;

/* out = LayerNorm(word[id] + position[position] + type[type]); NaN where an index is outside its
 * table. types null: 0. position null: nothing is added. beta null: zeros. hidden is the width of
 * the embeddings. */
typedef struct {
  uint32_t dtype, tokens, hidden, vocab, max_positions, type_vocab;
  const int32_t *ids, *positions, *types;
  const void *word, *position, *type; /* elements */
  const float *gamma, *beta;
  float eps;
  void* out; /* elements [tokens, hidden] */
} rankfeed_op_embed;

/* GELU: x Phi(x) by erf. GELU_TANH: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))),
 * transformers' gelu_new. SILU: x / (1 + exp(-x)). NaN stays NaN. */
enum {
  RANKFEED_GPU_NO_ACTIVATION = 0,
  RANKFEED_GPU_GELU = 1,
  RANKFEED_GPU_TANH = 2,
  RANKFEED_GPU_RELU = 3,
  RANKFEED_GPU_GELU_TANH = 4,
  RANKFEED_GPU_SILU = 5
};

/* out[m, n] = activation(x[m, k] * w[n, k]^T + bias[n]); sums in float. bias null: none, as
 * where op_add_norm adds it. Room for more rows: RANKFEED_GPU_GEMM_ROWS. packed not 0: pack has
 * laid w out. */
typedef struct {
  uint32_t dtype, m, n, k, activation;
  const void *x, *w;
  const float* bias;
  void* out;
  uint32_t packed;
} rankfeed_op_gemm;

/* Rotary embeddings (Su et al., arXiv 2104.09864) by halves, in place: of each token's first
 * `heads` heads, which are queries and keys, dimension d and d + head_dim / 2 turn together by the
 * angle of the token's position. table [positions, head_dim]: cosines of the halves' angles, then
 * sines. A position outside the table: NaN. */
typedef struct {
  uint32_t dtype, tokens, heads, head_dim, row; /* row: elements of a token in x */
  const int32_t* position;
  const float* table;
  uint32_t positions;
  void* x;
} rankfeed_op_rotary;

/* Products with relative positions (He et al., DeBERTa, arXiv 2006.03654): to q . k of query i and
 * key j come q . keys[p] and k . queries[p], p = buckets[reach + i - j]. */
typedef struct {
  const void *keys, *queries; /* elements [buckets' rows, heads * head_dim]; both null: none, one
                                 null: nothing comes of it */
  const int32_t* buckets;     /* 2 * reach + 1 of them; no row is longer than reach + 1 tokens */
  uint32_t rows, reach;
} rankfeed_relative;

/* qkv [tokens, 3 * heads * head_dim]: query, key, value of each token. Softmax(scale * q k^T) v
 * inside each row, head by head; out [tokens, heads * head_dim]. tiles: as op_positions wrote it
 * for the same rows. first_only not 0: no more than the first token of each row is wanted, and what
 * is written for the others is of no meaning; the host makes use of it. window: keys of a query are
 * those at most so many tokens before or after it; 0: all of the row. */
typedef struct {
  uint32_t dtype, rows, tokens, heads, head_dim;
  const void* qkv;
  const int32_t *cu_seqlens, *tiles;
  float scale;
  void* out;
  uint32_t first_only, window;
  rankfeed_relative relative; /* not with a window */
} rankfeed_op_attention;

/* out[t, i] = activation(x[t, i]) * x[t, inner + i]. */
typedef struct {
  uint32_t dtype, tokens, inner, activation;
  const void* x; /* elements [tokens, 2 * inner] */
  void* out;     /* elements [tokens, inner], not in x */
} rankfeed_op_gate;

/* out = LayerNorm(x + bias + residual), and sum = x + bias + residual. bias null: nothing is added;
 * residual null: likewise; beta null: zeros; sum null: it is not kept. out or sum, not both, may
 * be x or residual. */
typedef struct {
  uint32_t dtype, tokens, hidden;
  const void *x, *residual;
  const float *bias, *gamma, *beta;
  float eps;
  void *out, *sum;
} rankfeed_op_add_norm;

/* out[r] = x[first token of row r], or the mean of the row's tokens; zeros for an empty row. */
enum { RANKFEED_GPU_FIRST = 0, RANKFEED_GPU_MEAN = 1 };
typedef struct {
  uint32_t dtype, rows, hidden;
  const void* x;
  const int32_t* cu_seqlens;
  void* out;     /* elements [rows, hidden] */
  uint32_t pool; /* RANKFEED_GPU_FIRST, MEAN */
} rankfeed_op_first;

/* logits[r, l] = x[r] . w[l] + bias[l] in float; NaN for an empty row. bias null: none. */
typedef struct {
  uint32_t dtype, rows, labels, hidden;
  const void *x, *w;
  const float* bias;
  const int32_t* cu_seqlens;
  float* logits; /* [rows, labels] */
} rankfeed_op_logits;

typedef struct rankfeed_gpu_ops {
  uint32_t struct_size;
  uint32_t abi;    /* RANKFEED_GPU_OPS_ABI */
  uint32_t dtypes; /* bit 1 << RANKFEED_DTYPE_* for each supported */
  /* Loads and makes what only a forward needs, once for a context; before the others that take it.
   * 0 or an error of the backend. */
  int32_t (*open)(void* ctx);
  /* NUL-terminated: what multiplies matrices, and how many products so far were left to a slower
   * one. */
  void (*describe)(void* ctx, char* out, uint64_t capacity);
  /* Scratch for batches whose longest row is max_seqlen, of a model whose tables of relative
   * positions have so many rows; 0: it has none. Multiple of 256. */
  uint64_t (*scratch_bytes)(void* ctx, uint32_t max_seqlen, uint32_t relative_rows);
  int32_t (*unpack)(const rankfeed_op_at* at, const rankfeed_op_unpack* op);
  int32_t (*positions)(const rankfeed_op_at* at, const rankfeed_op_positions* op);
  int32_t (*embed)(const rankfeed_op_at* at, const rankfeed_op_embed* op);
  int32_t (*gemm)(const rankfeed_op_at* at, const rankfeed_op_gemm* op);
  int32_t (*attention)(const rankfeed_op_at* at, const rankfeed_op_attention* op);
  int32_t (*add_norm)(const rankfeed_op_at* at, const rankfeed_op_add_norm* op);
  int32_t (*first)(const rankfeed_op_at* at, const rankfeed_op_first* op);
  int32_t (*logits)(const rankfeed_op_at* at, const rankfeed_op_logits* op);
  /* Nullable. Lays the elements [n, k] of a product's w, in memory that the host writes, out in
   * their place as gemm reads them fastest; when a model is opened. 0 or an error of the backend.
   */
  int32_t (*pack)(void* ctx, void* w, uint32_t n, uint32_t k);
  int32_t (*rotary)(const rankfeed_op_at* at, const rankfeed_op_rotary* op);
  int32_t (*gate)(const rankfeed_op_at* at, const rankfeed_op_gate* op);
} rankfeed_gpu_ops;

RANKFEED_END_C

#endif /* RANKFEED_GPU_HANDOFF_CROSSENCODER_OPS_H_ */
