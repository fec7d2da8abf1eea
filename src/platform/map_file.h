// SPDX-License-Identifier: MIT
// platform/map_file.h: read-only file mappings. System calls only.
#pragma once

#include <cstddef>

namespace rankfeed::platform {

struct Mapping {
  void* base = nullptr;
  size_t size = 0;
};

// Maps path read-only and shared. Returns 0, or an errno value. An empty file is EINVAL.
int MapFile(const char* path, Mapping* out);
void Unmap(const Mapping& mapping);
size_t PageSize();

}  // namespace rankfeed::platform
