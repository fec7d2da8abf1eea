// SPDX-License-Identifier: MIT
// platform/pages_posix.cc: see system_pages.h. Base pages and nothing else, for macOS: its large
// pages are not for data of a program's choosing, and its shared memory cannot be sealed.
#include <errno.h>
#include <sys/mman.h>

#include "platform/place.h"
#include "platform/system_pages.h"

namespace rankfeed::platform {

int AdviseHugePages(void*, size_t, bool huge) {
  return huge ? ENOTSUP : 0;
}

void* MapHugetlb(size_t, int) {
  errno = ENOTSUP;
  return nullptr;
}

int SharedMemory(size_t, bool) {
  errno = ENOTSUP;
  return -1;
}

int Seal(int, const Mapping&) {
  return ENOTSUP;
}

bool IsSealed(int) {
  return false;
}

int PopulateWholePages(void*, size_t) {
  return EINVAL;
}

// MADV_DONTNEED keeps the contents there.
int DropWholePages(void* begin, size_t size) {
  return madvise(begin, size, MADV_FREE) == 0 ? 0 : errno;
}

uint64_t HugeBytes(const void*, size_t) {
  return 0;
}

}  // namespace rankfeed::platform
