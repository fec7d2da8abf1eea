// SPDX-License-Identifier: MIT
// parallel/cpus.cc: see cpus.h. Where groups are is what the kernel's documents say (cgroups(7)): a line
// of /proc/self/cgroup names the group of a hierarchy, and one of /proc/self/mountinfo where that
// hierarchy can be read, from which group of it on.
#include "parallel/cpus.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace rankfeed {
namespace {

// Whether a list with commas between its words has the word.
bool Lists(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// The group of this process in the hierarchy of version 2, or in that of version 1 with processors.
std::string GroupOf(const std::string& root, bool second) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/path", "0::/path"
    const size_t first = line.find(':'), last = line.find(':', first + 1);
    if (first == std::string::npos || last == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, last - first - 1);
    if (second ? controllers.empty() : Lists(controllers, "cpu")) return line.substr(last + 1);
  }
  return {};
}

// A folder of a hierarchy, and which of its groups that is.
struct Mount {
  std::string group, folder;
};

Mount MountOf(const std::string& root, bool second) {
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // "36 35 98:0 /group /folder rw,noatime master:1 - cgroup cgroup rw,cpu,cpuacct"
    std::istringstream words(line);
    std::string word, type, source, options;
    Mount mount;
    words >> word >> word >> word >> mount.group >> mount.folder;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if (type == (second ? "cgroup2" : "cgroup") && (second || Lists(options, "cpu"))) return mount;
  }
  return {};
}

// In whole processors; 0 for a group without a quota or without files.
uint32_t QuotaIn(const std::string& folder, bool second) {
  std::string quota;
  double period = 0;
  if (second) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;  // "max 100000", "150000 100000"
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // "-1", "150000"
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  double time = 0;
  if (!(std::istringstream(quota) >> time) || !(time > 0) || !(period > 0)) return 0;
  const double cpus = time / period;
  return cpus >= 1e6 ? 0 : static_cast<uint32_t>(cpus) + (cpus > static_cast<uint32_t>(cpus) ? 1 : 0);
}

}  // namespace

uint32_t QuotaCpus(const std::string& root) {
  uint32_t least = 0;
  for (const bool second : {true, false}) {
    const Mount mount = MountOf(root, second);
    if (mount.folder.empty()) continue;
    std::string group = GroupOf(root, second);
    // The mount may be a group of the hierarchy, with paths still told from its top.
    if (mount.group != "/" && group.starts_with(mount.group)) group.erase(0, mount.group.size());
    if (group == "/" || group.find("/..") != std::string::npos) group.clear();
    for (;;) {
      const uint32_t cpus = QuotaIn(root + mount.folder + group, second);
      if (cpus != 0 && (least == 0 || cpus < least)) least = cpus;
      if (group.empty()) break;
      group.erase(std::min(group.rfind('/'), group.size()));
    }
  }
  return least;
}

uint32_t UsableCpus() {
  uint32_t cpus = std::thread::hardware_concurrency();
#ifdef __linux__
  // The number of processors that the kernel has room for is not known: a set of too few is
  // refused.
  for (int room = 1024; room <= 1 << 20; room *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<size_t>(room));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(room));
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    if (known) cpus = static_cast<uint32_t>(CPU_COUNT_S(bytes, set));
    CPU_FREE(set);
    if (known) break;
  }
  if (const uint32_t quota = QuotaCpus(""); quota != 0) cpus = std::min(cpus, quota);
#endif
  return std::max(1u, cpus);
}

}  // namespace rankfeed
