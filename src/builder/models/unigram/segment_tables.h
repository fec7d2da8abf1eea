// SPDX-License-Identifier: MIT
// builder/models/unigram/segment_tables.h: the tables of the segment engine (fast/engine.h), made from an
// opened image.
#pragma once

#include <variant>
#include <vector>

#include "builder/fast/eligibility.h"
#include "builder/image/sections.h"
#include "image/model.h"

namespace rankfeed::builder {

// The sections of the fast road, kTrieUnits once more, or why texts of this model do not take it.
std::variant<std::vector<SectionData>, OffTheFastRoad> BuildUnigramTables(const Model& model);

}  // namespace rankfeed::builder
