// SPDX-License-Identifier: MIT
// tests/support/allocation_trap.h: counts allocations of this thread between Arm and Disarm.
//
// Linked into a test together with allocation_trap.cc, which replaces malloc and its kin, operator
// new and mmap in the executable. Under a sanitizer, which has its own allocator, the sanitizer's
// hooks are used instead and mmap is not seen.
#pragma once

#include <cstddef>

namespace rankfeed::allocation_trap {

void Arm();
// Allocations, reallocations and mappings since Arm.
size_t Disarm();

}  // namespace rankfeed::allocation_trap
