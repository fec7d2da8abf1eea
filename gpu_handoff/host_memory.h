// SPDX-License-Identifier: MIT
// host_memory.h: memory of the process at an alignment, and what locks it; Windows has functions of
// its own for both. Never while a batch is on its way: for opening and closing.
#ifndef RANKFEED_GPU_HANDOFF_HOST_MEMORY_H_
#define RANKFEED_GPU_HANDOFF_HOST_MEMORY_H_

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <malloc.h>
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace rankfeed::handoff {

// Null where there is none. size: a multiple of alignment. AlignedFree releases it.
inline void* AlignedAlloc(size_t alignment, size_t size) {
#ifdef _WIN32
  return _aligned_malloc(size, alignment);
#else
  return std::aligned_alloc(alignment, size);
#endif
}
inline void AlignedFree(void* memory) {
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

inline size_t PageSize() {
#ifdef _WIN32
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
#else
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
}

// Whole pages stay in memory. Returns 0 or an errno value. On Windows a process may lock as much as
// its working set has room for, by default less than a ring.
inline int LockPages(void* memory, size_t bytes) {
#ifdef _WIN32
  return VirtualLock(memory, bytes) ? 0 : ENOMEM;
#else
  return mlock(memory, bytes) == 0 ? 0 : errno;
#endif
}
inline void UnlockPages(void* memory, size_t bytes) {
#ifdef _WIN32
  (void)VirtualUnlock(memory, bytes);
#else
  (void)munlock(memory, bytes);
#endif
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_HOST_MEMORY_H_
