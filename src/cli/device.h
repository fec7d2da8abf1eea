// SPDX-License-Identifier: MIT
// cli/device.h: where a cross-encoder runs, as the commands that score have it on their command
// line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "rankfeed/handoff.h"

namespace rankfeed::cli {

// --device and --dtype.
struct DeviceOptions {
  std::string device = "host", dtype = "auto";
  void Add(CLI::App& command);
  bool on_host() const { return device == "host"; }
  uint32_t dtype_number() const;  // RANKFEED_DTYPE_*
  // Beside the program (a build folder), in lib beside its folder (an installation), or where the
  // loader looks. Without its library, or without a device: throws Failure, which says so.
  const rankfeed_gpu_backend* Backend() const;
};

}  // namespace rankfeed::cli
