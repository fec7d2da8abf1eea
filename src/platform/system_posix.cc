// SPDX-License-Identifier: MIT
// platform/system_posix.cc: files and memory by POSIX's calls.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "platform/map_file.h"
#include "platform/system_files.h"
#include "platform/system_pages.h"

namespace rankfeed::platform {

int SizeOfFile(int fd, size_t* size) {
  struct stat info;
  if (fstat(fd, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode) || info.st_size <= 0) return EINVAL;
  *size = static_cast<size_t>(info.st_size);
  return 0;
}

int OpenFile(const char* path, int* fd, size_t* size) {
  do {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // not to wait for a pipe's writer
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

void CloseDescriptor(int fd) {
  close(fd);
}

int MapDescriptor(int fd, size_t size, bool sealed, Mapping* out) {
  const int flags = sealed ? kSealedMapping : MAP_SHARED;
  void* const base = mmap(nullptr, size, PROT_READ, flags, fd, 0);
  if (base == MAP_FAILED) return errno;
  *out = {base, size};
  return 0;
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
  if (reserved == MAP_FAILED) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(reserved);
  char* const base = reserved + (round_up(at, kHugePage) - at);
  char* const end = base + round_up(size, PageSize());
  if (base != reserved) munmap(reserved, static_cast<size_t>(base - reserved));
  munmap(end, static_cast<size_t>(reserved + size + kHugePage - end));
  if (mmap(base, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const int error = errno;
    munmap(base, round_up(size, PageSize()));
    errno = error;
    return nullptr;
  }
  return base;
}

int MakeReadOnly(void* base, size_t size) {
  return mprotect(base, size, PROT_READ) == 0 ? 0 : errno;
}

void WillNeed(void* base, size_t size) {
  (void)madvise(base, size, MADV_WILLNEED);
}

}  // namespace rankfeed::platform
