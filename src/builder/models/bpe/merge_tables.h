// SPDX-License-Identifier: MIT
// builder/models/bpe/merge_tables.h: the merges of a BPE model to the sections of an image (image/merges.h).
#pragma once

#include <cstdint>
#include <vector>

#include "builder/base/model_spec.h"

namespace rankfeed::builder {

struct MergeSections {
  std::vector<uint16_t> factors;  // kMergeFactors
  std::vector<uint32_t> slots;    // kMergeSlots
  std::vector<uint64_t> merges;   // kMerges
  std::vector<uint32_t> ranks;    // kMergeRanks, empty if no two merges share a rank
};

// Makes the sections of merges whose ranks never fall. Where a pair comes more than once, the last counts. Throws
// BuildError(LIMIT) for more than image::kMaxMerges merges, an id from image::kMaxMergeIds on, or
// pairs that no table of a bounded size tells apart. O(merges log merges) time, as a rule.
MergeSections MakeMergeSections(const std::vector<MergeSpec>& merges);

}  // namespace rankfeed::builder
