/* SPDX-License-Identifier: MIT
 * Ranks the lines of standard input for a query on the CPU, from C: rows of query and document, packed into batches,
 * and a score for each.
 *
 *   scores_c IMAGE MODEL_FOLDER 'What is a panda?' <passages.txt
 *
 * `rankfeed compile MODEL_FOLDER -o IMAGE` makes IMAGE. Prints a score and a passage a line, best first. */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <rankfeed/crossencoder.h>
#include <rankfeed/parallel.h>
#include <rankfeed/rankfeed.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 64, kTokens = 8192 }; /* of a batch */

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

static rankfeed_model* open_vocabulary(const char* path, rankfeed_mapping* image) {
  check(rankfeed_image_open(path, RANKFEED_PAGES_AUTO, image, NULL, NULL), path);
  const rankfeed_mem_req need = rankfeed_model_mem_req();
  rankfeed_model* vocabulary;
  check(rankfeed_model_open(image->data, image->size, 0, allocate(need), need.size, &vocabulary, NULL), path);
  return vocabulary;
}

/* A reranker over an encoder for each thread, in memory of this program; it stays. */
static rankfeed_reranker* make_reranker(const rankfeed_model* vocabulary, const rankfeed_rerank_limits* limits,
                                        const rankfeed_rerank_options* options) {
  const rankfeed_limits text = {
      .struct_size = sizeof text, .max_text_bytes = limits->max_text_bytes, .cache_bytes = 4 << 20};
  rankfeed_mem_req need;
  check(rankfeed_encoder_mem_req(vocabulary, &text, &need), "encoder");
  rankfeed_encoder** encoders = allocate_array(limits->workers, sizeof *encoders);
  for (uint32_t i = 0; i < limits->workers; ++i) {
    check(rankfeed_encoder_init(vocabulary, &text, allocate(need), need.size, &encoders[i]), "encoder");
  }
  check(rankfeed_reranker_mem_req(vocabulary, limits, options, &need), "reranker");
  rankfeed_reranker* reranker;
  check(rankfeed_reranker_init(vocabulary, limits, options, encoders, allocate(need), need.size, &reranker), "reranker");
  return reranker;
}

/* Scores all batches of a request. Once the two pieces of memory are there nothing allocates. */
static void score(rankfeed_reranker* reranker, const rankfeed_request* request, const rankfeed_rerank_options* options,
                  const rankfeed_crossencoder* model) {
  rankfeed_mem_req arena = {.alignment = 256}, work;
  check(rankfeed_batch_arena_size(options, kRows, 0, kTokens, &arena.size), "batch");
  check(rankfeed_crossencoder_workspace(model, kRows, kTokens, options->max_length, &work), "workspace");
  void *tensors = allocate(arena), *workspace = allocate(work);
  check(rankfeed_rerank_begin(reranker, request), "query");
  for (;;) {
    rankfeed_batch batch = {.struct_size = sizeof batch, .arena = tensors, .arena_capacity = arena.size};
    check(rankfeed_rerank_next(reranker, &batch), "batch");
    if (batch.rows == 0) break;
    rankfeed_packed_batch packed = {.struct_size = sizeof packed};
    check(rankfeed_packed_batch_of(&batch, tensors, options->tensors != 0, &packed), "batch");
    float logits[kRows];
    check(rankfeed_crossencoder_score(model, &packed, workspace, work.size, logits), "scores");
    const rankfeed_score_options as = {.struct_size = sizeof as, .activation = RANKFEED_SCORE_SIGMOID};
    check(rankfeed_rerank_put_scores(reranker, &batch, logits, &as), "scores");
  }
  free(tensors), free(workspace);
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: %s IMAGE MODEL_FOLDER QUERY <passages.txt\n", argv[0]), 2;
  const rankfeed_text query = {argv[3], strlen(argv[3])};
  uint32_t count = 0;
  size_t longest = query.size + 1;
  const rankfeed_source* documents = read_lines(&count, &longest);

  /* Vocabulary, model and threads may be shared by any number of rerankers. */
  rankfeed_mapping image;
  const rankfeed_model* vocabulary = open_vocabulary(argv[1], &image);
  rankfeed_parallel* threads;
  check(rankfeed_parallel_open(0, &threads), "threads"); /* one for each CPU */
  const rankfeed_executor* executor = rankfeed_parallel_executor(threads);
  const rankfeed_crossencoder_options how = {.struct_size = sizeof how, .executor = executor};
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
  const rankfeed_rerank_limits limits = {.struct_size = sizeof limits,
                                         .max_documents = count,
                                         .max_text_bytes = (uint32_t)longest,
                                         .max_tokens = (count + UINT64_C(1)) * options.max_length,
                                         .workers = executor->workers};
  rankfeed_reranker* reranker = make_reranker(vocabulary, &limits, &options);
  rankfeed_status* status = allocate_array(count, sizeof *status);
  const rankfeed_request request = {.struct_size = sizeof request,
                                    .document_count = count,
                                    .query = {.text = query},
                                    .documents = documents,
                                    .document_status = status,
                                    .executor = executor};
  score(reranker, &request, &options, model);
  rankfeed_ranked* ranked = allocate_array(count, sizeof *ranked);
  uint32_t ranks = 0;
  check(rankfeed_rerank_rank(reranker, NULL, ranked, count, &ranks), "ranking");
  for (uint32_t i = 0; i < ranks; ++i) printf("%.5f %s\n", ranked[i].score, documents[ranked[i].index].text.data);
  for (uint32_t i = 0; i < count; ++i) {
    if (status[i]) fprintf(stderr, "line %u has no row: %s\n", i + 1, rankfeed_status_message(status[i]));
  }
  rankfeed_crossencoder_close(model); /* before the threads that it works on */
  rankfeed_parallel_close(threads);
  rankfeed_image_unmap(&image);
  return 0; /* what was allocated goes with the process */
}
