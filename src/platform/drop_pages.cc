// SPDX-License-Identifier: MIT
#include "platform/drop_pages.h"

#include <errno.h>
#include <sys/mman.h>

#include <cstdint>

#include "platform/map_file.h"

namespace rankfeed::platform {

int DropPages(void* begin, size_t size, size_t* dropped) {
  *dropped = 0;
  const size_t page = PageSize();
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (address + page - 1) / page * page;
  const uintptr_t end = (address + size) / page * page;
  if (end <= first) return 0;
  if (madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED) != 0) return errno;
  *dropped = end - first;
  return 0;
}

}  // namespace rankfeed::platform
