// SPDX-License-Identifier: MIT
// platform/drop_pages.h: hands pages of the caller's memory back to the system. System calls only.
#pragma once

#include <cstddef>

namespace rankfeed::platform {

// Drops the contents of the whole pages inside [begin, begin + size); the range stays mapped.
// *dropped: bytes in those pages, whether they were resident or not. Returns 0 or an errno value.
int DropPages(void* begin, size_t size, size_t* dropped);

}  // namespace rankfeed::platform
