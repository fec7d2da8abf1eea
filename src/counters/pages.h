// SPDX-License-Identifier: MIT
// counters/pages.h: which pages back a range of this process's memory, as /proc/self/smaps has it. A
// successful mmap or madvise proves nothing; what the kernel mapped does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace rankfeed::counters {

struct PageStatus {
  bool valid = false;
  std::string reason;          // when not valid
  uint64_t bytes = 0;          // of the range
  uint64_t resident_bytes = 0; // of the mappings that hold it
  uint64_t huge_bytes = 0;     // of resident_bytes: on pages above the base page size
  uint64_t page_size = 0;      // that backs most of the resident bytes
  std::string kind;            // "hugetlb", "transparent huge", "base"
};

// O(mappings of the process).
PageStatus PagesOf(const void* data, size_t size);
// Does the same with the smaps text of any process.
PageStatus PagesIn(std::istream& smaps, uintptr_t begin, uintptr_t end);

// Transparent huge page setting of the system: "always", "madvise", "never" or "".
std::string TransparentHugePageMode();
// Free preallocated 2 MiB pages.
uint64_t FreeHugetlbPages();

}  // namespace rankfeed::counters
