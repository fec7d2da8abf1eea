// SPDX-License-Identifier: MIT
// cli/device.cc: see device.h.
#include "cli/device.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include "backends/backend_library.h"
#include "cli/cli.h"
#include "rankfeed/crossencoder.h"

namespace rankfeed::cli {

void DeviceOptions::Add(CLI::App& command) {
  command.add_option("--device", device, "Where the forward pass runs")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(handoff::kBackendNames),
                                                     std::end(handoff::kBackendNames))))
      ->capture_default_str();
  command
      .add_option("--dtype", dtype,
                  "Type of weights and activations; auto: f32 on the host, else the file's; bf16 on the "
                  "host: products round to bfloat16, where the CPU has them")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16"}))
      ->capture_default_str();
}

uint32_t DeviceOptions::dtype_number() const {
  return dtype == "f32"    ? RANKFEED_DTYPE_F32
         : dtype == "f16"  ? RANKFEED_DTYPE_F16
         : dtype == "bf16" ? RANKFEED_DTYPE_BF16
                           : RANKFEED_DTYPE_AUTO;
}

const rankfeed_gpu_backend* DeviceOptions::Backend() const {
  const std::filesystem::path program = handoff::ProgramFolder();
  const auto found = handoff::FindBackend(device, {program, program / "../lib"});
  if (found.backend == nullptr) {
    throw Failure("--device {}: {}; --device host works everywhere", device, found.message);
  }
  return found.backend;
}

}  // namespace rankfeed::cli
