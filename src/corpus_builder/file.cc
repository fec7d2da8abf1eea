// SPDX-License-Identifier: MIT
// corpus_builder/file.cc: see file.h; the system's calls are those of platform/files/file_calls.h.
#include "corpus_builder/file.h"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "builder/base/model_spec.h"
#include "platform/files/file_calls.h"
#include "platform/map_file.h"

namespace rankfeed::corpus_builder {
namespace {

using builder::BuildError;
using Operation = FileObserver::Operation;

FileObserver* observer = nullptr;

[[noreturn]] void ThrowErrno(const std::string& path, const char* what, int error) {
  // Only of opening and mapping; EINVAL is the latter's for what is no regular file, or empty.
  const char* const why = error == EISDIR || error == EINVAL ? files::WhyUnreadable(path.c_str(), files::ReadAs::kWhole) : nullptr;
  if (why != nullptr) throw BuildError(RANKFEED_E_IO, path, ": ", why, ", not a file");
  char text[128];
  files::ErrorText(error, text, sizeof text);
  throw BuildError(RANKFEED_E_IO, path, ": ", what, ": ", text);
}

int Observe(Operation operation, const std::string& path, const void* data = nullptr,
            size_t size = 0, uint64_t offset = 0) {
  return observer == nullptr ? 0 : observer->Before(operation, path, data, size, offset);
}

// Whether path still names the open file: not renamed away between open and lock.
bool StillNamed(int fd, const std::string& path) {
  files::FileInfo opened, named;
  return files::InfoOf(fd, &opened) == 0 && files::InfoOf(path.c_str(), &named) == 0 &&
         opened.device == named.device && opened.number == named.number;
}

void SyncDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : path.substr(0, slash);
  int error = Observe(Operation::kSyncDirectory, directory);
  if (error == 0) error = files::SyncFolder(directory.c_str());
  // Some file systems cannot sync a directory and say so; their renames are then as they are.
  if (error != 0 && error != EINVAL && error != ENOTSUP) ThrowErrno(directory, "sync", error);
}

}  // namespace

void SetFileObserver(FileObserver* new_observer) {
  observer = new_observer;
}

File File::Open(const std::string& path, bool create) {
  const files::OpenAs how =
      create ? files::OpenAs::kUpdatingOrNew : files::OpenAs::kUpdating;
  File file;
  file.path_ = path;
  // A second attempt is only for a file that was renamed meanwhile by the holder of the lock.
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (const int error = files::OpenDescriptor(path.c_str(), how, &file.fd_)) {
      ThrowErrno(path, "open", error);
    }
    if (const int error = files::LockAgainstWriters(file.fd_)) {
      if (error != EWOULDBLOCK) ThrowErrno(path, "lock", error);
      throw BuildError(RANKFEED_E_BUSY, path, ": another writer has it open");
    }
    if (StillNamed(file.fd_, path)) return file;
    file.Close();
  }
  throw BuildError(RANKFEED_E_BUSY, path, ": it is being replaced");
}

File File::CreateBeside(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  files::FileInfo info;  // said of the path that was given
  if (const int error = files::InfoOf(folder.c_str(), &info)) ThrowErrno(path, "create", error);
  return Open(path + ".tmp", true);
}
File File::OpenExisting(const std::string& path) {
  return Open(path, false);
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
  files::FileInfo info;
  if (const int error = files::InfoOf(fd_, &info)) ThrowErrno(path_, "stat", error);
  return info.size;
}

void File::Write(const void* data, size_t size, uint64_t offset) {
  int error = Observe(Operation::kWrite, path_, data, size, offset);
  if (error == 0) error = files::WriteAt(fd_, data, size, offset);
  if (error != 0) ThrowErrno(path_, "write", error);
}

void File::Read(void* data, size_t size, uint64_t offset) const {
  if (const int error = files::ReadAt(fd_, data, size, offset)) {
    ThrowErrno(path_, "read", error);
  }
}

void File::Sync() {
  if (const int error = Observe(Operation::kSync, path_)) ThrowErrno(path_, "sync", error);
  if (const int error = files::SyncFile(fd_)) ThrowErrno(path_, "sync", error);
}

bool File::Truncate(uint64_t size) {
  if (Observe(Operation::kTruncate, path_, nullptr, 0, size) != 0) return false;
  return files::Truncate(fd_, size) == 0;
}

void File::Rename(const std::string& to) {
  int error = Observe(Operation::kRename, path_, to.data(), to.size());
  if (error == 0) error = files::Rename(path_.c_str(), to.c_str());
  if (error != 0) ThrowErrno(to, "rename", error);
  path_ = to;
  SyncDirectory(to);
}

void File::Unlink() {
  files::Remove(path_.c_str());
}

FileMapping::FileMapping(const std::string& path) {
  platform::Mapping mapping;
  // A mapped file can be neither replaced nor cut off everywhere.
  const auto map = files::kReplacesOpenFiles ? platform::MapFile : platform::CopyFile;
  if (const int error = map(path.c_str(), &mapping)) ThrowErrno(path, "map", error);
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
