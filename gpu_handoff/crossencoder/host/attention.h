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

// Floats of scratch for a row of up to `tokens`. A head is of at most RANKFEED_GPU_MAX_HEAD.
uint64_t AttentionScratch(uint64_t tokens);

// out = softmax(q k^T * scale) v for the first `queries` tokens of the row. 0 < queries <= tokens;
// scale > 0. A NaN anywhere in v makes all of out NaN. What a row gets depends on that row alone,
// and a query's result not on how many there are. O(queries * tokens * head_dim).
void Attend(const AttentionHead& head, size_t queries, size_t tokens, size_t head_dim, float scale,
            float* scratch);

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_CROSSENCODER_HOST_ATTENTION_H_
