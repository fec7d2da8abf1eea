// SPDX-License-Identifier: MIT
// ranges.cc: see ranges.h. NVTX 3 is headers alone (nvtx3/nvToolsExt.h of the CUDA toolkit): they
// load the tool that NVTX_INJECTION64_PATH names, or do nothing. roctx is a library that is opened
// by name, of the interface that ROCm documents (roctracer, inc/ext/roctx.h; rocprofiler-sdk-roctx
// in ROCm 6.2 and later has the same functions).
#include "ranges.h"

#ifdef RANKFEED_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#ifdef RANKFEED_ROCTX
#include "symbols.h"
#endif

namespace rankfeed::handoff {
namespace {

#ifdef RANKFEED_ROCTX
struct Roctx {
  uint64_t (*start)(const char*) = nullptr;  // roctxRangeStartA
  void (*stop)(uint64_t) = nullptr;          // roctxRangeStop
  int (*push)(const char*) = nullptr;        // roctxRangePushA
  int (*pop)() = nullptr;                    // roctxRangePop
};

Roctx FindRoctx() {
  Roctx found;
  // One that the profiler has loaded already before any other.
  for (const int flags : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4"}) {
      void* const library = dlopen(name, flags);
      if (library == nullptr) continue;
      if (FindSymbol(library, "roctxRangeStartA", &found.start) &&
          FindSymbol(library, "roctxRangeStop", &found.stop) &&
          FindSymbol(library, "roctxRangePushA", &found.push) &&
          FindSymbol(library, "roctxRangePop", &found.pop)) {
        return found;
      }
      found = {};
    }
  }
  return found;
}

const Roctx& TheRoctx() {
  static const Roctx roctx = FindRoctx();
  return roctx;
}
#endif

}  // namespace

void OpenRanges() {
#ifdef RANKFEED_NVTX
  nvtxInitialize(nullptr);
#endif
#ifdef RANKFEED_ROCTX
  (void)TheRoctx();
#endif
}

void Range::Start([[maybe_unused]] const char* name) {
#ifdef RANKFEED_NVTX
  nvtx_.store(nvtxRangeStartA(name), std::memory_order_relaxed);
#endif
#ifdef RANKFEED_ROCTX
  if (TheRoctx().start != nullptr) roctx_.store(TheRoctx().start(name), std::memory_order_relaxed);
#endif
}

void Range::End() {
#ifdef RANKFEED_NVTX
  nvtxRangeEnd(nvtx_.load(std::memory_order_relaxed));
#endif
#ifdef RANKFEED_ROCTX
  if (TheRoctx().stop != nullptr) TheRoctx().stop(roctx_.load(std::memory_order_relaxed));
#endif
}

RangeScope::RangeScope([[maybe_unused]] const char* name) {
#ifdef RANKFEED_NVTX
  nvtxRangePushA(name);
#endif
#ifdef RANKFEED_ROCTX
  if (TheRoctx().push != nullptr) (void)TheRoctx().push(name);
#endif
}

RangeScope::~RangeScope() {
#ifdef RANKFEED_NVTX
  nvtxRangePop();
#endif
#ifdef RANKFEED_ROCTX
  if (TheRoctx().pop != nullptr) (void)TheRoctx().pop();
#endif
}

}  // namespace rankfeed::handoff
