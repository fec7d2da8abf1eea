/* SPDX-License-Identifier: MIT
 * The C API as cgo and other FFIs call it: opaque handles, memory that the foreign runtime owns and
 * may move between calls, no inline functions, no macros needed, every call checked. C11, shared
 * library, no C++ anywhere. One query against three documents in two batches; prints the rows' ids. */
#include <rankfeed/rankfeed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                             \
  do {                                                                          \
    rankfeed_status status_ = (call);                                           \
    if (status_ != RANKFEED_OK) {                                               \
      fprintf(stderr, "%s: %s\n", #call, rankfeed_status_name(status_));        \
      return 1;                                                                 \
    }                                                                           \
  } while (0)

static void* take(rankfeed_mem_req need) {
  return aligned_alloc(need.alignment, (need.size + need.alignment - 1) & ~(need.alignment - 1));
}

static rankfeed_text text_of(const char* s) {
  rankfeed_text text = {s, strlen(s)};
  return text;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  rankfeed_mapping image;
  rankfeed_error_detail detail = {.struct_size = sizeof detail};
  if (rankfeed_image_map("/no/such/file", &image, &detail) != RANKFEED_E_IO || detail.item == 0) return 3;
  CHECK(rankfeed_image_map(argv[1], &image, &detail));
  rankfeed_mem_req need = rankfeed_model_mem_req();
  void* storage = take(need);
  rankfeed_model* model;
  CHECK(rankfeed_model_open(image.data, image.size, 0, storage, need.size, &model, NULL));

  rankfeed_limits text_limits = {.struct_size = sizeof text_limits, .max_text_bytes = 4096};
  CHECK(rankfeed_encoder_mem_req(model, &text_limits, &need));
  void* encoder_scratch = take(need);
  rankfeed_encoder* encoder;
  CHECK(rankfeed_encoder_init(model, &text_limits, encoder_scratch, need.size, &encoder));

  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.max_length = 16;
  options.truncation = RANKFEED_TRUNCATE_ONLY_SECOND;
  options.layout = RANKFEED_PACKED;
  options.max_rows_per_batch = 2;
  rankfeed_rerank_limits limits = {.struct_size = sizeof limits,
                                   .max_documents = 3,
                                   .max_text_bytes = 4096,
                                   .max_tokens = 4 * 4096,
                                   .workers = 1};
  CHECK(rankfeed_reranker_mem_req(model, &limits, &options, &need));
  void* scratch = take(need);
  rankfeed_reranker* reranker;
  CHECK(rankfeed_reranker_init(model, &limits, &options, &encoder, scratch, need.size, &reranker));

  const rankfeed_source documents[3] = {{.text = text_of("A panda is a bear.")},
                                        {.text = text_of("")},
                                        {.text = text_of("It eats bamboo, and eats, and eats.")}};
  rankfeed_status status[3];
  rankfeed_request request = {.struct_size = sizeof request,
                              .document_count = 3,
                              .query = {.text = text_of("What is a panda?")},
                              .documents = documents,
                              .document_status = status};
  CHECK(rankfeed_rerank_begin(reranker, &request));
  int batches = 0;
  for (size_t bytes = 256;;) {
    void* arena = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    rankfeed_batch batch = {.struct_size = sizeof batch, .arena = arena, .arena_capacity = bytes};
    const rankfeed_status result = rankfeed_rerank_next(reranker, &batch);
    if (result == RANKFEED_E_OUTPUT_SIZE) { /* the need is reported */
      bytes = batch.arena_size;
      free(arena);
      continue;
    }
    CHECK(result);
    if (batch.rows == 0) {
      free(arena);
      break;
    }
    ++batches;
    const int32_t* ids = batch.input_ids.data;
    const int32_t* starts = batch.cu_seqlens.data;
    float logits[2];
    for (uint32_t r = 0; r < batch.rows; ++r) {
      for (int32_t i = starts[r]; i < starts[r + 1]; ++i) printf("%d ", ids[i]);
      printf("\n");
      logits[r] = (float)batch.row_map[r].document;
    }
    CHECK(rankfeed_rerank_put_scores(reranker, &batch, logits, NULL));
    free(arena);
  }
  rankfeed_ranked ranked[3];
  uint32_t count = 0;
  CHECK(rankfeed_rerank_rank(reranker, NULL, ranked, 3, &count));
  if (batches != 2 || count != 3 || ranked[0].index != 2 || ranked[2].index != 0) return 4;
  free(scratch);
  free(encoder_scratch);
  free(storage);
  rankfeed_image_unmap(&image);
  return 0;
}
