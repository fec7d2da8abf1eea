// SPDX-License-Identifier: MIT
// platform/system_pages.h: what systems do differently about pages, a file for each. pages_linux.cc
// has huge pages, sealed shared memory and the kernel's account of both. pages_posix.cc, for macOS,
// has base pages and says of all else that it is not available, which place.cc takes as any other
// reason to go a step down its ladder; so does system_windows.cc. System calls only; functions return 0 or an errno value
// where nothing else is said.
#pragma once

#include <cstddef>

#include "platform/map_file.h"

namespace rankfeed::platform {

// A writable mapping of size bytes, to be filled, that begins at a multiple of a huge page where there
// are such pages. fd < 0: anonymous and private, else shared. Null and errno on failure.
void* MapAligned(size_t size, int fd);
int MakeReadOnly(void* base, size_t size);
// The pages of a mapping that was just made will be read: a wish.
void WillNeed(void* base, size_t size);

// Asks for transparent huge pages in the range, or for none of them.
int AdviseHugePages(void* base, size_t size, bool huge);

// A writable mapping on preallocated 2 MiB pages, shared of fd, or private for fd < 0. size: a
// multiple of them. Null and errno on failure.
void* MapHugetlb(size_t size, int fd);

// Memory of size bytes that other processes can map and that can be sealed, on preallocated 2 MiB
// pages or on base pages. Returns a descriptor, or -1 and errno.
int SharedMemory(size_t size, bool hugetlb);
// Puts a read-only mapping of fd in the place of the writable one; nobody can change its bytes any
// more.
int Seal(int fd, const Mapping& mapping);
// Whether nobody can change the file's bytes any more.
bool IsSealed(int fd);

// Makes whole pages resident and writable in one call; EINVAL where the system has no such call.
int PopulateWholePages(void* begin, size_t size);
// Drops the contents of whole pages, at once or as soon as the system needs the memory.
int DropWholePages(void* begin, size_t size);

}  // namespace rankfeed::platform
