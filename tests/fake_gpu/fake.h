// SPDX-License-Identifier: MIT
// fake.h: the shipped backends over the fake runtime, for tests.
#ifndef RANKFEED_TESTS_FAKE_GPU_FAKE_H_
#define RANKFEED_TESTS_FAKE_GPU_FAKE_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backend.h"
#include "fake_gpu/control.h"
#include "support/sanitizers.h"

namespace rankfeed::handoff {

// "cuda" or "hip": the backend's library in the folder of the fake runtime.
inline const rankfeed_gpu_backend* FakeBackend(const std::string& vendor) {
  const char* folder = std::getenv("RANKFEED_GPU_LIBRARIES");
  if (folder == nullptr) {
    ADD_FAILURE() << "RANKFEED_GPU_LIBRARIES is not set";
    return nullptr;
  }
  void* library = dlopen((std::string(folder) + "/librankfeed_handoff_" + vendor + ".so").c_str(),
                         RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return nullptr;
  using Get = const rankfeed_gpu_backend* (*)();
  const auto get =
      reinterpret_cast<Get>(dlsym(library, ("rankfeed_handoff_" + vendor + "_backend").c_str()));
  EXPECT_NE(get, nullptr);
  return get == nullptr ? nullptr : get();
}

inline std::vector<std::string> FakeVendors() {
  return {RANKFEED_FAKE_VENDORS};  // those that were built
}

// Whether a case that takes long is this vendor's: of one or the other by turns, of all in the long
// suite.
inline bool IsTurnOf(const std::string& vendor, size_t index) {
  const std::vector<std::string> vendors = FakeVendors();
  return SweepsAll() || vendors[index % vendors.size()] == vendor;
}

inline fake_gpu_options FakeOptions(int32_t devices = 1, uint64_t seed = 1) {
  fake_gpu_options options;
  fake_gpu_defaults(&options);
  options.devices = devices;
  options.seed = seed;
  return options;
}

// The names of failed checks, "a\nb"; what is left allocated too.
inline std::string Found() {
  char names[2048];
  fake_gpu_found(names, sizeof names);
  return names;
}
inline std::string FoundSoFar() {
  char names[2048];
  fake_gpu_found_so_far(names, sizeof names);
  return names;
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_TESTS_FAKE_GPU_FAKE_H_
