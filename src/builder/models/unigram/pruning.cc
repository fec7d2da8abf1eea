// SPDX-License-Identifier: MIT
// builder/models/unigram/pruning.cc: see pruning.h.
#include "builder/models/unigram/pruning.h"

#include <algorithm>

namespace rankfeed::builder {
namespace {

// Above every difference of costs, with room for a few more.
constexpr int32_t kFar = 1 << 28;
static_assert(image::kMaxCost < uint32_t{kFar} / (4 * Pruner::kMaxChars - 1));

}  // namespace

Pruner::Pruner(const PieceStates& states, int32_t lead) : states_(states), lead_(lead) {
  piece_.assign(states.depth.size(), 0);
  for (const uint32_t x : states.order) {
    piece_[x] = states.own[x] != 0 ? x : piece_[states.suffix[x]];
  }
  row_.assign(states.depth.size(), 0);
  uint32_t size = 0;
  for (const uint32_t x : states.order) {
    row_[x] = size;
    size += states.depth[x];
  }
  reach_.assign(size, kFar);
  cross_.assign(size, kFar);
  FindReach();
  FindCrossing();
}

Pruner::Prefixes Pruner::PrefixesOf(uint32_t state) const {
  Prefixes prefix{};
  for (uint32_t at = state; at != 0; at = states_.parent[at]) prefix[states_.depth[at]] = at;
  return prefix;
}

void Pruner::FindReach() {
  for (const uint32_t x : states_.order) {
    const Prefixes prefix = PrefixesOf(x);
    for (uint32_t p = piece_[x]; p != 0; p = piece_[states_.suffix[p]]) {
      const uint32_t begin = states_.depth[x] - states_.depth[p];
      for (uint32_t i = 0; i <= begin; ++i) {
        int32_t& reach = reach_[row_[x] + i];
        reach = std::min(reach, Reach(prefix, i, begin) + Cost(p));
      }
    }
  }
}

void Pruner::FindCrossing() {
  for (size_t n = states_.order.size(); n-- > 0;) {  // deepest first: extensions before suffixes
    const uint32_t x = states_.order[n], suffix = states_.suffix[x];
    if (suffix == 0) continue;
    std::array<int32_t, kMaxChars> least;
    std::copy_n(cross_.begin() + row_[x], states_.depth[x], least.begin());
    if (states_.own[x] != 0) {
      const Prefixes prefix = PrefixesOf(x);
      for (uint32_t k = 1; k < states_.depth[x]; ++k) {
        least[k - 1] = std::min(least[k - 1], Cost(x) - Reach(prefix, 0, states_.depth[x] - k));
      }
    }
    for (uint32_t k = 0; k < states_.depth[suffix]; ++k) {
      int32_t& cross = cross_[row_[suffix] + k];
      cross = std::min(cross, least[k]);
    }
  }
}

// The least best[to] - best[from] at two places of a state, from < to.
int32_t Pruner::LeastDifference(const Prefixes& prefix, uint32_t from, uint32_t to) {
  int32_t least = Reach(prefix, from, to);
  uint64_t paths = to - from;
  for (uint32_t end = from + 1; end <= to; ++end) {
    const int32_t rest = Reach(prefix, end, to);
    least = std::min(least, cross_[row_[prefix[end]] + (end - from - 1)] + rest);
    for (uint32_t q = piece_[prefix[end]]; q != 0; q = piece_[states_.suffix[q]]) {
      const uint32_t begin = end - states_.depth[q];
      if (begin >= from) break;  // the shorter ones too
      ++paths;
      least = std::min(least, Cost(q) + rest - Reach(prefix, begin, from));
    }
  }
  paths_left_ -= std::min(paths, paths_left_);
  return least;
}

uint32_t Pruner::Keep(uint32_t state, std::array<uint32_t, kMaxChars>* pieces) {
  uint32_t all[kMaxChars], count = 0, kept = 0;
  for (uint32_t p = piece_[state]; p != 0; p = piece_[states_.suffix[p]]) all[count++] = p;
  if (count == 1) {
    (*pieces)[0] = all[0];
    return 1;
  }
  paths_left_ += kPathsForState;
  const Prefixes prefix = PrefixesOf(state);
  const auto begin = [&](uint32_t k) {
    return uint32_t{states_.depth[state]} - states_.depth[all[k]];
  };
  const auto worse = [&](uint32_t p, uint32_t r) {
    const int32_t difference = begin(r) < begin(p) ? LeastDifference(prefix, begin(r), begin(p))
                                                   : -Reach(prefix, begin(p), begin(r));
    return difference + Cost(all[p]) - Cost(all[r]) >= lead_;
  };
  for (uint32_t p = 0; p < count; ++p) {
    bool keep = true;
    for (uint32_t r = 0; r < count && keep && paths_left_ != 0; ++r) keep = r == p || !worse(p, r);
    if (keep) (*pieces)[kept++] = all[p];
  }
  return kept;
}

}  // namespace rankfeed::builder
