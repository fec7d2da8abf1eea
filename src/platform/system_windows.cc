// SPDX-License-Identifier: MIT
// platform/system_windows.cc: see system_files.h and system_pages.h. Base pages only: large pages
// take a privilege that services rarely have, and memory is not sealed here. Descriptors are those of
// the C library.
#include <fcntl.h>
#include <io.h>

#include <cstdint>

#include "platform/place.h"
#include "platform/system_files.h"
#include "platform/system_pages.h"
#include "platform/windows_errors.h"

namespace rankfeed::platform {
namespace {

HANDLE HandleOf(int fd) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(fd));
}

}  // namespace

int SizeOfFile(int fd, size_t* size) {
  const HANDLE file = HandleOf(fd);
  LARGE_INTEGER bytes;
  if (file == INVALID_HANDLE_VALUE) return EBADF;
  if (GetFileType(file) != FILE_TYPE_DISK) return EINVAL;
  if (!GetFileSizeEx(file, &bytes)) return LastErrno();
  if (bytes.QuadPart <= 0) return EINVAL;
  *size = static_cast<size_t>(bytes.QuadPart);
  return 0;
}

int OpenFile(const char* path, int* fd, size_t* size) {
  *fd = -1;
  const WidePath wide(path);
  if (wide.error() != 0) return wide.error();
  const DWORD attributes = GetFileAttributesW(wide.text());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return EINVAL;
  }
  const HANDLE file =
      CreateFileW(wide.text(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                  nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastErrno();
  *fd = _open_osfhandle(reinterpret_cast<intptr_t>(file), _O_RDONLY | _O_BINARY);
  if (*fd < 0) {
    CloseHandle(file);
    return EMFILE;
  }
  const int error = SizeOfFile(*fd, size);
  if (error != 0) _close(*fd);
  return error;
}

int ReadFile(int fd, void* to, size_t size) {
  constexpr size_t kMost = size_t{1} << 30;  // a call takes 32 bits
  for (size_t done = 0; done < size;) {
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(done);
    at.OffsetHigh = static_cast<DWORD>(uint64_t{done} >> 32);
    const size_t left = size - done;
    DWORD got = 0;
    if (!::ReadFile(HandleOf(fd), static_cast<char*>(to) + done,
                    static_cast<DWORD>(left < kMost ? left : kMost), &got, &at)) {
      return GetLastError() == ERROR_HANDLE_EOF ? kFileShrank : LastErrno();
    }
    if (got == 0) return kFileShrank;
    done += got;
  }
  return 0;
}

void CloseDescriptor(int fd) {
  _close(fd);
}

int MapDescriptor(int fd, size_t size, bool, Mapping* out) {
  const HANDLE section = CreateFileMappingW(HandleOf(fd), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (section == nullptr) return LastErrno();
  void* const base = MapViewOfFile(section, FILE_MAP_READ, 0, 0, size);
  const int error = base == nullptr ? LastErrno() : 0;
  CloseHandle(section);  // the view keeps it
  if (error == 0) *out = {base, size};
  return error;
}

// Views of files and memory of one's own are given back by different calls.
void Unmap(const Mapping& mapping) {
  MEMORY_BASIC_INFORMATION info;
  if (mapping.base == nullptr || VirtualQuery(mapping.base, &info, sizeof info) == 0) return;
  if (info.Type == MEM_MAPPED) {
    UnmapViewOfFile(mapping.base);
  } else {
    VirtualFree(mapping.base, 0, MEM_RELEASE);
  }
}

size_t PageSize() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

void* MapAligned(size_t size, int fd) {
  void* const base =
      fd < 0 ? VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) : nullptr;
  if (base == nullptr) errno = fd < 0 ? LastErrno() : ENOTSUP;
  return base;
}

int MakeReadOnly(void* base, size_t size) {
  DWORD before;
  return VirtualProtect(base, size, PAGE_READONLY, &before) ? 0 : LastErrno();
}

void WillNeed(void*, size_t) {}

int AdviseHugePages(void*, size_t, bool huge) {
  return huge ? ENOTSUP : 0;
}

void* MapHugetlb(size_t, int) {
  errno = ENOTSUP;
  return nullptr;
}

int SharedMemory(size_t, bool) {
  errno = ENOTSUP;
  return -1;
}

int Seal(int, const Mapping&) {
  return ENOTSUP;
}

bool IsSealed(int) {
  return false;
}

int PopulateWholePages(void*, size_t) {
  return EINVAL;
}

int DropWholePages(void* begin, size_t size) {
  return VirtualAlloc(begin, size, MEM_RESET, PAGE_READWRITE) != nullptr ? 0 : LastErrno();
}

uint64_t HugeBytes(const void*, size_t) {
  return 0;
}

}  // namespace rankfeed::platform
