// SPDX-License-Identifier: MIT
// cli/out_of_memory.cc: the end of the program where it cannot unwind for want of memory: before main, outside of
// what catches, and in destructors, which may not fail. It ends with a sentence and a status, not by abort().
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace {

std::terminate_handler g_before = nullptr;

[[noreturn]] void Terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::fputs("rankfeed: out of memory\n", stderr);
    std::_Exit(1);
  } catch (...) {
  }
  g_before();
  std::abort();
}

// Before the objects that other files make before main, where the system has an order for them.
#ifdef __ELF__
[[gnu::init_priority(101)]]
#endif
const struct Early {
  Early() { g_before = std::set_terminate(Terminate); }
} g_early;

}  // namespace
