// SPDX-License-Identifier: MIT
// kernels.cc: see kernels.h.
#include "fake_gpu/kernels.h"

#include <cxxabi.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "crossencoder/emulation/emulator.h"
#include "crossencoder/kernels/portable.h"
#include "crossencoder/model/float16.h"
#include "crossencoder/ops.h"

namespace rankfeed::handoff {
namespace {

#include "crossencoder/kernels/kernels.inl"

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

template <class T>
void AddOfType(const std::string& type, std::vector<EmulatedKernel>* to) {
  const auto add = [&](const std::string& name, auto kernel) {
    to->push_back(Make("", kernel));
    to->back().name = name;
  };
  add("AttentionKernel<" + type + ", 32u>", &AttentionKernel<T, 32>);
  add("AttentionKernel<" + type + ", 64u>", &AttentionKernel<T, 64>);
  add("AttentionKernel<" + type + ", 128u>", &AttentionKernel<T, 128>);
  add("GemmKernel<" + type + ">", &GemmKernel<T>);
  add("BiasKernel<" + type + ">", &BiasKernel<T>);
  add("EmbedKernel<" + type + ">", &EmbedKernel<T>);
  add("AddNormKernel<" + type + ">", &AddNormKernel<T>);
  add("FirstKernel<" + type + ">", &FirstKernel<T>);
  add("LogitsKernel<" + type + ">", &LogitsKernel<T>);
}

std::vector<EmulatedKernel> MakeAll() {
  std::vector<EmulatedKernel> all;
  AddOfType<F32>("F32", &all);
  AddOfType<F16>("F16", &all);
  AddOfType<Bf16>("Bf16", &all);
  all.push_back(Make("PositionsKernel", &PositionsKernel));
  all.push_back(Make("UnpackKernel<int>", &UnpackKernel<int32_t>));
  all.push_back(Make("UnpackKernel<long>", &UnpackKernel<int64_t>));
  return all;
}

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

const EmulatedKernel* FindKernel(const char* mangled) {
  static const auto* const kAll = new std::vector<EmulatedKernel>(rankfeed::handoff::MakeAll());
  const std::string name = ShortName(mangled);
  for (const EmulatedKernel& kernel : *kAll) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

void RunKernel(const EmulatedKernel& kernel, uint32_t x, uint32_t y, uint32_t threads,
               size_t shared_bytes, void** arguments) {
  rankfeed::handoff::emulation::Run(x, y, threads, (shared_bytes + 3) / 4,
                                    [&] { kernel.thread(arguments); });
}

void OmitBarrier(int place) {
  rankfeed::handoff::emulation::OmitSync(place);
}

}  // namespace fake_gpu
