// SPDX-License-Identifier: MIT
// platform/map_file.cc: POSIX implementation.
#include "platform/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankfeed::platform {

int MapFile(const char* path, Mapping* out) {
  int fd;
  do {
    fd = open(path, O_RDONLY | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return errno;
  struct stat info;
  int error = 0;
  if (fstat(fd, &info) != 0) {
    error = errno;
  } else if (!S_ISREG(info.st_mode) || info.st_size <= 0) {
    error = EINVAL;
  } else {
    const auto size = static_cast<size_t>(info.st_size);
    void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
      error = errno;
    } else {
      *out = {base, size};
    }
  }
  close(fd);
  return error;
}

void Unmap(const Mapping& mapping) {
  if (mapping.base != nullptr) munmap(mapping.base, mapping.size);
}

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace rankfeed::platform
