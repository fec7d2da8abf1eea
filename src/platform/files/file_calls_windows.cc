// SPDX-License-Identifier: MIT
// platform/files/file_calls_windows.cc: see file_calls.h.
#include <fcntl.h>
#include <io.h>
#include <string.h>
#include <wchar.h>

#include <algorithm>

#include "platform/files/file_calls.h"
#include "platform/windows_errors.h"

namespace rankfeed::files {
namespace {

using platform::LastErrno;
using platform::WidePath;

HANDLE HandleOf(int fd) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(fd));
}

// At most so many bytes go in a call, whose size has 32 bits.
DWORD Part(size_t size) {
  return static_cast<DWORD>(std::min(size, size_t{1} << 30));
}

OVERLAPPED At(uint64_t offset) {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return at;
}

int InfoOfHandle(HANDLE file, FileInfo* out) {
  if (GetFileType(file) != FILE_TYPE_DISK) {
    *out = {};
    return 0;
  }
  BY_HANDLE_FILE_INFORMATION info;
  if (!GetFileInformationByHandle(file, &info)) return LastErrno();
  out->folder = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  out->regular = !out->folder;
  out->size = uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
  out->device = info.dwVolumeSerialNumber;
  out->number = uint64_t{info.nFileIndexHigh} << 32 | info.nFileIndexLow;
  return 0;
}

}  // namespace

// Others may read, write, rename and remove it meanwhile, as on other systems. BACKUP_SEMANTICS: a
// folder is opened too, and told by what it is.
int OpenDescriptor(const char* path, OpenAs how, int* fd) {
  *fd = -1;
  const WidePath wide(path);
  if (wide.error() != 0) return wide.error();
  const bool reading = how == OpenAs::kReading;
  const DWORD access = reading ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE;
  const DWORD disposition = how == OpenAs::kNew             ? CREATE_NEW
                            : how == OpenAs::kUpdatingOrNew ? OPEN_ALWAYS
                                                            : OPEN_EXISTING;
  const HANDLE file = CreateFileW(
      wide.text(), access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
      disposition, FILE_ATTRIBUTE_NORMAL | (reading ? FILE_FLAG_BACKUP_SEMANTICS : 0), nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastErrno();
  *fd = _open_osfhandle(reinterpret_cast<intptr_t>(file), (reading ? _O_RDONLY : _O_RDWR) | _O_BINARY);
  if (*fd >= 0) return 0;
  CloseHandle(file);
  return EMFILE;
}

int InfoOf(int fd, FileInfo* out) {
  return InfoOfHandle(HandleOf(fd), out);
}

int InfoOf(const char* path, FileInfo* out) {
  const WidePath wide(path);
  if (wide.error() != 0) return wide.error();
  const HANDLE file = CreateFileW(wide.text(), FILE_READ_ATTRIBUTES,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastErrno();
  const int error = InfoOfHandle(file, out);
  CloseHandle(file);
  return error;
}

const char* WhyUnreadable(int fd, ReadAs) {
  FileInfo info;
  return InfoOf(fd, &info) == 0 && info.folder ? "is a folder" : nullptr;
}

const char* WhyUnreadable(const char* path, ReadAs) {
  FileInfo info;
  return InfoOf(path, &info) == 0 && info.folder ? "is a folder" : nullptr;
}

int ReadAt(int fd, void* to, size_t size, uint64_t offset) {
  for (char* at = static_cast<char*>(to); size != 0;) {
    OVERLAPPED where = At(offset);
    DWORD got = 0;
    if (!::ReadFile(HandleOf(fd), at, Part(size), &got, &where)) return LastErrno();
    if (got == 0) return EIO;
    at += got;
    size -= got;
    offset += got;
  }
  return 0;
}

int WriteAt(int fd, const void* from, size_t size, uint64_t offset) {
  for (const char* at = static_cast<const char*>(from); size != 0;) {
    OVERLAPPED where = At(offset);
    DWORD put = 0;
    if (!WriteFile(HandleOf(fd), at, Part(size), &put, &where)) return LastErrno();
    if (put == 0) return ENOSPC;
    at += put;
    size -= put;
    offset += put;
  }
  return 0;
}

// Windows keeps readers out of locked bytes: one is locked that no file has.
int LockAgainstWriters(int fd) {
  OVERLAPPED where = At(uint64_t{1} << 62);
  constexpr DWORD kHow = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  return LockFileEx(HandleOf(fd), kHow, 0, 1, 0, &where) ? 0 : LastErrno();
}

int Truncate(int fd, uint64_t size) {
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
  return SetFileInformationByHandle(HandleOf(fd), FileEndOfFileInfo, &end, sizeof end) ? 0 : LastErrno();
}

int SyncFile(int fd) {
  return FlushFileBuffers(HandleOf(fd)) ? 0 : LastErrno();
}

int SyncFolder(const char*) {
  return 0;
}

namespace {

// Renames over a file that someone has open, who keeps the old one, as other systems do. NTFS of
// Windows 10 and newer. to: a whole path.
DWORD RenameOver(HANDLE file, const wchar_t* to) {
  constexpr DWORD kReplace = 1, kLikePosix = 2;  // FILE_RENAME_FLAG_*
  struct {
    FILE_RENAME_INFO info;
    wchar_t rest[WidePath::kCapacity];
  } name{};
  const size_t size = wcslen(to);
  if (size >= WidePath::kCapacity) return ERROR_INVALID_NAME;
  *reinterpret_cast<DWORD*>(&name.info) = kReplace | kLikePosix;  // Flags, beside ReplaceIfExists
  name.info.FileNameLength = static_cast<DWORD>(size * sizeof(wchar_t));
  memcpy(name.info.FileName, to, size * sizeof(wchar_t));
  constexpr auto kRenameEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);  // FileRenameInfoEx
  return SetFileInformationByHandle(file, kRenameEx, &name, sizeof name) ? ERROR_SUCCESS : GetLastError();
}

}  // namespace

int Rename(const char* from, const char* to) {
  const WidePath wide_from(from), wide_to(to);
  if (wide_from.error() != 0) return wide_from.error();
  if (wide_to.error() != 0) return wide_to.error();
  wchar_t whole[WidePath::kCapacity];
  const DWORD size = GetFullPathNameW(wide_to.text(), WidePath::kCapacity, whole, nullptr);
  if (size == 0 || size >= WidePath::kCapacity) return ENAMETOOLONG;
  const HANDLE file = CreateFileW(wide_from.text(), DELETE | SYNCHRONIZE,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastErrno();
  const DWORD error = RenameOver(file, whole);
  CloseHandle(file);
  if (error == ERROR_SUCCESS) return 0;
  // Other file systems have the call that replaces what nobody has open.
  constexpr DWORD kHow = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  return MoveFileExW(wide_from.text(), whole, kHow) ? 0 : LastErrno();
}

void Remove(const char* path) {
  const WidePath wide(path);
  if (wide.error() == 0) (void)DeleteFileW(wide.text());
}

void ErrorText(int error, char* out, size_t capacity) {
  if (strerror_s(out, capacity, error) != 0) out[0] = 0;
}

}  // namespace rankfeed::files
