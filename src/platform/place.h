// SPDX-License-Identifier: MIT
// platform/place.h: read-only copies of bytes on the largest pages there are. System calls only.
//
// A vocabulary image is read at random, a few tens of bytes at a time: on 4 KiB pages nearly every
// read also misses the TLB. The ladder: preallocated 2 MiB pages (hugetlb), transparent huge pages,
// base pages. What a step really got is read from /proc/self/smaps, because a madvise that
// succeeds proves nothing.
#pragma once

#include <errno.h>

#include <cstddef>
#include <cstdint>

#include "platform/map_file.h"

namespace rankfeed::platform {

inline constexpr uint64_t kUnknownBytes = ~uint64_t{0};

// Pages asked for, and obtained (never kAuto). kAuto: the whole ladder; kHugetlb: that step or
// an error; kTransparent: without the first step; kBase: base pages only; kFile: the file's own.
enum class Pages : uint32_t { kAuto = 0, kHugetlb = 1, kTransparent = 2, kBase = 3, kFile = 4 };
inline constexpr int kNotAsked = ECANCELED;  // why a step of the ladder was left

struct Placement {
  Mapping mapping;               // what to unmap; the bytes are at its base
  size_t size = 0;               // of the bytes
  Pages pages = Pages::kBase;
  uint64_t huge_bytes = 0;       // of the mapping, on huge pages; kUnknownBytes without smaps
  int hugetlb_error = 0;         // why this step was left, 0 if it was not
  int transparent_error = 0;     // ENODATA: the kernel accepted the advice and gave base pages
  int fd = -1;                   // of a shared placement
};

// Copies data[0, size), size > 0. shared: in a sealed memfd that other processes can map, else in
// private memory. wanted: not kFile. Returns 0 or an errno value. O(size).
int Place(const void* data, size_t size, bool shared, Pages wanted, Placement* out);
// Reads the file at path to such private memory, or maps it for kFile. Returns 0 or an errno value,
// as CopyFile does. O(size).
int PlaceFile(const char* path, Pages wanted, Placement* out);

// Bytes of [base, base + size) on huge pages; kUnknownBytes when smaps cannot be read.
uint64_t HugeBytes(const void* base, size_t size);

}  // namespace rankfeed::platform
