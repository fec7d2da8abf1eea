// SPDX-License-Identifier: MIT
// base/aligned_memory.h: memory of the C heap at an alignment, which on Windows has functions of its
// own. Not for the runtime, which allocates nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#ifdef _WIN32
#include <malloc.h>
#endif

namespace rankfeed {

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

}  // namespace rankfeed
