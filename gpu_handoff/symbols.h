// SPDX-License-Identifier: MIT
// symbols.h: a function of a library that was opened by name.
#ifndef RANKFEED_GPU_HANDOFF_SYMBOLS_H_
#define RANKFEED_GPU_HANDOFF_SYMBOLS_H_

#include <dlfcn.h>

namespace rankfeed::handoff {

// Sets *function; false where the library has none of that name.
template <class Function>
bool FindSymbol(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_SYMBOLS_H_
