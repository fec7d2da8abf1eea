// SPDX-License-Identifier: MIT
// tests/support/allocation_trap.cc: see allocation_trap.h. The replacements only count and pass on
// to glibc's own entry points.
#include "support/allocation_trap.h"

#include "support/sanitizers.h"

namespace rankfeed::allocation_trap {
namespace {

// initial-exec: the first access to a dynamic thread-local could itself allocate.
__attribute__((tls_model("initial-exec"))) thread_local bool armed = false;
__attribute__((tls_model("initial-exec"))) thread_local size_t seen = 0;

}  // namespace

void Count() {
  if (armed) ++seen;
}
void Arm() {
  seen = 0;
  armed = true;
}
size_t Disarm() {
  armed = false;
  return seen;
}

}  // namespace rankfeed::allocation_trap

#ifdef RANKFEED_TEST_SANITIZED

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
namespace {
void OnMalloc(const volatile void*, size_t) {
  rankfeed::allocation_trap::Count();
}
void OnFree(const volatile void*) {}
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(OnMalloc, OnFree);
}  // namespace

#else

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

using rankfeed::allocation_trap::Count;

// Clang applies -fvisibility=hidden to them, and then shared libraries would not see them.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count();
  return __libc_calloc(count, size);
}
void* realloc(void* p, size_t size) {
  Count();
  return __libc_realloc(p, size);
}
void* memalign(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  Count();
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* p) {
  __libc_free(p);
}
void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  Count();
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, fd, offset));
}
}  // extern "C"
#pragma GCC visibility pop

void* operator new(size_t size) {
  if (void* p = malloc(size)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t size, std::align_val_t alignment) {
  if (void* p = memalign(static_cast<size_t>(alignment), size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  __libc_free(p);
}
void operator delete(void* p, size_t) noexcept {
  __libc_free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  __libc_free(p);
}
void operator delete(void* p, size_t, std::align_val_t) noexcept {
  __libc_free(p);
}

#endif
