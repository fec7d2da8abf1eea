// SPDX-License-Identifier: MIT
// platform/windows_errors.h: what Windows says as errno values, and its paths. No allocation.
#pragma once

#include <errno.h>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// Names of ours that its headers make macros of.
#undef CopyFile
#undef GetObject

namespace rankfeed::platform {

inline int ErrnoOf(DWORD error) {
  switch (error) {
    case ERROR_SUCCESS: return 0;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_PATHNAME:
    case ERROR_INVALID_NAME: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_USER_MAPPED_FILE: return EACCES;
    case ERROR_LOCK_VIOLATION:
    case ERROR_IO_PENDING: return EWOULDBLOCK;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT: return ENOMEM;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_INVALID_PARAMETER: return EINVAL;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    case ERROR_NOT_SAME_DEVICE: return EXDEV;
    case ERROR_WRITE_PROTECT: return EROFS;
    default: return EIO;
  }
}
inline int LastErrno() { return ErrnoOf(GetLastError()); }

// A path in UTF-8 as Windows takes it.
class WidePath {
 public:
  explicit WidePath(const char* path) {
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text_, kCapacity) == 0) {
      error_ = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : ENOENT;
    }
  }
  int error() const { return error_; }  // 0, or an errno value and no path
  const wchar_t* text() const { return text_; }
  static constexpr int kCapacity = 4096;  // with the final 0

 private:
  wchar_t text_[kCapacity];
  int error_ = 0;
};

}  // namespace rankfeed::platform
