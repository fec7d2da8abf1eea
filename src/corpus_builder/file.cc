// SPDX-License-Identifier: MIT
// corpus_builder/file.cc: POSIX implementation.
#include "corpus_builder/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "builder/model_spec.h"
#include "platform/map_file.h"
#include "platform/sync_file.h"

namespace rankfeed::corpus_builder {
namespace {

using builder::BuildError;
using Operation = FileObserver::Operation;

FileObserver* observer = nullptr;

[[noreturn]] void ThrowErrno(const std::string& path, const char* what, int error) {
  throw BuildError(RANKFEED_E_IO, 0, path + ": " + what + ": " + strerror(error));
}

int Observe(Operation operation, const std::string& path, const void* data = nullptr,
            size_t size = 0, uint64_t offset = 0) {
  return observer == nullptr ? 0 : observer->Before(operation, path, data, size, offset);
}

// Whether path still names the open file: not renamed away between open and lock.
bool StillNamed(int fd, const std::string& path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void SyncDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : path.substr(0, slash);
  int error = Observe(Operation::kSyncDirectory, directory);
  if (error == 0) {
    const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error = fd < 0 ? errno : platform::SyncFile(fd);
    if (fd >= 0) close(fd);
  }
  // Some file systems cannot sync a directory and say so; their renames are then as they are.
  if (error != 0 && error != EINVAL && error != ENOTSUP) ThrowErrno(directory, "sync", error);
}

}  // namespace

void SetFileObserver(FileObserver* new_observer) {
  observer = new_observer;
}

File File::Open(const std::string& path, int flags) {
  File file;
  file.path_ = path;
  // A second attempt is only for a file that was renamed meanwhile by the holder of the lock.
  for (int attempt = 0; attempt < 8; ++attempt) {
    do {
      file.fd_ = open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0666);
    } while (file.fd_ < 0 && errno == EINTR);
    if (file.fd_ < 0) ThrowErrno(path, "open", errno);
    if (flock(file.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) ThrowErrno(path, "lock", errno);
      throw BuildError(RANKFEED_E_BUSY, 0, path + ": another writer has it open");
    }
    if (StillNamed(file.fd_, path)) return file;
    file.Close();
  }
  throw BuildError(RANKFEED_E_BUSY, 0, path + ": it is being replaced");
}

File File::Create(const std::string& path) {
  return Open(path, O_CREAT);
}
File File::OpenExisting(const std::string& path) {
  return Open(path, 0);
}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

void File::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

uint64_t File::Size() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) ThrowErrno(path_, "stat", errno);
  return static_cast<uint64_t>(info.st_size);
}

void File::Write(const void* data, size_t size, uint64_t offset) {
  if (const int error = Observe(Operation::kWrite, path_, data, size, offset)) {
    ThrowErrno(path_, "write", error);
  }
  const char* from = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t written = pwrite(fd_, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ThrowErrno(path_, "write", written < 0 ? errno : ENOSPC);
    from += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
}

void File::Read(void* data, size_t size, uint64_t offset) const {
  char* to = static_cast<char*>(data);
  while (size != 0) {
    const ssize_t got = pread(fd_, to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ThrowErrno(path_, "read", got < 0 ? errno : EIO);
    to += got;
    size -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
}

void File::Sync() {
  if (const int error = Observe(Operation::kSync, path_)) ThrowErrno(path_, "sync", error);
  if (const int error = platform::SyncFile(fd_)) ThrowErrno(path_, "sync", error);
}

bool File::Truncate(uint64_t size) {
  if (Observe(Operation::kTruncate, path_, nullptr, 0, size) != 0) return false;
  return ftruncate(fd_, static_cast<off_t>(size)) == 0;
}

void File::Rename(const std::string& to) {
  int error = Observe(Operation::kRename, path_, to.data(), to.size());
  if (error == 0 && rename(path_.c_str(), to.c_str()) != 0) error = errno;
  if (error != 0) ThrowErrno(to, "rename", error);
  path_ = to;
  SyncDirectory(to);
}

void File::Unlink() {
  (void)unlink(path_.c_str());
}

FileMapping::FileMapping(const std::string& path) {
  platform::Mapping mapping;
  if (const int error = platform::MapFile(path.c_str(), &mapping)) ThrowErrno(path, "map", error);
  base_ = mapping.base;
  size_ = mapping.size;
}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  return *this;
}

FileMapping::~FileMapping() {
  platform::Unmap({base_, size_});
}

}  // namespace rankfeed::corpus_builder
