// SPDX-License-Identifier: MIT
// crossencoder/host/attention.h: attention of one row and one head on the host, float32, in SIMD
// (Highway, chosen at run time). Of its own and not two products: rows of a reranker are short and
// heads narrow, so that a product takes longer to set out than to multiply (two for each row, head
// and layer).
#ifndef RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ATTENTION_H_
#define RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ATTENTION_H_

#include <cstddef>
#include <cstdint>

namespace rankfeed::handoff {

// Where the head's part of a row lies: token t's begins at t * stride floats (out: at t *
// out_stride).
struct AttentionHead {
  const float *q, *k, *v;
  size_t stride;
  float* out;
  size_t out_stride;
};

// Products with relative positions (ops.h, rankfeed_relative) of one head: row p of a table begins
// at p * stride. buckets null: none.
struct RelativeHead {
  const float *keys = nullptr, *queries = nullptr;
  size_t stride = 0;
  const int32_t* buckets = nullptr;  // of distance 0
  uint32_t rows = 0;
};

// Floats of scratch for a row of up to `tokens`. A head is of at most RANKFEED_GPU_MAX_HEAD.
// relative_rows: of the tables of relative positions, 0: there are none.
uint64_t AttentionScratch(uint64_t tokens, uint64_t relative_rows = 0);

// out = softmax(q k^T * scale) v for the first `queries` tokens of the row, over the keys at most
// `window` tokens before or after a query; 0: over all. 0 < queries <= tokens; scale > 0. A NaN
// anywhere in v makes all of out NaN. What a row gets depends on that row alone, and a query's
// result not on how many there are. O(queries * keys * head_dim).
void Attend(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim,
            size_t window, float scale, float* scratch, const RelativeHead& relative = {});

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ATTENTION_H_
