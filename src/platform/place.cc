// SPDX-License-Identifier: MIT
// platform/place.cc: see place.h. What a system has of each step is in system_pages.h.
#include "platform/place.h"

#include <errno.h>

#include <cstring>

#include "platform/system_files.h"
#include "platform/system_pages.h"

namespace rankfeed::platform {
namespace {

constexpr size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// Gives up write access for good.
int Freeze(Placement* out, bool huge) {
  const Mapping& m = out->mapping;
  if (out->fd < 0) return MakeReadOnly(m.base, m.size);
  if (const int error = Seal(out->fd, m)) return error;
  if (out->pages != Pages::kHugetlb && huge) (void)AdviseHugePages(m.base, m.size, true);
  return 0;
}

bool TryHugetlb(size_t size, bool shared, Placement* out) {
  const size_t mapped = RoundUp(size, kHugePage);
  if (shared) out->fd = SharedMemory(mapped, true);
  void* const base = shared && out->fd < 0 ? nullptr : MapHugetlb(mapped, out->fd);
  if (base == nullptr) {
    out->hugetlb_error = errno;
    if (out->fd >= 0) CloseDescriptor(out->fd);
    out->fd = -1;
    return false;
  }
  out->mapping = {base, mapped};
  out->pages = Pages::kHugetlb;
  return true;
}

// The step below: transparent huge pages where advice is taken, else base pages.
int MapPages(size_t size, bool shared, bool huge, Placement* out) {
  if (shared && (out->fd = SharedMemory(size, false)) < 0) return errno;
  void* const base = MapAligned(size, out->fd);
  if (base == nullptr) return errno;
  out->mapping = {base, size};
  const int refused = AdviseHugePages(base, size, huge);
  out->transparent_error = !huge ? kNotAsked : refused;
  return 0;
}

// fill(base) writes size bytes and returns 0 or an errno value.
template <class Fill>
int PlaceFilled(size_t size, bool shared, Pages wanted, const Fill& fill, Placement* out) {
  *out = {};
  out->size = size;
  const auto give_up = [&](int error) {
    Unmap(out->mapping);
    if (out->fd >= 0) CloseDescriptor(out->fd);
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
  if (shared) WillNeed(out->mapping.base, size);
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
  CloseDescriptor(fd);
  return error;
}

}  // namespace rankfeed::platform
