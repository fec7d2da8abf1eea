// SPDX-License-Identifier: MIT
// builder/look_up_tables.h: what the segment engine finds without a search: segments that are one
// token, short spans, and characters that are one code.
#pragma once

#include <cstdint>
#include <vector>

#include "builder/automaton.h"
#include "builder/characters.h"
#include "builder/piece_neighbours.h"
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

// Every piece that is a segment as it stands and wins its own search.
SegmentTable MakeSegmentTable(const Model& model, const PieceNeighbours& neighbours,
                              const Characters& characters, const Automaton& automaton);

struct SpanTable {
  uint32_t bits = 0;  // SegmentConfig::span_bits
  std::vector<image::SpanEntry> entries;
};

// Every character, and every two neighbours in some piece one of which is from image::kFirstCjk on.
SpanTable MakeSpanTable(const Model& model, const PieceNeighbours& neighbours,
                        const Automaton& automaton);

// kDirectCodes.
std::vector<uint16_t> MakeDirectCodes(const Characters& characters);

}  // namespace rankfeed::builder
