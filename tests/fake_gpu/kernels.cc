// SPDX-License-Identifier: MIT
// kernels.cc: see kernels.h.
#include "fake_gpu/kernels.h"

#include <cxxabi.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "crossencoder/emulation/emulator.h"
#include "crossencoder/kernels/portable.h"
#include "crossencoder/model/float16.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

using fake_gpu::EmulatedKernel;

template <class... Parameters, size_t... kIndex>
EmulatedKernel Make(const char* name, void (*kernel)(Parameters...),
                    std::index_sequence<kIndex...>) {
  return {name, {sizeof(Parameters)...}, [kernel](void** arguments) {
            kernel(*static_cast<Parameters*>(arguments[kIndex])...);
          }};
}
template <class... Parameters>
EmulatedKernel Make(const char* name, void (*kernel)(Parameters...)) {
  return Make(name, kernel, std::index_sequence_for<Parameters...>());
}

namespace warp32 {
#define RF_WARP 32u
#include "crossencoder/kernels/kernels.inl"
#include "fake_gpu/kernel_list.inl"
#undef RF_WARP
}  // namespace warp32
namespace warp64 {
#define RF_WARP 64u
#include "crossencoder/kernels/kernels.inl"
#include "fake_gpu/kernel_list.inl"
#undef RF_WARP
}  // namespace warp64

}  // namespace
}  // namespace rankfeed::handoff

namespace fake_gpu {
namespace {

void Remove(std::string* text, const std::string& what) {
  for (size_t at; (at = text->find(what)) != std::string::npos;) text->erase(at, what.size());
}

// "void rankfeed::handoff::(anonymous namespace)::GemmKernel<...::F16>(rankfeed_op_gemm)" to
// "GemmKernel<F16>".
std::string ShortName(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> owned(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  if (status != 0) return mangled;
  std::string name = owned.get();
  Remove(&name, "(anonymous namespace)::");
  Remove(&name, "rankfeed::handoff::");
  name.resize(std::min(name.size(), name.find('(')));
  const size_t space = name.find(' ');
  if (name.rfind("void ", 0) == 0) name.erase(0, space + 1);
  return name;
}

}  // namespace

const EmulatedKernel* FindKernel(const char* mangled, uint32_t lanes) {
  static const auto* const k32 = new auto(rankfeed::handoff::warp32::MakeAll());
  static const auto* const k64 = new auto(rankfeed::handoff::warp64::MakeAll());
  const std::string name = ShortName(mangled);
  for (const EmulatedKernel& kernel : lanes == 64 ? *k64 : *k32) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

void RunKernel(const EmulatedKernel& kernel, uint32_t x, uint32_t y, uint32_t threads,
               uint32_t lanes, size_t shared_bytes, void** arguments) {
  rankfeed::handoff::emulation::Run({x, y, threads, lanes, (shared_bytes + 3) / 4},
                                    [&] { kernel.thread(arguments); });
}

void OmitBarrier(int place) {
  rankfeed::handoff::emulation::OmitSync(place);
}

}  // namespace fake_gpu
