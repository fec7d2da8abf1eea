// SPDX-License-Identifier: MIT
// platform/files/file_calls_posix.cc: see file_calls.h.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <type_traits>

#include "platform/files/file_calls.h"

namespace rankfeed::files {
namespace {

void Fill(const struct stat& from, FileInfo* out) {
  *out = {S_ISREG(from.st_mode), S_ISDIR(from.st_mode), static_cast<uint64_t>(from.st_size),
          static_cast<uint64_t>(from.st_dev), static_cast<uint64_t>(from.st_ino)};
}

const char* WhyUnreadable(const struct stat& file, ReadAs how) {
  // One that never ends, but for terminals and /dev/null.
  const bool device = S_ISBLK(file.st_mode) || S_ISCHR(file.st_mode);
  struct stat null;
  const bool is_null = stat("/dev/null", &null) == 0 && null.st_rdev == file.st_rdev;
  return S_ISDIR(file.st_mode)                             ? "is a folder"
         : S_ISSOCK(file.st_mode)                          ? "is a socket"
         : S_ISFIFO(file.st_mode) && how == ReadAs::kWhole ? "is a pipe"
         : device && !(is_null && how == ReadAs::kStream)  ? "is a device"
                                                           : nullptr;
}

// Tried again where a signal came between.
template <class Call>
auto Again(const Call& call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

int OpenDescriptor(const char* path, OpenAs how, int* fd) {
  const int flags = how == OpenAs::kReading    ? O_RDONLY | O_NONBLOCK
                    : how == OpenAs::kUpdating ? O_RDWR
                    : how == OpenAs::kNew      ? O_RDWR | O_CREAT | O_EXCL
                                               : O_RDWR | O_CREAT;
  *fd = Again([&] { return open(path, flags | O_CLOEXEC, 0666); });
  return *fd < 0 ? errno : 0;
}

int InfoOf(int fd, FileInfo* out) {
  struct stat info;
  if (fstat(fd, &info) != 0) return errno;
  Fill(info, out);
  return 0;
}

int InfoOf(const char* path, FileInfo* out) {
  struct stat info;
  if (stat(path, &info) != 0) return errno;
  Fill(info, out);
  return 0;
}

const char* WhyUnreadable(int fd, ReadAs how) {
  struct stat file;
  if (fstat(fd, &file) != 0 || (how == ReadAs::kStream && isatty(fd))) return nullptr;
  return WhyUnreadable(file, how);
}

const char* WhyUnreadable(const char* path, ReadAs how) {
  struct stat file;
  return stat(path, &file) != 0 ? nullptr : WhyUnreadable(file, how);
}

int ReadAt(int fd, void* to, size_t size, uint64_t offset) {
  for (char* at = static_cast<char*>(to); size != 0;) {
    const ssize_t got = Again([&] { return pread(fd, at, size, static_cast<off_t>(offset)); });
    if (got <= 0) return got < 0 ? errno : EIO;
    at += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return 0;
}

int WriteAt(int fd, const void* from, size_t size, uint64_t offset) {
  for (const char* at = static_cast<const char*>(from); size != 0;) {
    const ssize_t put = Again([&] { return pwrite(fd, at, size, static_cast<off_t>(offset)); });
    if (put <= 0) return put < 0 ? errno : ENOSPC;
    at += put;
    size -= static_cast<size_t>(put);
    offset += static_cast<uint64_t>(put);
  }
  return 0;
}

int LockAgainstWriters(int fd) {
  return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

int Truncate(int fd, uint64_t size) {
  return ftruncate(fd, static_cast<off_t>(size)) == 0 ? 0 : errno;
}

int SyncFile(int fd) {
#ifdef F_FULLFSYNC  // macOS, whose fsync may leave bytes in the drive's own cache
  if (fcntl(fd, F_FULLFSYNC) == 0) return 0;  // not every file system has it
#endif
  return fsync(fd) == 0 ? 0 : errno;
}

int SyncFolder(const char* folder) {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = SyncFile(fd);
  close(fd);
  return error;
}

int Rename(const char* from, const char* to) {
  return rename(from, to) == 0 ? 0 : errno;
}

void Remove(const char* path) {
  (void)unlink(path);
}

void ErrorText(int error, char* out, size_t capacity) {
  char text[128] = "";
  const auto pick = [&](auto result) -> const char* {  // strerror_r has two signatures
    if constexpr (std::is_pointer_v<decltype(result)>) return result;
    return text;
  };
  const char* const said = pick(strerror_r(error, text, sizeof text));
  const size_t size = std::min(strlen(said), capacity - 1);
  memcpy(out, said, size);
  out[size] = 0;
}

}  // namespace rankfeed::files
