/* SPDX-License-Identifier: MIT
 * Encodes the lines of standard input on a thread pool of the program's own, from C: one vocabulary for all threads, one
 * encoder for each.
 *
 *   thread_pool_c IMAGE THREADS <passages.txt
 *
 * Prints the ids of each line with special tokens, in the lines' order. The pool is a rankfeed_executor, so the same one
 * goes into rankfeed_request (rankfeed/rerank.h) and into rankfeed_crossencoder_options. */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <rankfeed/rankfeed.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- the pool: threads that sleep between jobs, of which there is one at a time ---- */

enum { kMostWorkers = 64 };
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t begun, ended;
  uint64_t jobs; /* begun so far */
  int stopping, busy; /* threads that are at the job */
  rankfeed_task task;
  void* context;
  size_t count;
  atomic_size_t next; /* first item that nobody has taken */
  uint32_t threads;   /* beside the caller's own */
  pthread_t thread[kMostWorkers];
} pool;
typedef struct {
  pool* of;
  uint32_t worker;
} seat;

static void take_items(pool* p, uint32_t worker) {
  for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->count;) p->task(p->context, i, i + 1, worker);
}

static void* run_thread(void* context) {
  const seat at = *(seat*)context;
  free(context);
  pthread_mutex_lock(&at.of->mutex);
  for (uint64_t seen = 0;;) {
    while (at.of->jobs == seen && !at.of->stopping) pthread_cond_wait(&at.of->begun, &at.of->mutex);
    if (at.of->stopping) break;
    seen = at.of->jobs;
    pthread_mutex_unlock(&at.of->mutex);
    take_items(at.of, at.worker);
    pthread_mutex_lock(&at.of->mutex);
    if (--at.of->busy == 0) pthread_cond_signal(&at.of->ended);
  }
  pthread_mutex_unlock(&at.of->mutex);
  return NULL;
}

/* Runs as rankfeed_executor says: every item once, each worker's number on one thread at a time; returns when all is done. */
static rankfeed_status run_job(void* context, size_t count, rankfeed_task task, void* task_context) {
  pool* p = context;
  pthread_mutex_lock(&p->mutex);
  p->task = task, p->context = task_context, p->count = count;
  atomic_store(&p->next, 0);
  p->busy = (int)p->threads;
  ++p->jobs;
  pthread_cond_broadcast(&p->begun);
  pthread_mutex_unlock(&p->mutex);
  take_items(p, 0); /* the caller works too */
  pthread_mutex_lock(&p->mutex);
  while (p->busy != 0) pthread_cond_wait(&p->ended, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
  return RANKFEED_OK;
}

static void start_threads(pool* p, uint32_t workers) {
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->begun, NULL);
  pthread_cond_init(&p->ended, NULL);
  for (uint32_t i = 1; i < workers; ++i) {
    seat* at = malloc(sizeof *at);
    if (at == NULL) check(RANKFEED_E_NO_MEMORY, "threads");
    *at = (seat){p, i};
    if (pthread_create(&p->thread[p->threads], NULL, run_thread, at)) check(RANKFEED_E_NO_MEMORY, "threads");
    ++p->threads;
  }
}

static void stop_threads(pool* p) {
  pthread_mutex_lock(&p->mutex);
  p->stopping = 1;
  pthread_cond_broadcast(&p->begun);
  pthread_mutex_unlock(&p->mutex);
  for (uint32_t i = 0; i < p->threads; ++i) pthread_join(p->thread[i], NULL);
}

/* ---- what it does ---- */

typedef struct {
  rankfeed_text text;
  int32_t* ids;
  uint32_t count;
  rankfeed_status status;
} line;
typedef struct {
  line* lines;
  rankfeed_encoder* encoders[kMostWorkers]; /* one for each worker */
  int32_t* ids[kMostWorkers];               /* likewise: room for the longest line's */
  uint32_t room;
} work;

static void encode_lines(void* context, size_t begin, size_t end, uint32_t worker) {
  work* w = context;
  const rankfeed_encode_options options = {.struct_size = sizeof options, .flags = RANKFEED_ADD_SPECIAL_TOKENS};
  for (size_t i = begin; i < end; ++i) {
    line* l = &w->lines[i];
    rankfeed_encoding io = {.struct_size = sizeof io, .capacity = w->room, .input_ids = w->ids[worker]};
    l->status = rankfeed_encode(w->encoders[worker], l->text, &options, &io);
    if (l->status != RANKFEED_OK) continue;
    l->ids = malloc((io.count + 1) * sizeof *l->ids);
    if (l->ids == NULL) { l->status = RANKFEED_E_NO_MEMORY; continue; }
    memcpy(l->ids, io.input_ids, io.count * sizeof *l->ids);
    l->count = io.count;
  }
}

int main(int argc, char** argv) {
  const uint32_t workers = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
  if (workers < 1 || workers > kMostWorkers) {
    return fprintf(stderr, "usage: %s IMAGE THREADS <passages.txt (1 to %d threads)\n", argv[0], kMostWorkers), 2;
  }
  work w = {0};
  size_t count = 0, room = 0, longest = 1;
  for (;;) {
    char* text = NULL;
    size_t capacity = 0;
    ssize_t size = getline(&text, &capacity, stdin);
    if (size < 0) { free(text); break; }
    if (text[size - 1] == '\n') --size;
    if (count == room) w.lines = realloc(w.lines, (room = 2 * room + 64) * sizeof *w.lines);
    if (w.lines == NULL) check(RANKFEED_E_NO_MEMORY, "lines");
    w.lines[count++] = (line){.text = {text, (size_t)size}};
    if ((size_t)size > longest) longest = (size_t)size;
  }

  rankfeed_mapping image;
  check(rankfeed_image_open(argv[1], RANKFEED_PAGES_AUTO, &image, NULL, NULL), argv[1]);
  rankfeed_mem_req need = rankfeed_model_mem_req();
  rankfeed_model* vocabulary;
  check(rankfeed_model_open(image.data, image.size, 0, allocate(need), need.size, &vocabulary, NULL), argv[1]);
  const rankfeed_limits limits = {
      .struct_size = sizeof limits, .max_text_bytes = (uint32_t)longest, .cache_bytes = 1 << 20};
  check(rankfeed_encoder_mem_req(vocabulary, &limits, &need), "encoder");
  w.room = rankfeed_token_bound(vocabulary, longest);
  for (uint32_t i = 0; i < workers; ++i) {
    check(rankfeed_encoder_init(vocabulary, &limits, allocate(need), need.size, &w.encoders[i]), "encoder");
    w.ids[i] = allocate((rankfeed_mem_req){w.room * sizeof(int32_t), 64});
  }
  static pool threads;
  start_threads(&threads, workers);
  const rankfeed_executor executor = {
      .struct_size = sizeof executor, .workers = workers, .context = &threads, .parallel_for = run_job};
  check(executor.parallel_for(executor.context, count, encode_lines, &w), "threads");
  stop_threads(&threads);
  for (size_t i = 0; i < count; ++i) {
    check(w.lines[i].status, "a line");
    for (uint32_t t = 0; t < w.lines[i].count; ++t) printf(t == 0 ? "%d" : " %d", w.lines[i].ids[t]);
    printf("\n");
  }
  rankfeed_image_unmap(&image);
  return 0; /* what was allocated goes with the process */
}
