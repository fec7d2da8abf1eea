// SPDX-License-Identifier: MIT
// platform/system_files.h: what systems do differently about open files; system_posix.cc and
// system_windows.cc. System calls only; functions return 0 or an errno value where nothing else is
// said.
#pragma once

#include <cstddef>

#include "platform/map_file.h"

#ifndef _WIN32
#include <sys/mman.h>
#endif

namespace rankfeed::platform {

#ifndef _WIN32
// Flags that a sealed memfd is mapped with. Before Linux 6.7 it could not be mapped MAP_SHARED at
// all, not even for reading; private mappings that nobody writes share their pages as well.
inline constexpr int kSealedMapping = MAP_PRIVATE | MAP_NORESERVE;
#endif

void CloseDescriptor(int fd);
// Its first size bytes, read-only: as they are and will be, or of a file that is sealed.
int MapDescriptor(int fd, size_t size, bool sealed, Mapping* out);

}  // namespace rankfeed::platform
