// SPDX-License-Identifier: MIT
// cli/address_space.cc: what the program says under a limit of its address space (ulimit -v) that is
// smaller than its libraries need to start: their own way is to abort before main. So this runs before
// their constructors, and uses nothing of them.
#if defined(__GLIBC__) || defined(__gnu_linux__)
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

namespace {

// Twenty more than the 100 MiB that it starts with here, as libraries differ; docs/memory.md names it.
constexpr rlim_t kLeastMegabytes = 120;

// void: a constructor of the program itself, with arguments that are not used.
void CheckAddressSpace(int, char**, char**) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeastMegabytes << 20) return;
  static constexpr char kMessage[] =
      "rankfeed: the address space is limited (ulimit -v) to less than the 120 MiB that the program "
      "needs to start\n";
  (void)!write(STDERR_FILENO, kMessage, strlen(kMessage));
  _exit(1);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const check)(int, char**, char**) =
    CheckAddressSpace;

}  // namespace
#endif
