// SPDX-License-Identifier: MIT
// builder/models/unigram/look_up_tables.h: what the segment engine finds without a search: segments
// that are one token, short spans, and characters that are one code.
#pragma once

#include <cstdint>
#include <vector>

#include "builder/fast/characters.h"
#include "builder/fast/piece_neighbours.h"
#include "builder/fast/segment_table.h"
#include "builder/models/unigram/automaton.h"
#include "image/model.h"

namespace rankfeed::builder {

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
