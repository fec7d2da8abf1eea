// SPDX-License-Identifier: MIT
// builder/models/bpe/merge_tables.cc: see merge_tables.h.
#include "builder/models/bpe/merge_tables.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <string>
#include <unordered_set>

#include "builder/base/limits.h"
#include "builder/base/model_spec.h"
#include "image/merges.h"

namespace rankfeed::builder {
namespace {

[[noreturn]] void Refuse(const std::string& has, const std::string& limit_of, uint64_t limit) {
  throw BuildError(RANKFEED_E_LIMIT, "the model ", OverLimit(has, limit_of, limit));
}

// Finds a factor for each bucket, those with most pairs first, so that all pairs have slots of their
// own. False if some bucket has none.
bool FillSlots(int bucket_bits, int slot_bits, MergeSections* out) {
  const auto count = static_cast<uint32_t>(out->merges.size());
  const uint32_t mask = image::MergeNumberMask(count);
  const size_t buckets = size_t{1} << bucket_bits;
  std::vector<uint64_t> hashes(count);
  std::vector<uint32_t> begin(buckets + 1), order(count), by_size(buckets);
  for (uint32_t i = 0; i < count; ++i) {
    hashes[i] = image::MergeHash(image::MergeLeft(out->merges[i]), image::MergeRight(out->merges[i]));
    ++begin[image::MergeBucket(hashes[i], bucket_bits) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> at = begin;
  for (uint32_t i = 0; i < count; ++i) order[at[image::MergeBucket(hashes[i], bucket_bits)]++] = i;
  std::iota(by_size.begin(), by_size.end(), 0u);
  std::stable_sort(by_size.begin(), by_size.end(), [&](uint32_t a, uint32_t b) {
    return begin[a + 1] - begin[a] > begin[b + 1] - begin[b];
  });
  out->slots.assign(size_t{1} << slot_bits, image::kNoMerge);
  out->factors.assign(buckets, 1);
  for (const uint32_t bucket : by_size) {
    const auto members =
        std::span<const uint32_t>(order).subspan(begin[bucket], begin[bucket + 1] - begin[bucket]);
    uint32_t factor = 1, placed = 0;
    for (; factor <= 0xffff; factor += 2) {
      const auto slot = [&](uint32_t i) -> uint32_t& {
        return out->slots[image::MergeSlot(hashes[i], factor, slot_bits)];
      };
      for (placed = 0; placed < members.size(); ++placed) {
        uint32_t& is = slot(members[placed]);
        if (is != image::kNoMerge) break;
        is = image::MergeTag(hashes[members[placed]], mask) | members[placed];
      }
      if (placed == members.size()) break;
      while (placed > 0) slot(members[--placed]) = image::kNoMerge;
    }
    if (placed != members.size()) return false;
    out->factors[bucket] = static_cast<uint16_t>(factor);
  }
  return true;
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
  // Four pairs in a bucket, slots at most 3/4 full: factors are soon found, and the table is small.
  const size_t count = out.merges.size();
  const int slot_bits = static_cast<int>(std::bit_width(std::max<size_t>(count + count / 3, 1)));
  const int bucket_bits = std::max(slot_bits - 2, 1);
  for (int more = 0; more < 3; ++more) {
    if (FillSlots(bucket_bits + more, slot_bits + more, &out)) return out;
  }
  Refuse("pairs whose hashes are too much alike", "merges", out.merges.size());
}

}  // namespace rankfeed::builder
