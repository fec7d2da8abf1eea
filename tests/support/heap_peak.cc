// SPDX-License-Identifier: MIT
#include "support/heap_peak.h"

#include <algorithm>
#include <cstddef>

#include "support/sanitizers.h"

namespace rankfeed::test {
namespace {

struct Count {
  bool on = false;
  int64_t live = 0, peak = 0;
};
// initial-exec: the first access to a dynamic thread-local could itself allocate.
__attribute__((tls_model("initial-exec"))) thread_local Count count;

void Took(size_t size) {
  if (!count.on) return;
  count.live += static_cast<int64_t>(size);
  count.peak = std::max(count.peak, count.live);
}
void Gave(size_t size) {
  if (count.on) count.live -= static_cast<int64_t>(size);
}

}  // namespace

HeapPeak::HeapPeak() {
  count = {true, 0, 0};
}
HeapPeak::~HeapPeak() {
  count.on = false;
}
uint64_t HeapPeak::bytes() const {
  return static_cast<uint64_t>(count.peak);
}

}  // namespace rankfeed::test

using rankfeed::test::Gave;
using rankfeed::test::Took;

#ifdef RANKFEED_TEST_SANITIZED

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void*);

namespace {
void OnMalloc(const volatile void*, size_t size) {
  Took(size);
}
void OnFree(const volatile void* block) {
  if (block != nullptr) Gave(__sanitizer_get_allocated_size(block));
}
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(OnMalloc, OnFree);
}  // namespace

#else

#include <errno.h>
#include <malloc.h>

namespace {
void* Counted(void* block) {
  if (block != nullptr) Took(malloc_usable_size(block));
  return block;
}
}  // namespace

// Clang applies -fvisibility=hidden to them, and then shared libraries would not see them.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t size) {
  return Counted(__libc_malloc(size));
}
void* calloc(size_t n, size_t size) {
  return Counted(__libc_calloc(n, size));
}
void* realloc(void* block, size_t size) {
  const size_t before = block != nullptr ? malloc_usable_size(block) : 0;
  void* const moved = __libc_realloc(block, size);
  if (moved != nullptr || size == 0) Gave(before);
  return Counted(moved);
}
void* memalign(size_t alignment, size_t size) {
  return Counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) {
  return Counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* const block = Counted(__libc_memalign(alignment, size));
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
void free(void* block) {
  if (block != nullptr) Gave(malloc_usable_size(block));
  __libc_free(block);
}
}
#pragma GCC visibility pop

#endif
