// SPDX-License-Identifier: MIT
// platform/sync_file.h: what was written to a file is on its disk. One system call, two on macOS.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace rankfeed::platform {

// Returns 0 or an errno value.
inline int SyncFile(int fd) {
#ifdef F_FULLFSYNC  // macOS, whose fsync may leave bytes in the drive's own cache
  if (fcntl(fd, F_FULLFSYNC) == 0) return 0;  // not every file system has it
#endif
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace rankfeed::platform
