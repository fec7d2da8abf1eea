// SPDX-License-Identifier: MIT
// platform/map_file.cc: what is alike on all systems; the calls are in system_posix.cc and
// system_windows.cc.
#include "platform/map_file.h"

#include "platform/system_files.h"
#include "platform/system_pages.h"

namespace rankfeed::platform {
namespace {

int CopyOnce(int fd, size_t size, Mapping* out) {
  void* const base = MapAligned(size, -1);
  if (base == nullptr) return errno;
  // Base pages serve as well where there are no huge ones.
  if (size >= kHugePage) (void)AdviseHugePages(base, size, true);
  int error = ReadFile(fd, base, size);
  if (error == 0) error = MakeReadOnly(base, size);
  if (error != 0) {
    Unmap({base, size});
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
  CloseDescriptor(fd);
  return error;
}

}  // namespace

int CopyFile(const char* path, Mapping* out) {
  return WithFile(path, [out](int fd, size_t size) { return Copy(fd, size, out); });
}

int MapFile(const char* path, Mapping* out) {
  return WithFile(path, [out](int fd, size_t size) { return MapDescriptor(fd, size, false, out); });
}

int CopyOrMapSealed(int fd, Mapping* out) {
  size_t size = 0;
  if (const int error = SizeOfFile(fd, &size)) return error;
  return IsSealed(fd) ? MapDescriptor(fd, size, true, out) : Copy(fd, size, out);
}

}  // namespace rankfeed::platform
