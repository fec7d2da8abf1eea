// SPDX-License-Identifier: MIT
// corpus_builder/file.h: the few file operations that crash safety rests on, and nothing else, so
// that a test can watch and replay them.
//
// The state after the machine stops: a write may be lost, whole or in part, until Sync
// returns; after Sync it is there. A rename is there wholly or not at all once SyncDirectory
// returned. Nothing is assumed about the order of writes between two syncs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rankfeed::corpus_builder {

// Sees every operation before it happens, in tests. Before returns an errno value to fail the
// operation with, or 0.
struct FileObserver {
  virtual ~FileObserver() = default;
  enum class Operation { kWrite, kSync, kTruncate, kRename, kSyncDirectory };
  virtual int Before(Operation operation, const std::string& path, const void* data, size_t size,
                     uint64_t offset) = 0;
};
// Null outside tests. Not synchronized: set it while no writer runs.
void SetFileObserver(FileObserver* observer);

// A file open for reading and writing, locked against every other File in any process. All
// functions but Truncate throw BuildError with RANKFEED_E_IO, message and path.
class File {
 public:
  // Opens or creates path.tmp. Throws BuildError(BUSY) if someone else has it open in this way.
  static File CreateBeside(const std::string& path);
  static File OpenExisting(const std::string& path);
  File() = default;
  File(File&& other) noexcept { *this = static_cast<File&&>(other); }
  File& operator=(File&& other) noexcept;
  ~File() { Close(); }
  void Close();

  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }
  uint64_t Size() const;
  void Write(const void* data, size_t size, uint64_t offset);  // all of it
  void Read(void* data, size_t size, uint64_t offset) const;   // all of it
  void Sync();
  bool Truncate(uint64_t size);        // false if that failed
  void Rename(const std::string& to);  // and makes it durable; the file stays open and locked
  void Unlink();                       // errors are ignored

 private:
  static File Open(const std::string& path, bool create);
  int fd_ = -1;
  std::string path_;
};

// A read-only mapping of the first bytes of a file. Empty for size 0.
class FileMapping {
 public:
  FileMapping() = default;
  explicit FileMapping(const std::string& path);  // the whole file; throws BuildError(IO)
  FileMapping(FileMapping&& other) noexcept { *this = static_cast<FileMapping&&>(other); }
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();
  const void* data() const { return base_; }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rankfeed::corpus_builder
