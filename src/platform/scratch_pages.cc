// SPDX-License-Identifier: MIT
#include "platform/scratch_pages.h"

#include <errno.h>

#include <cstdint>

#include "platform/map_file.h"
#include "platform/system_pages.h"

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
  if (const int error = DropWholePages(pages.begin, pages.size)) return error;
  *dropped = pages.size;
  return 0;
}

int PopulatePages(void* begin, size_t size) {
  const size_t page = PageSize();
  const auto address = reinterpret_cast<uintptr_t>(begin), first = address / page * page;
  const int error = PopulateWholePages(reinterpret_cast<void*>(first), address + size - first);
  if (error != EINVAL || size == 0) return error;
  const auto touch = [begin](size_t at) {
    volatile char& byte = static_cast<char*>(begin)[at];
    byte = byte;
  };
  for (size_t at = 0; at < size; at += page) touch(at);
  touch(size - 1);  // on one page more where begin is in the midst of its own
  return 0;
}

void WishForHugePages(void* begin, size_t size) {
  const Whole pages = WholePages(begin, size, kHugePage);
  if (pages.size == 0) return;
  const int error = errno;  // the caller's
  (void)AdviseHugePages(pages.begin, pages.size, true);
  errno = error;
}

}  // namespace rankfeed::platform
