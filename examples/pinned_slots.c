/* SPDX-License-Identifier: MIT
 * Ranks the lines of standard input for a query through a ring of page-locked slots, from C: batches are tokenized into
 * a slot, copied to the device on one stream and scored on another, while the next slot is filled.
 *
 *   pinned_slots_c IMAGE MODEL_FOLDER 'What is a panda?' <passages.txt
 *
 * It runs on the host backend, whose streams are threads. On a GPU the calls are the same: put
 * rankfeed_handoff_cuda_backend() or rankfeed_handoff_hip_backend() below, and link that library (component cuda or hip). */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <rankfeed/crossencoder.h>
#include <rankfeed/handoff.h>
#include <rankfeed/rankfeed.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 16, kTokens = 4096, kSlots = 3 }; /* of a batch; three slots let filling, copying and scoring overlap */

static void check(rankfeed_status status, const char* what) {
  if (status == RANKFEED_OK) return;
  fprintf(stderr, "%s: %s\n", what, rankfeed_status_message(status));
  exit(1);
}

static void* allocate(rankfeed_mem_req need) {
  void* memory = aligned_alloc(need.alignment, (need.size + need.alignment - 1) / need.alignment * need.alignment);
  if (memory == NULL) check(RANKFEED_E_NO_MEMORY, "memory");
  return memory;
}

static void* allocate_array(size_t count, size_t size) {
  return allocate((rankfeed_mem_req){.size = count * size + 1, .alignment = 64});
}

/* Reads all lines, without the ends. */
static rankfeed_source* read_lines(uint32_t* count, size_t* longest) {
  rankfeed_source* lines = NULL;
  for (uint32_t room = 0;;) {
    char* line = NULL;
    size_t capacity = 0;
    ssize_t size = getline(&line, &capacity, stdin);
    if (size < 0) return free(line), lines;
    if (line[size - 1] == '\n') line[--size] = 0;
    if (*count == room) lines = realloc(lines, (room = 2 * room + 64) * sizeof *lines);
    if (lines == NULL) check(RANKFEED_E_NO_MEMORY, "lines");
    lines[(*count)++] = (rankfeed_source){.text = {line, (size_t)size}};
    if ((size_t)size > *longest) *longest = (size_t)size;
  }
}

/* A reranker of one thread, whose batches fit into a slot. */
static rankfeed_reranker* make_reranker(const char* image_path, const rankfeed_rerank_limits* limits,
                                        const rankfeed_rerank_options* options) {
  static rankfeed_mapping image; /* with what is allocated here, until the program ends */
  check(rankfeed_image_open(image_path, RANKFEED_PAGES_AUTO, &image, NULL, NULL), image_path);
  rankfeed_mem_req need = rankfeed_model_mem_req();
  rankfeed_model* vocabulary;
  check(rankfeed_model_open(image.data, image.size, 0, allocate(need), need.size, &vocabulary, NULL), image_path);
  const rankfeed_limits text = {
      .struct_size = sizeof text, .max_text_bytes = limits->max_text_bytes, .cache_bytes = 4 << 20};
  check(rankfeed_encoder_mem_req(vocabulary, &text, &need), "encoder");
  rankfeed_encoder* encoder;
  check(rankfeed_encoder_init(vocabulary, &text, allocate(need), need.size, &encoder), "encoder");
  check(rankfeed_reranker_mem_req(vocabulary, limits, options, &need), "reranker");
  rankfeed_reranker* reranker;
  check(rankfeed_reranker_init(vocabulary, limits, options, &encoder, allocate(need), need.size, &reranker), "reranker");
  return reranker;
}

static rankfeed_handoff* open_ring(const rankfeed_gpu_backend* backend, uint64_t bytes, uint32_t slots, uint32_t flags) {
  const rankfeed_handoff_options options = {
      .struct_size = sizeof options, .flags = flags, .slot_bytes = bytes, .slots = slots, .backend = backend};
  rankfeed_handoff* ring;
  check(rankfeed_handoff_open(&options, &ring, NULL), "ring");
  return ring;
}

/* Fills, submits and scores all batches of a request; keeps them in `batches`, whose number it returns. The device writes
 * the logits of row r to logits[r], which is page-locked memory too. */
static uint32_t queue_batches(rankfeed_reranker* reranker, const rankfeed_crossencoder* model, rankfeed_handoff* ring,
                              const rankfeed_rerank_options* options, float* logits, rankfeed_batch* batches) {
  rankfeed_mem_req need;
  check(rankfeed_crossencoder_workspace(model, kRows, kTokens, options->max_length, &need), "workspace");
  void *workspace, *copies, *work;
  check(rankfeed_handoff_device_alloc(ring, need.size, &workspace), "device memory");
  check(rankfeed_handoff_stream_create(ring, &copies), "stream");
  check(rankfeed_handoff_stream_create(ring, &work), "stream");
  uint32_t count = 0;
  for (;; ++count) {
    rankfeed_handoff_slot slot;
    rankfeed_handoff_view view = {.struct_size = sizeof view};
    check(rankfeed_handoff_wait_acquire(ring, UINT64_MAX, &slot, &view), "slot"); /* waits while all are in flight */
    rankfeed_batch* batch = &batches[count];
    *batch = (rankfeed_batch){.struct_size = sizeof *batch, .arena = view.host, .arena_capacity = view.bytes};
    check(rankfeed_rerank_next(reranker, batch), "batch");
    if (batch->rows == 0) {
      check(rankfeed_handoff_abandon(ring, slot), "slot");
      break;
    }
    check(rankfeed_handoff_submit(ring, slot, batch->arena_size, copies, NULL, RANKFEED_HANDOFF_LEASE), "submit");
    check(rankfeed_handoff_stream_wait(ring, slot, work), "stream"); /* the scores wait for the copy, the host does not */
    void* there; /* where the device reads the tensors */
    check(rankfeed_handoff_data(ring, slot, &there), "slot");
    rankfeed_packed_batch packed = {.struct_size = sizeof packed};
    check(rankfeed_packed_batch_of(batch, there, options->tensors != 0, &packed), "batch");
    check(rankfeed_crossencoder_enqueue(model, &packed, work, workspace, need.size, logits + batch->first_row), "scores");
    check(rankfeed_handoff_release(ring, slot, work), "slot"); /* free once the device is past the scores */
  }
  check(rankfeed_handoff_stream_synchronize(ring, work), "stream");
  rankfeed_handoff_stream_destroy(ring, work);
  rankfeed_handoff_stream_destroy(ring, copies);
  rankfeed_handoff_device_free(ring, workspace);
  return count;
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: %s IMAGE MODEL_FOLDER QUERY <passages.txt\n", argv[0]), 2;
  const rankfeed_gpu_backend* backend = rankfeed_handoff_host_backend();
  const rankfeed_text query = {argv[3], strlen(argv[3])};
  uint32_t count = 0;
  size_t longest = query.size + 1;
  const rankfeed_source* documents = read_lines(&count, &longest);
  const rankfeed_crossencoder_options how = {.struct_size = sizeof how, .backend = backend};
  rankfeed_crossencoder_error why = {.struct_size = sizeof why};
  rankfeed_crossencoder* model;
  if (rankfeed_crossencoder_open(argv[2], &how, &model, &why)) return fprintf(stderr, "%s\n", why.message), 1;
  rankfeed_crossencoder_info info = {.struct_size = sizeof info};
  check(rankfeed_crossencoder_get_info(model, &info), argv[2]);
  if (info.labels != 1) return fprintf(stderr, "%s: %u labels, where one ranks\n", argv[2], info.labels), 1;

  rankfeed_rerank_options options;
  rankfeed_rerank_options_init(&options);
  options.max_length = info.max_row_tokens < 512 ? info.max_row_tokens : 512;
  options.truncation = RANKFEED_TRUNCATE_LONGEST_FIRST;
  options.layout = RANKFEED_PACKED;
  options.tensors = info.type_vocab_size > 1 ? RANKFEED_TENSOR_TOKEN_TYPE_IDS : 0;
  options.max_rows_per_batch = kRows;
  options.max_tokens_per_batch = kTokens;
  check(rankfeed_batch_arena_size(&options, kRows, 0, kTokens, &options.max_arena_bytes), "batch");
  const rankfeed_rerank_limits limits = {.struct_size = sizeof limits,
                                         .max_documents = count,
                                         .max_text_bytes = (uint32_t)longest,
                                         .max_tokens = (count + UINT64_C(1)) * options.max_length,
                                         .workers = 1};
  rankfeed_reranker* reranker = make_reranker(argv[1], &limits, &options);
  rankfeed_handoff* ring = open_ring(backend, options.max_arena_bytes, kSlots, RANKFEED_HANDOFF_DEVICE_SLOTS);
  rankfeed_handoff* scores = open_ring(backend, (count + UINT64_C(1)) * sizeof(float), 1, 0);
  rankfeed_handoff_slot slot;
  rankfeed_handoff_view view = {.struct_size = sizeof view};
  check(rankfeed_handoff_acquire(scores, &slot, &view), "slot of scores");
  if (view.mapped == NULL) return fprintf(stderr, "the device cannot write to page-locked memory\n"), 1;

  rankfeed_status* status = allocate_array(count, sizeof *status);
  const rankfeed_request request = {.struct_size = sizeof request,
                                    .document_count = count,
                                    .query = {.text = query},
                                    .documents = documents,
                                    .document_status = status};
  check(rankfeed_rerank_begin(reranker, &request), "query");
  rankfeed_batch* batches = allocate_array(count + 1, sizeof *batches);
  const uint32_t filled = queue_batches(reranker, model, ring, &options, view.mapped, batches);
  const rankfeed_score_options as = {.struct_size = sizeof as, .activation = RANKFEED_SCORE_SIGMOID};
  for (uint32_t i = 0; i < filled; ++i) {
    const float* logits = (const float*)view.host + batches[i].first_row;
    check(rankfeed_rerank_put_scores(reranker, &batches[i], logits, &as), "scores");
  }
  rankfeed_ranked* ranked = allocate_array(count, sizeof *ranked);
  uint32_t ranks = 0;
  check(rankfeed_rerank_rank(reranker, NULL, ranked, count, &ranks), "ranking");
  for (uint32_t i = 0; i < ranks; ++i) printf("%.5f %s\n", ranked[i].score, documents[ranked[i].index].text.data);
  fprintf(stderr, "%u batches through %d slots\n", filled, kSlots);
  rankfeed_handoff_close(scores);
  rankfeed_handoff_close(ring);
  rankfeed_crossencoder_close(model);
  return 0; /* what was allocated goes with the process */
}
