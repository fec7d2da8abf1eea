// SPDX-License-Identifier: MIT
// measure/machine.cc: see machine.h.
#include "measure/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "counters/pages.h"
#include "rankfeed/version.h"
#include "rankfeed_build_info.h"  // written by build_info.cmake

namespace rankfeed::measure {
namespace {

std::string FirstLine(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

std::string CpuField(const char* name) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

nlohmann::ordered_json OrNull(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

nlohmann::ordered_json MachineJson() {
  nlohmann::ordered_json machine;
  machine["cpu"] = OrNull(CpuField("model name"));
  cpu_set_t set;
  CPU_ZERO(&set);
  machine["cores"] = sysconf(_SC_NPROCESSORS_ONLN);
  machine["cores_usable"] =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  machine["governor"] =
      OrNull(FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  const std::string flags = CpuField("flags");
  machine["hypervisor"] = flags.find(" hypervisor") != std::string::npos;
  machine["avx512"] = flags.find(" avx512bw") != std::string::npos;
  machine["l2_bytes"] = sysconf(_SC_LEVEL2_CACHE_SIZE);
  machine["l3_bytes"] = sysconf(_SC_LEVEL3_CACHE_SIZE);
  machine["memory_bytes"] =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  utsname system{};
  uname(&system);
  machine["kernel"] = std::string(system.sysname) + " " + system.release;
  machine["architecture"] = system.machine;
  machine["transparent_hugepages"] = OrNull(counters::TransparentHugePageMode());
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  machine["load_average"] = load;
  return machine;
}

nlohmann::ordered_json BuildJson() {
  nlohmann::ordered_json build;
  build["version"] = rankfeed_version_string();
  build["revision"] = OrNull(RANKFEED_BUILD_REVISION);
  build["modified"] = RANKFEED_BUILD_MODIFIED != 0;
  build["compiler"] = RANKFEED_BUILD_COMPILER;
  build["flags"] = RANKFEED_BUILD_FLAGS;
  build["build_type"] = RANKFEED_BUILD_TYPE;
#ifdef NDEBUG
  build["assertions"] = false;
#else
  build["assertions"] = true;
#endif
  return build;
}

}  // namespace rankfeed::measure
