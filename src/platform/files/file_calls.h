// SPDX-License-Identifier: MIT
// platform/files/file_calls.h: what files are written and read with, a file for POSIX and one for
// Windows, whose paths are UTF-8 here. Functions return 0 or an errno value where
// nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace rankfeed::files {

enum class OpenAs { kReading, kUpdating, kUpdatingOrNew, kNew };  // kNew: an error if it is there

// *fd: closed by close(), and not inherited. Waits for nobody who would write to a pipe. O(1).
int OpenDescriptor(const char* path, OpenAs how, int* fd);

struct FileInfo {
  bool regular = false, folder = false;
  uint64_t size = 0;
  uint64_t device = 0, number = 0;  // the same for two names of one file, and for no other
};
int InfoOf(int fd, FileInfo* out);
int InfoOf(const char* path, FileInfo* out);

// Returns what keeps a file from being read to its end: "is a folder", "is a device", "is a socket",
// and for kWhole, whose size must be known, "is a pipe". Null where nothing does or there is no
// file. O(1).
enum class ReadAs { kWhole, kStream };
const char* WhyUnreadable(int fd, ReadAs how);
const char* WhyUnreadable(const char* path, ReadAs how);
// Throws std::runtime_error, with the path, where something does.
inline void CheckReadable(const std::string& path, ReadAs how) {
  const char* const why = WhyUnreadable(path.c_str(), how);
  if (why != nullptr) throw std::runtime_error(path + ": " + why + ", not a file");
}

// All of the bytes. EIO, ENOSPC: where the system says no more than that there are fewer.
int ReadAt(int fd, void* to, size_t size, uint64_t offset);
int WriteAt(int fd, const void* from, size_t size, uint64_t offset);

// Against every other descriptor that is locked so, in any process; EWOULDBLOCK where there is one.
// Readers are not kept out.
int LockAgainstWriters(int fd);
int Truncate(int fd, uint64_t size);
// Puts what was written on its disk: one system call, two on macOS.
int SyncFile(int fd);
// The names in the folder are. Windows has no such call: its renames are written through.
int SyncFolder(const char* folder);
// Over a file that is there, and of one that is open. Where kReplacesOpenFiles is false, not every file
// system puts it over one that is open; none does that is mapped (EACCES).
#ifdef _WIN32
inline constexpr bool kReplacesOpenFiles = false;
#else
inline constexpr bool kReplacesOpenFiles = true;
#endif
int Rename(const char* from, const char* to);
void Remove(const char* path);  // errors are ignored

// Writes strerror's text to memory of the caller's: a terminated string of at most capacity bytes.
void ErrorText(int error, char* out, size_t capacity);

}  // namespace rankfeed::files
