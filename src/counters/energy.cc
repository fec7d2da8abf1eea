// SPDX-License-Identifier: MIT
// counters/energy.cc: see energy.h.
#include "counters/energy.h"

#include <filesystem>
#include <fstream>

namespace rankfeed::counters {
namespace {

bool ReadNumber(const std::string& file, uint64_t* out) {
  std::ifstream in(file);
  return static_cast<bool>(in >> *out);
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& root) {
  std::error_code error;
  bool any = false;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const std::string name = entry.path().filename();
    // intel-rapl:0 is a package, intel-rapl:0:1 a part of it.
    if (!name.starts_with("intel-rapl:") || name.find(':') != name.rfind(':')) continue;
    any = true;
    Zone zone;
    zone.file = entry.path() / "energy_uj";
    if (ReadNumber(zone.file, &zone.start) &&
        ReadNumber(entry.path() / "max_energy_range_uj", &zone.range)) {
      zones_.push_back(zone);
    }
  }
  if (zones_.empty()) {
    reason_ = any ? root + "/intel-rapl:*/energy_uj is not readable by this user"
                  : "no RAPL package under " + root;
  }
}

void EnergyMeter::Start() {
  for (Zone& zone : zones_) ReadNumber(zone.file, &zone.start);
}

double EnergyMeter::Joules() const {
  double joules = 0;
  for (const Zone& zone : zones_) {
    uint64_t now = zone.start;
    ReadNumber(zone.file, &now);
    joules += static_cast<double>(now >= zone.start ? now - zone.start
                                                    : now + zone.range - zone.start) / 1e6;
  }
  return joules;
}

}  // namespace rankfeed::counters
