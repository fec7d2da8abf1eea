/* SPDX-License-Identifier: MIT
 * scarce_memory.c: a module for LD_PRELOAD under which memory of a program that links mimalloc runs out when
 * somebody outside says so: at the n-th allocation or thread, and at some after it. It counts for as long as the
 * process runs, so that one process shows what happens at every n. The page that RANKFEED_SCARCE names is read and
 * written by both (memory_test.py). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct {
  _Atomic int64_t count;   /* allocations and threads asked for */
  _Atomic int64_t fail_at; /* the first that fails; 0: none */
  _Atomic int64_t times;   /* how many fail */
  _Atomic int64_t failed;  /* how many did */
} Page;

static Page* page;

__attribute__((constructor)) static void Map(void) {
  const char* const path = getenv("RANKFEED_SCARCE");
  const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = mmap(NULL, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) page = mapped;
}

static int Refused(void) {
  if (page == NULL) return 0;
  const int64_t number = atomic_fetch_add(&page->count, 1) + 1, first = atomic_load(&page->fail_at);
  if (first == 0 || number < first || number >= first + atomic_load(&page->times)) return 0;
  atomic_fetch_add(&page->failed, 1);
  errno = ENOMEM;
  return 1;
}

#define REAL(type, name, ...)                                 \
  static type (*real)(__VA_ARGS__);                           \
  if (real == NULL) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void* mi_malloc(size_t size) {
  REAL(void*, "mi_malloc", size_t);
  return Refused() ? NULL : real(size);
}

void* mi_calloc(size_t count, size_t size) {
  REAL(void*, "mi_calloc", size_t, size_t);
  return Refused() ? NULL : real(count, size);
}

void* mi_realloc(void* block, size_t size) {
  REAL(void*, "mi_realloc", void*, size_t);
  return Refused() ? NULL : real(block, size);
}

void* mi_memalign(size_t alignment, size_t size) {
  REAL(void*, "mi_memalign", size_t, size_t);
  return Refused() ? NULL : real(alignment, size);
}

void* mi_malloc_aligned(size_t size, size_t alignment) {
  REAL(void*, "mi_malloc_aligned", size_t, size_t);
  return Refused() ? NULL : real(size, alignment);
}

int mi_posix_memalign(void** out, size_t alignment, size_t size) {
  REAL(int, "mi_posix_memalign", void**, size_t, size_t);
  return Refused() ? ENOMEM : real(out, alignment, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  REAL(int, "pthread_create", pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return Refused() ? EAGAIN : real(thread, attributes, run, argument);
}
