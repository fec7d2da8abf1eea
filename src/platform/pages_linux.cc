// SPDX-License-Identifier: MIT
// platform/pages_linux.cc: see system_pages.h. Transparent and preallocated huge pages, sealed
// memfds, /proc/self/smaps.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "platform/place.h"
#include "platform/system_files.h"
#include "platform/system_pages.h"

// Values of linux/memfd.h and linux/mman.h, which not every libc's headers have.
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace rankfeed::platform {
namespace {

// One line of smaps at a time, through a buffer on the stack.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}
  // Returns false at the end. A longer line than fits is cut.
  bool Next(const char** line, size_t* size) {
    for (;;) {
      for (size_t i = begin_; i < end_; ++i) {
        if (buffer_[i] != '\n') continue;
        *line = buffer_ + begin_;
        *size = i - begin_;
        begin_ = i + 1;
        return true;
      }
      if (begin_ == 0 && end_ == sizeof(buffer_)) end_ = 0;  // the middle of an overlong line
      std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
      ssize_t got;
      do {
        got = read(fd_, buffer_ + end_, sizeof(buffer_) - end_);
      } while (got < 0 && errno == EINTR);
      if (got <= 0) return false;
      end_ += static_cast<size_t>(got);
    }
  }

 private:
  const int fd_;
  char buffer_[4096];
  size_t begin_ = 0, end_ = 0;
};

uint64_t Hex(const char** at, const char* end) {
  uint64_t value = 0;
  for (; *at != end; ++*at) {
    const char c = **at;
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      break;
    }
  }
  return value;
}

// The number of kB after `name`, if the line begins with it.
bool Field(const char* line, size_t size, const char* name, uint64_t* kilobytes) {
  const size_t n = std::strlen(name);
  if (size < n || std::memcmp(line, name, n) != 0) return false;
  *kilobytes = 0;
  for (size_t i = n; i < size; ++i) {
    if (line[i] >= '0' && line[i] <= '9') {
      *kilobytes = *kilobytes * 10 + static_cast<uint64_t>(line[i] - '0');
    }
  }
  return true;
}

}  // namespace

int AdviseHugePages(void* base, size_t size, bool huge) {
  return madvise(base, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0 ? 0 : errno;
}

void* MapHugetlb(size_t size, int fd) {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB;
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  return base == MAP_FAILED ? nullptr : base;
}

int SharedMemory(size_t size, bool hugetlb) {
  const unsigned pages = hugetlb ? MFD_HUGETLB | MFD_HUGE_2MB : 0u;
  const int fd = memfd_create("rankfeed image", MFD_CLOEXEC | MFD_ALLOW_SEALING | pages);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// The writable mapping of a memfd has to go before it can be sealed, and is replaced in place.
int Seal(int fd, const Mapping& m) {
  constexpr int kHole = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (mmap(m.base, m.size, PROT_NONE, kHole, -1, 0) == MAP_FAILED ||
      fcntl(fd, F_ADD_SEALS, kSeals) != 0 ||
      mmap(m.base, m.size, PROT_READ, kSealedMapping | MAP_FIXED, fd, 0) == MAP_FAILED) {
    return errno;
  }
  return 0;
}

bool IsSealed(int fd) {
  constexpr int kAll = F_SEAL_WRITE | F_SEAL_SHRINK;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kAll) == kAll;
}

int PopulateWholePages(void* begin, size_t size) {
  return madvise(begin, size, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
}

int DropWholePages(void* begin, size_t size) {
  return madvise(begin, size, MADV_DONTNEED) == 0 ? 0 : errno;
}

uint64_t HugeBytes(const void* base, size_t size) {
  const auto begin = reinterpret_cast<uintptr_t>(base), end = begin + size;
  const int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kUnknownBytes;
  Lines lines(fd);
  uint64_t huge = 0, resident = 0, kilobytes;
  bool inside = false, seen = false, hugetlb = false;
  const char* line;
  size_t length;
  while (lines.Next(&line, &length)) {
    const char* at = line;
    const uint64_t from = Hex(&at, line + length);
    if (at != line && at != line + length && *at == '-') {
      ++at;
      const uint64_t to = Hex(&at, line + length);
      inside = from < end && to > begin;
      seen |= inside;
      hugetlb = false;
    } else if (!inside) {
      continue;
    } else if (Field(line, length, "KernelPageSize:", &kilobytes)) {
      hugetlb = kilobytes * 1024 >= kHugePage;
    } else if (Field(line, length, "AnonHugePages:", &kilobytes) ||
               Field(line, length, "ShmemPmdMapped:", &kilobytes) ||
               Field(line, length, "FilePmdMapped:", &kilobytes)) {
      huge += kilobytes * 1024;
    } else if (hugetlb && (Field(line, length, "Private_Hugetlb:", &kilobytes) ||
                           Field(line, length, "Shared_Hugetlb:", &kilobytes))) {
      resident += kilobytes * 1024;
    }
  }
  close(fd);
  return seen ? huge + resident : kUnknownBytes;
}

}  // namespace rankfeed::platform
