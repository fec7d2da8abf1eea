// SPDX-License-Identifier: MIT
// platform/map_file.h: read-only bytes of files. System calls only.
//
// Others may write to a file or cut it off while it is in use; then a mapping of the file changes
// under its reader, or its pages are gone (SIGBUS). A copy does not change, so what was verified
// there stays as it was. A copy is read, not copied from a mapping: a file that is cut off
// meanwhile is an error.
#pragma once

#include <errno.h>

#include <cstddef>

namespace rankfeed::platform {

inline constexpr size_t kHugePage = size_t{2} << 20;  // larger ones serve no image of some ten MB
#ifdef ESTALE
inline constexpr int kFileShrank = ESTALE;
#else  // Windows has none
inline constexpr int kFileShrank = EIO;
#endif

struct Mapping {
  void* base = nullptr;
  size_t size = 0;
};

// All functions here return 0, or an errno value. An empty file is EINVAL; one that gets shorter
// whenever it is read is ESTALE.

// Copies path to private memory, on transparent huge pages where the kernel gives them, and makes
// it read-only. O(size).
int CopyFile(const char* path, Mapping* out);
// Maps path read-only and shared, as it is and as it will be.
int MapFile(const char* path, Mapping* out);
// Copies an open file as CopyFile does, but maps one that is sealed against every change (fcntl(2),
// File Sealing), as the memfd of a placement is.
int CopyOrMapSealed(int fd, Mapping* out);

// Opens a regular file that is not empty; the caller closes it.
int OpenFile(const char* path, int* fd, size_t* size);
// Its first size bytes, front to back: what a store's writer has put into force before the beginning
// was read, it has written to the end of the file before. ESTALE: there are fewer.
int ReadFile(int fd, void* to, size_t size);
// A store's writer that gives up a commit cuts off what it has written for it, which it does once.
// copy(size) is tried again while it returns ESTALE.
inline constexpr int kCopyAttempts = 8;
int SizeOfFile(int fd, size_t* size);
template <class Copy>
int CopyWhileItShrinks(int fd, size_t size, const Copy& copy) {
  for (int attempt = 0; attempt < kCopyAttempts; ++attempt) {
    int error = copy(size);
    if (error != kFileShrank) return error;
    if ((error = SizeOfFile(fd, &size)) != 0) return error;
  }
  return kFileShrank;
}

void Unmap(const Mapping& mapping);
size_t PageSize();

}  // namespace rankfeed::platform
