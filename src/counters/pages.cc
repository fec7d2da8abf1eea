// SPDX-License-Identifier: MIT
// counters/pages.cc: see pages.h.
#include "counters/pages.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string_view>

namespace rankfeed::counters {
namespace {

constexpr uint64_t kTransparentHugePage = 2 << 20;  // PMD size of x86-64 and 4 KiB-page aarch64

// "Rss:    1234 kB" -> 1234 * 1024
bool Kilobytes(std::string_view line, std::string_view name, uint64_t* bytes) {
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  uint64_t value = 0;
  std::from_chars(line.data(), line.data() + line.size(), value);
  *bytes = value * 1024;
  return true;
}

struct Area {
  uint64_t rss = 0, anonymous_huge = 0, shmem_huge = 0, file_huge = 0, hugetlb = 0, page = 0;
};

}  // namespace

PageStatus PagesIn(std::istream& smaps, uintptr_t begin, uintptr_t end) {
  PageStatus status;
  status.bytes = end - begin;
  const auto base = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t transparent = 0, hugetlb = 0, hugetlb_page = 0;
  bool inside = false;
  Area area;
  const auto close = [&] {
    if (!inside) return;
    status.valid = true;
    if (area.page > base) {
      hugetlb += std::max(area.hugetlb, area.rss);
      hugetlb_page = area.page;
      status.resident_bytes += std::max(area.hugetlb, area.rss);
    } else {
      transparent += area.anonymous_huge + area.shmem_huge + area.file_huge;
      status.resident_bytes += area.rss;
    }
  };
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long from = 0, to = 0;
    char dash = 0;
    const size_t space = line.find(' ');
    if (space != std::string::npos && line.find('-') < space &&
        std::sscanf(line.c_str(), "%llx%c%llx ", &from, &dash, &to) == 3 && dash == '-') {
      close();
      inside = from < end && to > begin;
      area = {};
      continue;
    }
    if (!inside) continue;
    uint64_t bytes = 0;
    if (Kilobytes(line, "Rss:", &bytes)) area.rss = bytes;
    if (Kilobytes(line, "AnonHugePages:", &bytes)) area.anonymous_huge = bytes;
    if (Kilobytes(line, "ShmemPmdMapped:", &bytes)) area.shmem_huge = bytes;
    if (Kilobytes(line, "FilePmdMapped:", &bytes)) area.file_huge = bytes;
    if (Kilobytes(line, "Shared_Hugetlb:", &bytes)) area.hugetlb += bytes;
    if (Kilobytes(line, "Private_Hugetlb:", &bytes)) area.hugetlb += bytes;
    if (Kilobytes(line, "KernelPageSize:", &bytes)) area.page = bytes;
  }
  close();
  if (!status.valid) {
    status.reason = "smaps has no mapping at this address";
    return status;
  }
  status.huge_bytes = transparent + hugetlb;
  if (2 * hugetlb > status.resident_bytes) {
    status.page_size = hugetlb_page;
    status.kind = "hugetlb";
  } else if (2 * status.huge_bytes > status.resident_bytes) {
    status.page_size = kTransparentHugePage;
    status.kind = "transparent huge";
  } else {
    status.page_size = base;
    status.kind = "base";
  }
  return status;
}

PageStatus PagesOf(const void* data, size_t size) {
  std::ifstream smaps("/proc/self/smaps");
  if (!smaps) {
    PageStatus status;
    status.reason = "/proc/self/smaps cannot be read";
    return status;
  }
  const auto begin = reinterpret_cast<uintptr_t>(data);
  return PagesIn(smaps, begin, begin + size);
}

std::string TransparentHugePageMode() {
  std::string text;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), text);
  const size_t open = text.find('['), shut = text.find(']');
  return open == std::string::npos || shut == std::string::npos
             ? ""
             : text.substr(open + 1, shut - open - 1);
}

uint64_t FreeHugetlbPages() {
  uint64_t pages = 0;
  std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> pages;
  return pages;
}

}  // namespace rankfeed::counters
