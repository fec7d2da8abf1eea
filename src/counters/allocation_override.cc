// SPDX-License-Identifier: MIT
// counters/allocation_override.cc: malloc and its kin and operator new of a program, served by
// mimalloc and counted. Linked into programs only (target rankfeed_accounting); see allocation.h.
//
// The set is the one glibc's manual names under "Replacing malloc". valloc and pvalloc, which nothing
// here calls, stay libmimalloc's own and are not counted.
#include <errno.h>
#include <mimalloc.h>
#include <stddef.h>

#include <new>

#include "counters/allocation.h"

namespace {

namespace accounting = rankfeed::counters::accounting;

inline void* Count(void* block) {
  if (accounting::On() && block != nullptr) accounting::Allocated(mi_usable_size(block));
  return block;
}

inline void Free(void* block) {
  if (accounting::On() && block != nullptr) accounting::Freed(mi_usable_size(block));
  mi_free(block);
}

// operator new's rule: call the handler until there is memory or no handler.
template <class Allocate>
void* OrThrow(Allocate allocate) {
  for (;;) {
    if (void* block = Count(allocate())) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

template <class Allocate>
void* OrNull(Allocate allocate) noexcept {
  try {
    return OrThrow(allocate);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

struct Installer {
  Installer() { accounting::SetInstalled(); }
} g_installer;

}  // namespace

#define RANKFEED_EXPORT __attribute__((visibility("default"), used))

extern "C" {
RANKFEED_EXPORT void* malloc(size_t size) noexcept { return Count(mi_malloc(size)); }
RANKFEED_EXPORT void* calloc(size_t n, size_t size) noexcept { return Count(mi_calloc(n, size)); }
RANKFEED_EXPORT void free(void* block) noexcept { Free(block); }
RANKFEED_EXPORT void* realloc(void* block, size_t size) noexcept {
  if (!accounting::On()) return mi_realloc(block, size);
  const size_t before = block != nullptr ? mi_usable_size(block) : 0;
  void* moved = mi_realloc(block, size);
  if (moved != nullptr) {
    if (block != nullptr) accounting::Freed(before);
    Count(moved);
  }
  return moved;
}
RANKFEED_EXPORT void* memalign(size_t alignment, size_t size) noexcept {
  return Count(mi_memalign(alignment, size));
}
RANKFEED_EXPORT void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return Count(mi_memalign(alignment, size));
}
RANKFEED_EXPORT int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  const int error = mi_posix_memalign(out, alignment, size);
  if (error == 0) Count(*out);
  return error;
}
RANKFEED_EXPORT size_t malloc_usable_size(void* block) noexcept { return mi_usable_size(block); }
}

RANKFEED_EXPORT void* operator new(size_t size) {
  return OrThrow([=] { return mi_malloc(size); });
}
RANKFEED_EXPORT void* operator new[](size_t size) {
  return OrThrow([=] { return mi_malloc(size); });
}
RANKFEED_EXPORT void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return OrNull([=] { return mi_malloc(size); });
}
RANKFEED_EXPORT void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return OrNull([=] { return mi_malloc(size); });
}
RANKFEED_EXPORT void* operator new(size_t size, std::align_val_t a) {
  return OrThrow([=] { return mi_malloc_aligned(size, static_cast<size_t>(a)); });
}
RANKFEED_EXPORT void* operator new[](size_t size, std::align_val_t a) {
  return OrThrow([=] { return mi_malloc_aligned(size, static_cast<size_t>(a)); });
}
RANKFEED_EXPORT void* operator new(size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return OrNull([=] { return mi_malloc_aligned(size, static_cast<size_t>(a)); });
}
RANKFEED_EXPORT void* operator new[](size_t size, std::align_val_t a,
                                     const std::nothrow_t&) noexcept {
  return OrNull([=] { return mi_malloc_aligned(size, static_cast<size_t>(a)); });
}
RANKFEED_EXPORT void operator delete(void* p) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete[](void* p) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete(void* p, size_t) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete[](void* p, size_t) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete(void* p, std::align_val_t) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete[](void* p, std::align_val_t) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete(void* p, size_t, std::align_val_t) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete[](void* p, size_t, std::align_val_t) noexcept { Free(p); }
RANKFEED_EXPORT void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(p);
}
RANKFEED_EXPORT void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(p);
}
