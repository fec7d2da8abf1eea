// SPDX-License-Identifier: MIT
// counters/energy.h: energy of the CPU packages through RAPL's powercap files. It is the whole
// machine's, not this process's: a figure of an idle machine otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankfeed::counters {

class EnergyMeter {
 public:
  // root: for tests; "/sys/class/powercap" otherwise.
  explicit EnergyMeter(const std::string& root = "/sys/class/powercap");
  bool valid() const { return !zones_.empty(); }
  const std::string& reason() const { return reason_; }
  void Start();
  // Joules of all packages since Start; counters that wrapped once are put right.
  double Joules() const;

 private:
  struct Zone {
    std::string file;
    uint64_t range = 0, start = 0;
  };
  std::vector<Zone> zones_;
  std::string reason_;
};

}  // namespace rankfeed::counters
