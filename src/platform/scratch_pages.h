// SPDX-License-Identifier: MIT
// platform/scratch_pages.h: the pages of memory that a caller lent: handed back to the system, fetched
// from it, or asked for in larger ones. Contents of pages that are kept never change. System calls only.
#pragma once

#include <cstddef>

namespace rankfeed::platform {

// Drops the contents of the whole pages inside [begin, begin + size); the range stays mapped.
// *dropped: bytes in those pages, whether they were resident or not. Returns 0 or an errno value.
int DropPages(void* begin, size_t size, size_t* dropped);

// Makes every page that [begin, begin + size) lies on resident and writable. Returns 0 or an errno value;
// where the kernel cannot do it in one call (before Linux 5.14), each page is touched.
int PopulatePages(void* begin, size_t size);

// Asks for transparent huge pages in the whole ones inside [begin, begin + size). Only a wish: memory that
// cannot have them, and a system that gives none, stay as they are.
void WishForHugePages(void* begin, size_t size);

}  // namespace rankfeed::platform
