// SPDX-License-Identifier: MIT
// platform/map_file.h: read-only bytes of files. System calls only.
//
// Others may write to a file or cut it off while it is in use; then a mapping of the file changes
// under its reader, or its pages are gone (SIGBUS). A copy does not change, so what was verified
// there stays as it was. A copy is read, not copied from a mapping: a file that is cut off
// meanwhile is an error.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace rankfeed::platform {

inline constexpr size_t kHugePage = size_t{2} << 20;  // larger ones serve no image of some ten MB
// Flags that a sealed memfd is mapped with. Before Linux 6.7 it could not be mapped MAP_SHARED at
// all, not even for reading; private mappings that nobody writes share their pages as well.
inline constexpr int kSealedMapping = MAP_PRIVATE | MAP_NORESERVE;

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
// As CopyFile, of an open file; but one that is sealed against every change (fcntl(2), File
// Sealing), as the memfd of a placement is, is mapped.
int CopyOrMapSealed(int fd, Mapping* out);

void Unmap(const Mapping& mapping);
size_t PageSize();

// A writable mapping of size bytes, to be filled, that begins at a multiple of a huge page. fd < 0:
// anonymous and private, else shared. MAP_FAILED and errno on failure.
void* MapAligned(size_t size, int fd);

}  // namespace rankfeed::platform
