// SPDX-License-Identifier: MIT
// builder/fast/segment_table.cc: see segment_table.h.
#include "builder/fast/segment_table.h"

#include <algorithm>
#include <bit>

namespace rankfeed::builder {

SegmentTable EmptySegmentTable(size_t segments) {
  SegmentTable table;
  table.bits = static_cast<uint32_t>(std::bit_width(std::max<size_t>(1, segments / 2) - 1));
  table.entries.assign((size_t{2} << table.bits) + 1, image::SegmentEntry{});
  return table;
}

void InsertSegment(const fast::SegmentKey& key, uint32_t id, image::PathInfo info,
                   SegmentTable* table) {
  const uint64_t mask = (uint64_t{1} << table->bits) - 1;
  image::SegmentEntry* const bucket = &table->entries[2 * (key.Hash() & mask)];
  image::SegmentEntry* const entry = bucket[0].info.count == 0   ? bucket
                                     : bucket[1].info.count == 0 ? bucket + 1
                                                                 : nullptr;
  // Entries of a bucket differ in the first parts of their keys.
  if (entry == nullptr || bucket[0].key[0] == key.part[0]) return;
  std::copy_n(key.part, 3, entry->key);
  entry->id = id;
  entry->info = info;
}

}  // namespace rankfeed::builder
