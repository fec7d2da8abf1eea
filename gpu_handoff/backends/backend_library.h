// SPDX-License-Identifier: MIT
// backends/backend_library.h: finds a backend by name. CUDA's and HIP's are libraries of their own
// (librankfeed_handoff_NAME.so), so that a program starts without them; who asks for one gets it
// from a folder it names or from where the loader looks, or a sentence that says what is missing.
// A library stays loaded. Not for the runtime: it allocates and opens files.
#ifndef RANKFEED_GPU_HANDOFF_BACKENDS_BACKEND_LIBRARY_H_
#define RANKFEED_GPU_HANDOFF_BACKENDS_BACKEND_LIBRARY_H_

#ifndef _WIN32
#include <dlfcn.h>
#endif

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "backends/vendors.h"
#include "rankfeed/handoff.h"
#include "rankfeed/version.h"

namespace rankfeed::handoff {

struct FoundBackend {
  const rankfeed_gpu_backend* backend = nullptr;  // has a device; null: see status and message
  rankfeed_status status = RANKFEED_OK;  // UNSUPPORTED: no such library, or of device_count
  std::string message;
};

// "host, cuda, hip"
inline std::string BackendNames() {
  std::string names;
  for (const char* name : kBackendNames) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// name: one of kBackendNames; or hip_nvidia, the HIP sources for an NVIDIA GPU. folders are looked
// into first, in order.
inline FoundBackend FindBackend(const std::string& name,
                                const std::vector<std::filesystem::path>& folders) {
  FoundBackend found;
  if (name == "host") {
    found.backend = rankfeed_handoff_host_backend();
    return found;
  }
  const std::string vendor = name == "hip_nvidia" ? "hip" : name;
  if (std::find(std::begin(kBackendNames), std::end(kBackendNames), vendor) ==
      std::end(kBackendNames)) {
    found.status = RANKFEED_E_UNSUPPORTED;
    found.message = "there is no backend '" + name + "'; there are: " + BackendNames();
    return found;
  }
#ifdef _WIN32
  found.status = RANKFEED_E_UNSUPPORTED;
  found.message = "there is no " + name + " backend on Windows";
  return found;
#else
  const std::string file = "librankfeed_handoff_" + name + ".so";
  const std::string versioned = file + "." + std::to_string(RANKFEED_VERSION_MAJOR) + "." +
                                std::to_string(RANKFEED_VERSION_MINOR);  // installed: the SONAME
  std::vector<std::filesystem::path> places;
  for (const std::filesystem::path& folder : folders) {
    places.push_back(folder / file);
    places.push_back(folder / versioned);
  }
  places.emplace_back(versioned);
  places.emplace_back(file);
  void* library = nullptr;
  for (const std::filesystem::path& place : places) {
    if (library == nullptr) library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    found.status = RANKFEED_E_UNSUPPORTED;
    found.message = std::string(dlerror()) + "; there is no " + name + " backend here";
    return found;
  }
  using Get = const rankfeed_gpu_backend* (*)();
  const auto get =
      reinterpret_cast<Get>(dlsym(library, ("rankfeed_handoff_" + vendor + "_backend").c_str()));
  if (get == nullptr) {
    found.status = RANKFEED_E_UNSUPPORTED;
    found.message = file + " is not a backend of rankfeed";
    return found;
  }
  int32_t count = 0;
  found.status = rankfeed_handoff_device_count(get(), &count);
  if (found.status == RANKFEED_OK) {
    found.backend = get();
  } else if (found.status == RANKFEED_E_UNSUPPORTED) {
    found.message = "the driver is older than the " + name + " backend needs: update the driver";
  } else {
    found.message = std::string(rankfeed_status_message(found.status)) + " (" +
                    rankfeed_status_name(found.status) + ")";
  }
  return found;
#endif
}

// The folder of the running program.
inline std::filesystem::path ProgramFolder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

}  // namespace rankfeed::handoff

#endif  // RANKFEED_GPU_HANDOFF_BACKENDS_BACKEND_LIBRARY_H_
