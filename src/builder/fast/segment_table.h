// SPDX-License-Identifier: MIT
// builder/fast/segment_table.h: the table of segments that are one token (kSegmentTable), of any
// kind of model.
#pragma once

#include <cstdint>
#include <vector>

#include "fast/key.h"
#include "image/model.h"

namespace rankfeed::builder {

struct SegmentTable {
  uint32_t bits = 0;  // SegmentConfig::table_bits
  std::vector<image::SegmentEntry> entries;
};

// A table with room for so many segments.
SegmentTable EmptySegmentTable(size_t segments);
// Adds a segment of kMaxEntryBytes at most that is one token, if its bucket is not full.
void InsertSegment(const fast::SegmentKey& key, uint32_t id, image::PathInfo info,
                   SegmentTable* table);

}  // namespace rankfeed::builder
