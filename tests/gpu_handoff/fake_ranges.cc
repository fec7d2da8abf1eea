// SPDX-License-Identifier: MIT
// A timeline tool that counts: with RANKFEED_NVTX a library that NVTX 3 is told to load, which puts
// its functions into NVTX's table; with RANKFEED_ROCTX libroctx64 itself.
#include "fake_ranges.h"

#include <cstdio>
#include <mutex>
#include <set>

#ifdef RANKFEED_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace {

std::mutex mutex;
SeenRanges seen{};
uint64_t next_id = 0;  // the first range has the id 0: whoever takes that for none, loses it
thread_local uint32_t depth = 0;

std::set<uint64_t>& Open() {
  static auto* const open = new std::set<uint64_t>;
  return *open;
}
void Name(const char* name) {
  std::snprintf(seen.last, sizeof seen.last, "%s", name);
}

uint64_t Start(const char* name) {
  const std::lock_guard lock(mutex);
  ++seen.started;
  Name(name);
  Open().insert(next_id);
  return next_id++;
}
void End(uint64_t id) {
  const std::lock_guard lock(mutex);
  ++seen.ended;
  seen.bad += Open().erase(id) == 0;
}
int Push(const char* name) {
  const std::lock_guard lock(mutex);
  ++seen.pushed;
  Name(name);
  return static_cast<int>(depth++);
}
int Pop() {
  const std::lock_guard lock(mutex);
  ++seen.popped;
  if (depth == 0) {
    ++seen.bad;
    return -1;
  }
  return static_cast<int>(--depth);
}

}  // namespace

extern "C" {

void rankfeed_seen_ranges(SeenRanges* out) {
  const std::lock_guard lock(mutex);
  *out = seen;
}

#ifdef RANKFEED_NVTX
// nvtxDetail/nvtxTypes.h: called once, with a function that gives NVTX's tables.
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangeStartA] = reinterpret_cast<NvtxFunctionPointer>(&Start);
  *table[NVTX_CBID_CORE_RangeEnd] = reinterpret_cast<NvtxFunctionPointer>(&End);
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(&Push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&Pop);
  return 1;
}
#endif

#ifdef RANKFEED_ROCTX
uint64_t roctxRangeStartA(const char* name) {
  return Start(name);
}
void roctxRangeStop(uint64_t id) {
  End(id);
}
int roctxRangePushA(const char* name) {
  return Push(name);
}
int roctxRangePop() {
  return Pop();
}
#endif

}  // extern "C"
