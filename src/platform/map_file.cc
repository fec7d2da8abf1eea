// SPDX-License-Identifier: MIT
// platform/map_file.cc: POSIX implementation.
#include "platform/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "platform/system_pages.h"

namespace rankfeed::platform {
namespace {

int Map(int fd, size_t size, int flags, Mapping* out) {
  void* const base = mmap(nullptr, size, PROT_READ, flags, fd, 0);
  if (base == MAP_FAILED) return errno;
  *out = {base, size};
  return 0;
}

int CopyOnce(int fd, size_t size, Mapping* out) {
  void* const base = MapAligned(size, -1);
  if (base == MAP_FAILED) return errno;
  // Where there are none, base pages serve as well.
  if (size >= kHugePage) (void)AdviseHugePages(base, size, true);
  int error = ReadFile(fd, base, size);
  if (error == 0 && mprotect(base, size, PROT_READ) != 0) error = errno;
  if (error != 0) {
    munmap(base, size);
    return error;
  }
  *out = {base, size};
  return 0;
}

int Copy(int fd, size_t size, Mapping* out) {
  return CopyWhileItShrinks(fd, size, [&](size_t now) { return CopyOnce(fd, now, out); });
}

// take(fd, size) of the file at path.
template <class Take>
int WithFile(const char* path, Take take) {
  int fd;
  size_t size = 0;
  if (const int error = OpenFile(path, &fd, &size)) return error;
  const int error = take(fd, size);
  close(fd);
  return error;
}

}  // namespace

int SizeOfFile(int fd, size_t* size) {
  struct stat info;
  if (fstat(fd, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode) || info.st_size <= 0) return EINVAL;
  *size = static_cast<size_t>(info.st_size);
  return 0;
}

int OpenFile(const char* path, int* fd, size_t* size) {
  do {
    *fd = open(path, O_RDONLY | O_CLOEXEC);
  } while (*fd < 0 && errno == EINTR);
  if (*fd < 0) return errno;
  const int error = SizeOfFile(*fd, size);
  if (error != 0) close(*fd);
  return error;
}

int ReadFile(int fd, void* to, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got =
        pread(fd, static_cast<char*>(to) + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return kFileShrank;
    done += static_cast<size_t>(got);
  }
  return 0;
}

int CopyFile(const char* path, Mapping* out) {
  return WithFile(path, [out](int fd, size_t size) { return Copy(fd, size, out); });
}

int MapFile(const char* path, Mapping* out) {
  return WithFile(path, [out](int fd, size_t size) { return Map(fd, size, MAP_SHARED, out); });
}

int CopyOrMapSealed(int fd, Mapping* out) {
  size_t size = 0;
  if (const int error = SizeOfFile(fd, &size)) return error;
  return IsSealed(fd) ? Map(fd, size, kSealedMapping, out) : Copy(fd, size, out);
}

void Unmap(const Mapping& mapping) {
  if (mapping.base != nullptr) munmap(mapping.base, mapping.size);
}

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void* MapAligned(size_t size, int fd) {
  const auto round_up = [](size_t value, size_t unit) { return (value + unit - 1) / unit * unit; };
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  auto* reserved = static_cast<char*>(
      mmap(nullptr, size + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (reserved == MAP_FAILED) return MAP_FAILED;
  const auto at = reinterpret_cast<uintptr_t>(reserved);
  char* const base = reserved + (round_up(at, kHugePage) - at);
  char* const end = base + round_up(size, PageSize());
  if (base != reserved) munmap(reserved, static_cast<size_t>(base - reserved));
  munmap(end, static_cast<size_t>(reserved + size + kHugePage - end));
  if (mmap(base, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(base, round_up(size, PageSize()));
    errno = error;
    return MAP_FAILED;
  }
  return base;
}

}  // namespace rankfeed::platform
