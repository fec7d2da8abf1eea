// SPDX-License-Identifier: MIT
// platform/place.cc: see place.h. Linux; other systems get base pages.
#include "platform/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

// linux/memfd.h, not in every libc's headers.
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

namespace rankfeed::platform {
namespace {

constexpr size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

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

// The number of kB behind `name`, if the line begins with it.
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

int Descriptor(unsigned flags, size_t size) {
  const int fd = memfd_create("rankfeed image", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Gives up write access for good. The writable mapping of a memfd has to go before it can be
// sealed, and is replaced in place.
int Freeze(Placement* out, bool huge) {
  const Mapping& m = out->mapping;
  if (out->fd < 0) return mprotect(m.base, m.size, PROT_READ) == 0 ? 0 : errno;
  constexpr int kHole = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (mmap(m.base, m.size, PROT_NONE, kHole, -1, 0) == MAP_FAILED ||
      fcntl(out->fd, F_ADD_SEALS, kSeals) != 0 ||
      mmap(m.base, m.size, PROT_READ, kSealedMapping | MAP_FIXED, out->fd, 0) == MAP_FAILED) {
    return errno;
  }
  if (out->pages != Pages::kHugetlb && huge) (void)madvise(m.base, m.size, MADV_HUGEPAGE);
  return 0;
}

bool TryHugetlb(size_t size, bool shared, Placement* out) {
  const size_t mapped = RoundUp(size, kHugePage);
  void* base = MAP_FAILED;
  if (shared) {
    out->fd = Descriptor(MFD_HUGETLB | MFD_HUGE_2MB, mapped);
    if (out->fd >= 0) {
      base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    }
  } else {
    base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
  }
  if (base == MAP_FAILED) {
    out->hugetlb_error = errno;
    if (out->fd >= 0) close(out->fd);
    out->fd = -1;
    return false;
  }
  out->mapping = {base, mapped};
  out->pages = Pages::kHugetlb;
  return true;
}

// The step below: transparent huge pages where advice is taken, else base pages.
int MapPages(size_t size, bool shared, bool huge, Placement* out) {
  if (shared && (out->fd = Descriptor(0, size)) < 0) return errno;
  void* const base = MapAligned(size, out->fd);
  if (base == MAP_FAILED) return errno;
  out->mapping = {base, size};
  const bool advised = madvise(base, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
  out->transparent_error = !huge ? kNotAsked : advised ? 0 : errno;
  return 0;
}

// fill(base) writes size bytes and returns 0 or an errno value.
template <class Fill>
int PlaceFilled(size_t size, bool shared, Pages wanted, const Fill& fill, Placement* out) {
  *out = {};
  out->size = size;
  const auto give_up = [&](int error) {
    Unmap(out->mapping);
    if (out->fd >= 0) close(out->fd);
    *out = {};
    return error;
  };
  const bool hugetlb = wanted == Pages::kAuto || wanted == Pages::kHugetlb;
  if (!hugetlb) out->hugetlb_error = kNotAsked;
  if (!hugetlb || !TryHugetlb(size, shared, out)) {
    if (wanted == Pages::kHugetlb) return give_up(out->hugetlb_error);
    if (const int error = MapPages(size, shared, wanted != Pages::kBase, out)) return give_up(error);
  }
  if (const int error = fill(out->mapping.base)) return give_up(error);
  if (const int error = Freeze(out, wanted != Pages::kBase)) return give_up(error);
  // A mapping just made again has no pages of its own yet.
  if (shared) (void)madvise(out->mapping.base, size, MADV_WILLNEED);
  out->huge_bytes = HugeBytes(out->mapping.base, out->mapping.size);
  if (out->pages == Pages::kBase && out->transparent_error == 0) {
    if (out->huge_bytes == 0) {
      out->transparent_error = ENODATA;
    } else {
      out->pages = Pages::kTransparent;
    }
  }
  return 0;
}

}  // namespace

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

int Place(const void* data, size_t size, bool shared, Pages wanted, Placement* out) {
  const auto copy = [&](void* base) {
    std::memcpy(base, data, size);
    return 0;
  };
  return PlaceFilled(size, shared, wanted, copy, out);
}

int PlaceFile(const char* path, Pages wanted, Placement* out) {
  *out = {};
  if (wanted == Pages::kFile) {
    const int error = MapFile(path, &out->mapping);
    out->pages = Pages::kFile;
    out->size = out->mapping.size;
    out->hugetlb_error = out->transparent_error = kNotAsked;
    out->huge_bytes = error == 0 ? HugeBytes(out->mapping.base, out->mapping.size) : 0;
    return error;
  }
  int fd;
  size_t size = 0;
  if (const int error = OpenFile(path, &fd, &size)) return error;
  const int error = CopyWhileItShrinks(fd, size, [&](size_t now) {
    const auto read = [&](void* base) { return ReadFile(fd, base, now); };
    return PlaceFilled(now, false, wanted, read, out);
  });
  close(fd);
  return error;
}

}  // namespace rankfeed::platform
