// SPDX-License-Identifier: MIT
// crossencoder/emulation/access_counts.cc: see access_counts.h.
#include "crossencoder/emulation/access_counts.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "crossencoder/emulation/emulator.h"

namespace rankfeed::handoff::emulation {
namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

struct LaneAccess {
  uint64_t address;
  uint32_t bytes;
};
struct Request {
  Memory memory;
  std::vector<LaneAccess> lanes;
};
using Place = std::tuple<uint32_t, const void*>;  // warp, place
// The requests of a phase, and how many accesses of a place each thread has made in it.
thread_local std::map<Place, std::vector<Request>> requests;
thread_local std::map<std::pair<uint32_t, const void*>, size_t> made;

// Cycles of lanes [begin, end) at once.
uint64_t Cycles(const std::vector<LaneAccess>& lanes, size_t begin, size_t end) {
  std::set<uint64_t> words[kBanks];
  for (size_t i = begin; i < end; ++i) {
    for (uint64_t at = lanes[i].address; at < lanes[i].address + lanes[i].bytes; at += kBankBytes)
      words[at / kBankBytes % kBanks].insert(at / kBankBytes);
  }
  size_t most = 1;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return most;
}

void CountShared(const std::vector<LaneAccess>& lanes) {
  const size_t at_once = kBanks * kBankBytes / std::max<size_t>(lanes[0].bytes, kBankBytes);
  ++counting->shared_requests;
  for (size_t begin = 0; begin < lanes.size(); begin += at_once) {
    ++counting->shared_cycles_at_best;
    counting->shared_cycles += Cycles(lanes, begin, std::min(begin + at_once, lanes.size()));
  }
}

void CountGlobal(const std::vector<LaneAccess>& lanes) {
  std::set<uint64_t> sectors, bytes;
  for (const LaneAccess& lane : lanes) {
    for (uint64_t at = lane.address; at < lane.address + lane.bytes; ++at) {
      sectors.insert(at / kSectorBytes);
      bytes.insert(at);
    }
  }
  ++counting->global_requests;
  counting->sectors += sectors.size();
  counting->sectors_at_best += (bytes.size() + kSectorBytes - 1) / kSectorBytes;
}

}  // namespace

void CountAccesses(AccessCounts* counts) {
  counting = counts;
  requests.clear();
  made.clear();
}

void TouchSlowly(Memory memory, uint64_t address, uint32_t bytes, const void* place) {
  const size_t k = made[{now.thread, place}]++;
  auto& of_place = requests[{now.thread / now.lanes, place}];
  if (of_place.size() <= k) of_place.resize(k + 1, {memory, {}});
  of_place[k].lanes.push_back({address, bytes});
}

void EndOfPhase() {
  if (counting == nullptr) return;
  for (const auto& [place, of_place] : requests) {
    for (const Request& request : of_place)
      request.memory == Memory::kShared ? CountShared(request.lanes) : CountGlobal(request.lanes);
  }
  requests.clear();
  made.clear();
}

void TouchMatrix(uint64_t address, uint32_t stride, bool depth_along_rows) {
  if (counting == nullptr || now.thread % now.lanes != 0) return;
  if (now.lanes == 32) {
    for (uint32_t piece = 0; piece < 4; ++piece) {
      std::vector<LaneAccess> rows;
      for (uint32_t row = 0; row < 8; ++row)
        rows.push_back({address + (piece / 2 * 8 + row) * stride + piece % 2 * 16, 16});
      CountShared(rows);
    }
    return;
  }
  for (uint32_t element = 0; element < (depth_along_rows ? 1 : 4); ++element) {
    std::vector<LaneAccess> lanes;
    for (uint32_t lane = 0; lane < 64; ++lane) {
      if (depth_along_rows) {
        lanes.push_back({address + lane % 16 * stride + lane / 16 * 8, 8});
      } else {
        lanes.push_back({address + (lane / 16 * 4 + element) * stride + lane % 16 * 2, 2});
      }
    }
    CountShared(lanes);
  }
}

}  // namespace rankfeed::handoff::emulation
