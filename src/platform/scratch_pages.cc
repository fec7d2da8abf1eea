// SPDX-License-Identifier: MIT
#include "platform/scratch_pages.h"

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>

#include "platform/map_file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // linux/mman.h, not in every libc's headers
#endif

namespace rankfeed::platform {
namespace {

struct Whole {
  void* begin;
  size_t size;
};

// The whole pages of that size inside the range.
Whole WholePages(void* begin, size_t size, size_t page) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (address + page - 1) / page * page;
  const uintptr_t end = (address + size) / page * page;
  return {reinterpret_cast<void*>(first), end > first ? end - first : 0};
}

}  // namespace

int DropPages(void* begin, size_t size, size_t* dropped) {
  *dropped = 0;
  const Whole pages = WholePages(begin, size, PageSize());
  if (pages.size == 0) return 0;
  if (madvise(pages.begin, pages.size, MADV_DONTNEED) != 0) return errno;
  *dropped = pages.size;
  return 0;
}

int PopulatePages(void* begin, size_t size) {
  const size_t page = PageSize();
  const auto address = reinterpret_cast<uintptr_t>(begin), first = address / page * page;
  if (madvise(reinterpret_cast<void*>(first), address + size - first, MADV_POPULATE_WRITE) == 0) {
    return 0;
  }
  if (errno != EINVAL) return errno;
  for (size_t at = 0; at < size; at += page) {
    volatile char& byte = static_cast<char*>(begin)[at];
    byte = byte;
  }
  return 0;
}

void WishForHugePages(void* begin, size_t size) {
  const Whole pages = WholePages(begin, size, kHugePage);
  if (pages.size == 0) return;
  const int error = errno;  // the caller's
  (void)madvise(pages.begin, pages.size, MADV_HUGEPAGE);
  errno = error;
}

}  // namespace rankfeed::platform
