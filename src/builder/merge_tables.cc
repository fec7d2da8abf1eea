// SPDX-License-Identifier: MIT
// builder/merge_tables.cc: see merge_tables.h.
#include "builder/merge_tables.h"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_set>

#include "builder/limits.h"
#include "builder/model_spec.h"
#include "image/merges.h"

namespace rankfeed::builder {
namespace {

[[noreturn]] void Refuse(const std::string& has, const std::string& limit_of, uint64_t limit) {
  throw BuildError(RANKFEED_E_LIMIT, 0, "the model " + OverLimit(has, limit_of, limit));
}

// Puts the merges into so many slots, in the order of their numbers. False if a run of slots in use gets
// too long.
bool FillSlots(const std::vector<uint64_t>& merges, size_t count, std::vector<uint32_t>* slots) {
  const uint32_t mask = image::MergeNumberMask(merges.size());
  slots->assign(count + image::kMaxMergeRun + 1, image::kNoMerge);
  const int shift = image::MergeShift(slots->size());
  for (uint32_t number = 0; number < merges.size(); ++number) {
    const uint64_t hash =
        image::MergeHash(image::MergeLeft(merges[number]), image::MergeRight(merges[number]));
    const auto tag = static_cast<uint32_t>(hash >> image::kMergeTagShift) & ~mask;
    size_t at = hash >> shift;
    while (at < slots->size() && (*slots)[at] != image::kNoMerge) ++at;
    if (at + 1 >= slots->size()) return false;
    (*slots)[at] = tag | number;
  }
  uint32_t run = 0;
  return std::all_of(slots->begin(), slots->end(), [&](uint32_t slot) {
    run = slot == image::kNoMerge ? 0 : run + 1;
    return run <= image::kMaxMergeRun;
  });
}

}  // namespace

MergeSections MakeMergeSections(const std::vector<MergeSpec>& merges) {
  const auto greatest = [](const MergeSpec& m) { return std::max({m.left, m.right, m.product}); };
  MergeSections out;
  std::unordered_set<uint64_t> pairs;
  pairs.reserve(merges.size());
  uint32_t first = 0, rank = 0;
  bool shared = false;
  // From the last to the first, so that of equal pairs the last is met first.
  for (size_t i = merges.size(); i-- > 0;) {
    const MergeSpec& merge = merges[i];
    if (const uint32_t id = greatest(merge); id >= image::kMaxMergeIds) {
      Refuse("token id " + std::to_string(id), "ids of a BPE model", image::kMaxMergeIds - 1);
    }
    const uint64_t packed = image::PackMerge(merge.left, merge.right, merge.product);
    if (!pairs.insert(packed >> 20).second) continue;
    out.merges.push_back(packed);
    out.ranks.push_back(merge.rank);
  }
  if (out.merges.size() > image::kMaxMerges) {
    Refuse(std::to_string(out.merges.size()) + " merges", "merges", image::kMaxMerges);
  }
  std::reverse(out.merges.begin(), out.merges.end());
  std::reverse(out.ranks.begin(), out.ranks.end());
  for (uint32_t number = 0; number < out.ranks.size(); ++number) {
    const bool same = number != 0 && out.ranks[number] == rank;
    shared |= same;
    if (!same) first = number, rank = out.ranks[number];
    out.ranks[number] = first;
  }
  if (!shared) out.ranks.clear();
  // At most half full.
  const size_t slots = std::bit_ceil(std::max<size_t>(2 * out.merges.size(), 2));
  for (const size_t times : {1, 2, 4}) {
    if (FillSlots(out.merges, slots * times, &out.slots)) return out;
  }
  Refuse(std::to_string(out.merges.size()) + " merges whose hashes are too much alike",
         "merges side by side", image::kMaxMergeRun);
}

}  // namespace rankfeed::builder
